import type { Awaitable } from '../../base/awaitable.ts';
import type { Cancellation } from '../../base/cancellation.ts';
import { ToolcribError } from '../../base/errors.ts';
import { Overdue, within } from '../../base/within.ts';

const MAX_WAITING = 1_000;

/** Lets only so many calls through at one time; others wait in line. */
export class Gate {
  readonly #upstream: string;
  readonly #waiting = new Set<() => void>();
  /** Less than none while calls that stepped out are back and their places are taken. */
  #free: number;

  constructor(places: number, upstream: string) {
    this.#free = places;
    this.#upstream = upstream;
  }

  /** Takes a place, at once if there is one, else within this time; `leave` gives it back. */
  enter(cancellation: Cancellation, withinMs: number): Awaitable<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    if (this.#waiting.size >= MAX_WAITING) throw this.#tooMany();
    return this.#wait(cancellation, withinMs);
  }

  /** Gives a place back, to whoever has waited longest. */
  leave(): void {
    this.#free++;
    const [next] = this.#waiting;
    if (this.#free <= 0 || !next) return;
    this.#free--;
    next();
  }

  /** Takes a place at once, free or not: for a call that is under way already. */
  comeBack(): void {
    this.#free--;
  }

  async #wait(cancellation: Cancellation, withinMs: number): Promise<void> {
    let take: () => void = () => {};
    const turn = new Promise<void>((resolve) => {
      take = () => {
        this.#waiting.delete(take);
        resolve();
      };
      this.#waiting.add(take);
    });
    try {
      await cancellation.race(within(withinMs, undefined, turn));
    } catch (error) {
      // A place that was given at the same moment goes to the next one.
      if (!this.#waiting.delete(take)) this.leave();
      throw error instanceof Overdue ? this.#tooMany() : error;
    }
  }

  #tooMany(): ToolcribError {
    return new ToolcribError('busy', `${this.#upstream} has too many calls; try again in a moment.`, {
      data: { retryAfterMs: 1_000 },
    });
  }
}

/** The place that one call has taken. */
export class Place {
  readonly #gate: Gate;
  #waits = 0;
  #isLeft = false;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** Gives it to others while the call waits for a person; what is returned ends that wait. */
  stepOut(): () => void {
    if (this.#waits++ === 0 && !this.#isLeft) this.#gate.leave();
    return () => {
      if (--this.#waits === 0 && !this.#isLeft) this.#gate.comeBack();
    };
  }

  /** Gives it back for good. */
  leave(): void {
    this.#isLeft = true;
    if (this.#waits === 0) this.#gate.leave();
  }
}
