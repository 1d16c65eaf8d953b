/** How a scenario is run. */
export interface RunOptions {
  /** Decides every random choice, so that a run can be repeated. */
  readonly seed: number;
  readonly counts: 'short' | 'full';
  /** A single case of a scenario that has numbered ones, such as `http:4567`. */
  readonly only?: string;
  /** How long a scenario goes on that can go on for any time. */
  readonly minutes?: number;
  /** Some of the phases of a scenario that has several; all of them unless set. */
  readonly phases?: readonly string[];
  /** Takes a line of the timeline. */
  readonly report: (line: string) => void;
}

/** What a scenario showed. */
export interface Outcome {
  /** How much was done, and the figures that were measured. */
  readonly counts: string;
  /** Every way in which the promise was broken; empty when it was kept. */
  readonly failures: readonly string[];
  /** What this machine lacks, when the scenario could not be run at all. */
  readonly notRun?: string;
}

/** A fault, and what must hold under it. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  run(options: RunOptions): Promise<Outcome>;
  /** The same check with the defence off: it has to find failures, or it proves nothing. */
  control(options: RunOptions): Promise<Outcome>;
}

/** Random numbers that a seed decides. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** One of several. */
  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)]!;
  }
}

/** Waits. Only for faults that need time to pass in another process. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Looks again and again until something is so; says what was waited for when it never is. */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  limitMs = 15_000,
): Promise<number> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > limitMs) throw new Error(`Waited ${limitMs} ms in vain: ${what}.`);
    await pause(10);
  }
  return performance.now() - startedAt;
}

/** The first few of many complaints, and how many there are. */
export function summarise(what: string, list: readonly unknown[]): string[] {
  if (list.length === 0) return [];
  return [`${list.length} ${what}, such as ${list.slice(0, 3).map(String).join(', ')}`];
}

/** A figure beside its target, with a word that stands out when it is over; figures are shown, never asserted. */
export function against(figure: number, target: number, unit = 'ms'): string {
  const digits = figure < 10 ? 1 : 0;
  const [shown, goal] = [figure, target].map((value) =>
    value.toLocaleString('en-US', { maximumFractionDigits: digits }),
  );
  return `${shown} ${unit} (target ${goal} ${unit}${figure > target ? ', OVER' : ''})`;
}

/** A value that so large a part of all values does not exceed. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

const NOTHING_SHOWN = ', so nothing was shown';

/** The failure of a run that had nothing to look at. */
export function nothingShown(why: string): string {
  return `${why}${NOTHING_SHOWN}`;
}

/** What a check really found: a run that had nothing to look at does not prove that the check can see. */
export function findings({ failures }: Outcome): readonly string[] {
  return failures.filter((failure) => !failure.endsWith(NOTHING_SHOWN));
}
