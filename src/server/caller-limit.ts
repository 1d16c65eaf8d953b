import { ownerOf, type Caller } from '../core/caller.ts';
import { ToolcribError, type ErrorCode } from '../base/errors.ts';

/** How many long-lived things of one kind there may be, in all and for one caller. */
export const openLimits = { total: 10_000, perCaller: 100 };

/** How many bytes of messages may be under way, in all and for one caller; what comes in one piece is not counted. */
export const bodyLimits = { total: 1_073_741_824, perCaller: 67_108_864 };

/**
 * How many questions may wait for their answers; a call with a large message counts several times, because it is kept
 * meanwhile.
 */
export const questionLimits = { total: 10_000, perCaller: 100, bytesPerQuestion: 65_536 };

/** Counts what callers hold open, so that nobody can hold it all. */
export class CallerLimit {
  readonly #what: string;
  readonly #limits: Readonly<typeof openLimits>;
  readonly #code: ErrorCode;
  readonly #perCaller = new Map<string, number>();
  #total = 0;

  constructor(what: string, limits: Readonly<typeof openLimits> = openLimits, code: ErrorCode = 'too_many') {
    this.#what = what;
    this.#limits = limits;
    this.#code = code;
  }

  /** Takes up so much; the returned function gives it back, once. */
  take(caller: Caller, amount = 1): () => void {
    const owner = ownerOf(caller);
    const taken = (this.#perCaller.get(owner) ?? 0) + amount;
    const { total, perCaller } = this.#limits;
    if (this.#total + amount > total || taken > perCaller)
      throw new ToolcribError(this.#code, `At most ${perCaller} ${this.#what} may be open for one caller.`);
    this.#total += amount;
    this.#perCaller.set(owner, taken);
    let isTaken = true;
    return () => {
      if (isTaken) this.#leave(owner, amount);
      isTaken = false;
    };
  }

  #leave(owner: string, amount: number): void {
    this.#total -= amount;
    const left = this.#perCaller.get(owner)! - amount;
    if (left > 0) this.#perCaller.set(owner, left);
    else this.#perCaller.delete(owner);
  }
}
