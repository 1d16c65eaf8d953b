import type { Caller } from '../core/caller.ts';
import { ownerOf } from '../core/digest.ts';
import { ToolcribError } from '../core/errors.ts';

/** How many long-lived things of one kind there may be, in all and for one caller. */
export const seatLimits = { total: 10_000, perCaller: 100 };

/** Counts what callers hold open, so that nobody can hold it all. */
export class Seats {
  readonly #what: string;
  readonly #limits: Readonly<typeof seatLimits>;
  readonly #perCaller = new Map<string, number>();
  #total = 0;

  constructor(what: string, limits: Readonly<typeof seatLimits> = seatLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  /** Takes seats; the returned function gives them back. */
  take(caller: Caller, seats = 1): () => void {
    const owner = ownerOf(caller);
    const taken = (this.#perCaller.get(owner) ?? 0) + seats;
    const { total, perCaller } = this.#limits;
    if (this.#total + seats > total || taken > perCaller)
      throw new ToolcribError('too_many', `At most ${perCaller} ${this.#what} may be open for one caller.`);
    this.#total += seats;
    this.#perCaller.set(owner, taken);
    return () => this.#leave(owner, seats);
  }

  #leave(owner: string, seats: number): void {
    this.#total -= seats;
    const left = this.#perCaller.get(owner)! - seats;
    if (left > 0) this.#perCaller.set(owner, left);
    else this.#perCaller.delete(owner);
  }
}
