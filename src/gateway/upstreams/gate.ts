import type { Awaitable } from '../../base/awaitable.ts';
import type { Cancellation } from '../../base/cancellation.ts';
import { ToolcribError } from '../../base/errors.ts';
import { Overdue, within } from '../../base/within.ts';

const MAX_WAITING = 1_000;

/** Lets only so many calls through at one time; others wait in line. */
export class Gate {
  readonly #upstream: string;
  readonly #waiting = new Set<() => void>();
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
    const [next] = this.#waiting;
    if (!next) this.#free++;
    else next();
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
