import { randomBytes } from 'node:crypto';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { endEach } from '../../base/cancellation.ts';
import type { Clock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { ToolcribError } from '../../base/errors.ts';
import { CallerLimit } from '../caller-limit.ts';
import type { UnderstoodRequest } from '../request.ts';
import type { OpenedState } from './seal.ts';
import type { Ended } from './run.ts';

// Each holds a connection to another server.
const PARKING_LIMITS = { total: 1_000, perCaller: 20 };

// As long as a sealed state is valid.
const LONGEST_WAIT_MS = 10 * 60_000;

/** A call that waits for answers which a further request of its client brings. */
export interface ParkedCall {
  readonly caller: Caller;
  /** Goes on with the answers of a further request. */
  resume(request: UnderstoodRequest, opened: OpenedState): Promise<Ended>;
  /** Ends it. */
  stop(reason: Error): void;
}

interface Place {
  readonly call: ParkedCall;
  readonly leave: () => void;
}

/** The calls that wait for a further request of their client; they live in this process and no longer than it. */
export class ParkedCalls {
  readonly #places = new Map<string, Place>();
  readonly #deadlines: Deadlines;
  readonly #limit = new CallerLimit('calls that wait for answers', PARKING_LIMITS, 'cannot_ask');

  constructor(clock: Clock) {
    this.#deadlines = new Deadlines(clock);
  }

  /** How many calls wait. */
  get size(): number {
    return this.#places.size;
  }

  /** Keeps a call until its client comes back, and returns the name it is found by, once. */
  park(call: ParkedCall): string {
    const free = this.#limit.take(call.caller);
    const id = randomBytes(16).toString('base64url');
    const stopTime = this.#deadlines.start(LONGEST_WAIT_MS, () => {
      this.forget(id);
      call.stop(new ToolcribError('timed_out', 'The questions of this call had no answers in time.'));
    });
    const leave = (): void => {
      stopTime();
      free();
    };
    this.#places.set(id, { call, leave });
    return id;
  }

  /** The call that waits under a name for this caller. */
  take(id: string, caller: Caller): ParkedCall {
    const call = this.#places.get(id)?.call;
    if (!call || ownerOf(call.caller) !== ownerOf(caller))
      throw new ToolcribError(
        'wait_ended',
        'This call no longer waits for answers, and was stopped: call again without "requestState".',
      );
    this.forget(id);
    return call;
  }

  /** No longer keeps a call. */
  forget(id: string): void {
    this.#places.get(id)?.leave();
    this.#places.delete(id);
  }

  /** Ends the calls of callers whose access has ended. */
  dismiss(isGone: (caller: Caller) => boolean): void {
    this.#end(isGone, new ToolcribError('cancelled', 'Its caller no longer has access.'));
  }

  /** Ends all of them. */
  stop(reason: Error): void {
    this.#end(() => true, reason);
  }

  #end(isMeant: (caller: Caller) => boolean, reason: Error): void {
    const meant = [...this.#places].filter(([, { call }]) => isMeant(call.caller));
    endEach(meant, ([id, { call }]) => {
      this.forget(id);
      call.stop(reason);
    });
  }
}
