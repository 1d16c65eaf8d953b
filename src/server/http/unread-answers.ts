import type { ServerResponse } from 'node:http';
import type { Caller } from '../../core/caller.ts';
import { CallerLimit } from '../caller-limit.ts';

const PATIENCE_MS = 30_000;

/** Bounds how many whole answers a caller may leave unread, and for how long: each holds memory and a connection. */
export class UnreadAnswers {
  /** How many there may be; shared by all transports of a server. */
  readonly limit: CallerLimit;
  readonly #patienceMs: number;

  constructor(limit = new CallerLimit('answers that are not read'), patienceMs = PATIENCE_MS) {
    this.limit = limit;
    this.#patienceMs = patienceMs;
  }

  /** Watches an answer that was not taken at once; cuts it if there are too many, or if nothing of it is read. */
  watch(response: ServerResponse, caller: Caller): void {
    try {
      response.once('close', this.limit.take(caller));
    } catch {
      response.destroy();
      return;
    }
    // Counted anew whenever the client has taken some of it.
    response.setTimeout(this.#patienceMs, () => response.destroy());
  }
}
