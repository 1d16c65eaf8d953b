import type { Clock } from '../base/clock.ts';
import { ownerOf, type Caller } from '../core/caller.ts';
import { ToolcribError } from '../base/errors.ts';
import { excess, rateOf, tooMany, type Rate } from '../base/rate.ts';
import type { Batch, Message, RequestMessage } from '../protocol/wire/json-rpc.ts';
import type { Link } from './link.ts';

// What stages see has limits there.
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get']);
const HANDSHAKE_COST = 10;
const LOOKED_AT_PER_NEWCOMER = 2;

/**
 * How often each caller may send what never comes to a stage: handshakes, lists, subscriptions and the like, and what
 * is malformed.
 */
export class RequestRates {
  readonly #rate: Rate;
  readonly #clock: Clock;
  // For each caller the moment up to which its time is used up.
  readonly #usedUntil = new Map<string, number>();

  constructor(perMinute: number, clock: Clock) {
    this.#rate = rateOf(perMinute);
    this.#clock = clock;
  }

  /** Counts a message, or says why it is refused; calls are free, and so is a client that has the process to itself. */
  refuseMessage(message: Message | Batch, link: Link): ToolcribError | undefined {
    const cost = isLimited(link) ? costOf(message) : 0;
    return cost === 0 ? undefined : this.refuse(link.caller, cost);
  }

  /** Counts a call that failed with an error of the client before a stage could count it; returns what to answer. */
  refuseUnbegun(message: RequestMessage, link: Link, error: unknown): unknown {
    const isCounted = CALLS.has(message.method) && !link.hasBegun && isLimited(link);
    const isOwnFault = error instanceof ToolcribError && error.code !== 'cancelled';
    return (isCounted && isOwnFault && this.refuse(link.caller)) || error;
  }

  /** Counts the opening of something that stays, or says why it is refused. */
  refuseOpening(caller: Caller): ToolcribError | undefined {
    return this.refuse(caller, HANDSHAKE_COST);
  }

  /** Counts a request, or says why it is refused. */
  refuse(caller: Caller, cost = 1): ToolcribError | undefined {
    const owner = ownerOf(caller);
    const now = this.#clock.ticks();
    const known = this.#usedUntil.get(owner);
    if (known === undefined) this.#sweep(now);
    const before = Math.max(known ?? now, now);
    // What costs more than a whole burst passes when nothing else was sent.
    const more = Math.min((cost - 1) * this.#rate.everyMs, this.#rate.aheadMs - this.#rate.everyMs);
    const waitMs = excess(this.#rate, before + more, now);
    if (waitMs > 0) return tooMany('requests', waitMs);
    this.#usedUntil.set(owner, before + more + this.#rate.everyMs);
    return undefined;
  }

  // Each new caller checks two others, so that no request ever checks all of them.
  #sweep(now: number): void {
    let left = LOOKED_AT_PER_NEWCOMER;
    for (const [owner, usedUntil] of this.#usedUntil) {
      if (left-- === 0) return;
      this.#usedUntil.delete(owner);
      if (usedUntil > now) this.#usedUntil.set(owner, usedUntil);
    }
  }
}

function isLimited({ headers, handshakeOnly = false }: Link): boolean {
  return headers !== undefined || handshakeOnly;
}

function costOf(message: Message | Batch): number {
  switch (message.kind) {
    case 'request':
      if (CALLS.has(message.method)) return 0;
      return message.method === 'initialize' ? HANDSHAKE_COST : 1;
    case 'notification':
    case 'response':
    case 'invalid':
      return 1;
    case 'batch':
      return message.messages.reduce((sum, one) => sum + costOf(one), 0);
  }
}
