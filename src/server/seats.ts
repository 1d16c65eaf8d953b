import type { Caller } from '../core/caller.ts';
import { ownerOf } from '../core/digest.ts';
import { ToolcribError } from '../core/errors.ts';

/** How many long-lived things of one kind there may be, in all and for one caller. */
export const seatLimits = { total: 10_000, perCaller: 100 };

/** Counts what callers hold open, so that nobody can hold it all. */
export class Seats {
  readonly #what: string;
  readonly #perCaller = new Map<string, number>();
  #total = 0;

  constructor(what: string) {
    this.#what = what;
  }

  /** Takes a seat; the returned function gives it back. */
  take(caller: Caller): () => void {
    const owner = ownerOf(caller);
    const count = this.#perCaller.get(owner) ?? 0;
    if (this.#total >= seatLimits.total || count >= seatLimits.perCaller) {
      throw new ToolcribError(
        'too_many',
        `At most ${seatLimits.perCaller} ${this.#what} may be open for one caller.`,
      );
    }
    this.#total++;
    this.#perCaller.set(owner, count + 1);
    return () => this.#leave(owner);
  }

  #leave(owner: string): void {
    this.#total--;
    const left = this.#perCaller.get(owner)! - 1;
    if (left > 0) this.#perCaller.set(owner, left);
    else this.#perCaller.delete(owner);
  }
}
