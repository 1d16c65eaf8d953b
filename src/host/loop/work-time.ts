import type { Clock } from '../../base/clock.ts';

/** The working time: it stops while a person is asked, and tells when it is used up. */
export class WorkTime {
  readonly #clock: Clock;
  readonly #limitMs: number | undefined;
  readonly #parent: WorkTime | undefined;
  readonly #began: number;
  readonly #whenUp: () => void;
  #waitedMs = 0;
  #waitingSince: number | undefined;
  #questions = 0;
  #cancelTimer: (() => void) | undefined;

  /** Starts at once; `whenUp` is called when `limitMs` of work are used up. */
  constructor(options: {
    readonly clock: Clock;
    readonly limitMs: number | undefined;
    readonly whenUp: () => void;
    readonly parent?: WorkTime | undefined;
  }) {
    this.#clock = options.clock;
    this.#limitMs = options.limitMs;
    this.#parent = options.parent;
    this.#whenUp = options.whenUp;
    this.#began = this.#clock.ticks();
    this.#arm();
  }

  /** How long a person took so far. */
  get waitedMs(): number {
    const since = this.#waitingSince;
    return this.#waitedMs + (since === undefined ? 0 : this.#clock.ticks() - since);
  }

  /** How long was worked so far. */
  get ms(): number {
    return this.#clock.ticks() - this.#began - this.waitedMs;
  }

  /** A person is asked; several questions at once are one wait. */
  pause(): void {
    this.#parent?.pause();
    if (++this.#questions > 1) return;
    this.#waitingSince = this.#clock.ticks();
    this.#disarm();
  }

  /** A person answered. */
  resume(): void {
    this.#parent?.resume();
    if (this.#questions === 0 || --this.#questions > 0) return;
    this.#waitedMs = this.waitedMs;
    this.#waitingSince = undefined;
    this.#arm();
  }

  /** Ends the count. */
  stop(): void {
    this.#disarm();
    // Questions that stay unanswered do not keep the asking run waiting.
    for (; this.#questions > 0; this.#questions--) this.#parent?.resume();
    this.#waitedMs = this.waitedMs;
    this.#waitingSince = undefined;
  }

  #arm(): void {
    if (this.#limitMs === undefined) return;
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#limitMs - this.ms), this.#whenUp);
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}
