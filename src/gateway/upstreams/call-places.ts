import type { Awaitable } from '../../base/awaitable.ts';
import type { Cancellation } from '../../base/cancellation.ts';
import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { Overdue, within } from '../../base/within.ts';
import type { RelayOptions } from '../../client/relay/call.ts';

const MAX_WAITING = 1_000;
// Calls that wait for a person or follow a task still take some work of the upstream.
const MAX_OUTSIDE = 1_000;

/** Lets only so many calls through at one time; others wait in line. */
export class CallPlaces {
  readonly #upstream: string;
  readonly #waiting = new Set<() => void>();
  /** Below zero while calls that stepped out are back and others have their places. */
  #free: number;
  #outside = 0;

  constructor(places: number, upstream: string) {
    this.#free = places;
    this.#upstream = upstream;
  }

  /** Takes a place: at once if one is free, else after waiting at most this long. `leave` gives it back. */
  enter(cancellation: Cancellation, withinMs: number): Awaitable<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    if (this.#waiting.size >= MAX_WAITING) throw this.#tooMany();
    return this.#wait(cancellation, withinMs);
  }

  /** Gives a place back, to the caller that has waited longest. */
  leave(): void {
    this.#free++;
    const [next] = this.#waiting;
    if (this.#free <= 0 || !next) return;
    this.#free--;
    next();
  }

  /** Gives a place back for a while, unless too many have done so; says whether it did. */
  stepOut(): boolean {
    if (this.#outside >= MAX_OUTSIDE) return false;
    this.#outside++;
    this.leave();
    return true;
  }

  /** Takes a place at once, free or not: for a call that stepped out. */
  comeBack(): void {
    this.#outside--;
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

/** The place that one call has taken, and the time it has left. One object, because it is made for every call. */
export class CallPlace implements RelayOptions {
  readonly #places: CallPlaces;
  readonly #clock: Clock;
  readonly #until: number;
  mayAskSecrets = false;
  #waits = 0;
  #isOutside = false;
  #isLeft = false;

  constructor(places: CallPlaces, clock: Clock, until: number) {
    this.#places = places;
    this.#clock = clock;
    this.#until = until;
  }

  /** How long the call may still take. */
  get withinMs(): number {
    return Math.max(0, this.#until - this.#clock.ticks());
  }

  /** Gives the place to others while the call waits for a person or a task; the returned function takes one again. */
  onWait(): () => void {
    if (this.#waits++ === 0 && !this.#isLeft) this.#isOutside = this.#places.stepOut();
    return () => {
      if (--this.#waits === 0 && !this.#isLeft) this.#return();
    };
  }

  /** Gives it back for good. */
  leave(): void {
    this.#return();
    this.#isLeft = true;
    this.#places.leave();
  }

  #return(): void {
    if (this.#isOutside) this.#places.comeBack();
    this.#isOutside = false;
  }
}
