import { LONGEST_TIMER_MS, type Clock } from './clock.ts';
import { SlotList } from './slot-list.ts';

interface Waiting {
  readonly due: number;
  readonly expire: () => void;
  place: number;
}

/** Ends overdue work with one timer for all of it: a timer per call would cost more than the call. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #waiting = new SlotList<Waiting>();
  #armedFor = Infinity;
  #disarm: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` once after `ms`, unless the returned function is called first. */
  start(ms: number, expire: () => void): () => void {
    // NaN would never be due, and the work it bounds would never end.
    const entry = { due: this.#clock.ticks() + (Number.isNaN(ms) ? 0 : ms), expire, place: 0 };
    entry.place = this.#waiting.add(entry);
    if (entry.due < this.#armedFor) this.#arm(entry.due);
    return () => {
      this.#waiting.remove(entry.place, entry);
    };
  }

  #arm(due: number): void {
    this.#disarm();
    this.#armedFor = due;
    const wait = Math.min(LONGEST_TIMER_MS, Math.max(1, due - this.#clock.ticks()));
    this.#disarm = this.#clock.after(wait, () => this.#sweep());
  }

  #sweep(): void {
    const now = this.#clock.ticks();
    const failures: unknown[] = [];
    for (const entry of this.#waiting.all()) {
      // An earlier `expire` may have stopped this entry.
      if (entry.due > now || !this.#waiting.remove(entry.place, entry)) continue;
      try {
        entry.expire();
      } catch (error) {
        failures.push(error);
      }
    }
    this.#armedFor = Infinity;
    const next = this.#waiting.all().reduce((least, { due }) => Math.min(least, due), Infinity);
    if (next < Infinity) this.#arm(next);
    // Thrown last, so that the other due entries still expire.
    if (failures.length > 0) throw failures[0];
  }
}
