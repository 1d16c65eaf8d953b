import type { Caller } from '../core/caller.ts';
import { ownerOf } from '../core/caller.ts';
import { ToolcribError, type ErrorCode } from '../base/errors.ts';

/** How many long-lived things of one kind there may be, in all and for one caller. */
export const seatLimits = { total: 10_000, perCaller: 100 };

/** How many bytes of messages may be under way, in all and for one caller; what comes in one piece is not counted. */
export const bodyLimits = { total: 1_073_741_824, perCaller: 67_108_864 };

/** How many questions may wait for their answers; a call with a large message counts several times, because it is kept meanwhile. */
export const questionLimits = { total: 10_000, perCaller: 100, bytesPerSeat: 65_536 };

/** Counts what callers hold open, so that nobody can hold it all. */
export class Seats {
  readonly #what: string;
  readonly #limits: Readonly<typeof seatLimits>;
  readonly #code: ErrorCode;
  readonly #perCaller = new Map<string, number>();
  #total = 0;

  constructor(what: string, limits: Readonly<typeof seatLimits> = seatLimits, code: ErrorCode = 'too_many') {
    this.#what = what;
    this.#limits = limits;
    this.#code = code;
  }

  /** Takes seats; the returned function gives them back, once. */
  take(caller: Caller, seats = 1): () => void {
    const owner = ownerOf(caller);
    const taken = (this.#perCaller.get(owner) ?? 0) + seats;
    const { total, perCaller } = this.#limits;
    if (this.#total + seats > total || taken > perCaller)
      throw new ToolcribError(this.#code, `At most ${perCaller} ${this.#what} may be open for one caller.`);
    this.#total += seats;
    this.#perCaller.set(owner, taken);
    let isTaken = true;
    return () => {
      if (isTaken) this.#leave(owner, seats);
      isTaken = false;
    };
  }

  #leave(owner: string, seats: number): void {
    this.#total -= seats;
    const left = this.#perCaller.get(owner)! - seats;
    if (left > 0) this.#perCaller.set(owner, left);
    else this.#perCaller.delete(owner);
  }
}
