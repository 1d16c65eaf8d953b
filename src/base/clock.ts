/** The source of time, so that tests can control it. */
export interface Clock {
  /** Wall clock time in milliseconds since 1970. */
  now(): number;
  /** Milliseconds since some fixed moment; never goes back, even when the wall clock is set. */
  ticks(): number;
  /** Runs `task` after `ms`; the returned function cancels it. A pending task never keeps the process alive. */
  after(ms: number, task: () => void): () => void;
}

/** The longest that a timer of Node.js can be set for; one set for longer fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  ticks: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
