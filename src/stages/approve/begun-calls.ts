import type { Clock } from '../../base/clock.ts';
import type { ToolCall } from '../../core/call.ts';
import { ownerOf } from '../../core/caller.ts';
import { MAX_APPROVED_ROUNDS } from '../../core/memory/approval.ts';
import { fingerprintOf } from '../fingerprint.ts';
import { makeRoomIn } from '../../core/memory/bounded-map.ts';

interface Begun {
  readonly expiresAt: number;
  rounds: number;
}

const GOES_ON_MS = 300_000;
const MAX_BEGUN = 1_000;

/** Approved calls that wait for answers of their client; each continues a few times, for a limited time. */
export class BegunCalls {
  readonly #begun = new Map<string, Begun>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Remembers a call that a person agreed to; a further round of it changes nothing. */
  add(call: ToolCall): void {
    const key = keyOf(call);
    if (key === undefined || call.record.isResumed) return;
    this.#begun.delete(key);
    makeRoomIn(this.#begun, MAX_BEGUN);
    this.#begun.set(key, { expiresAt: this.#clock.now() + GOES_ON_MS, rounds: 0 });
  }

  /** Whether a call that continues was approved. */
  resume(call: ToolCall): boolean {
    const key = keyOf(call);
    const begun = key === undefined ? undefined : this.#begun.get(key);
    if (!begun) return false;
    if (begun.expiresAt > this.#clock.now() && ++begun.rounds <= MAX_APPROVED_ROUNDS) return true;
    this.#begun.delete(key!);
    return false;
  }
}

function keyOf(call: ToolCall): string | undefined {
  const fingerprint = fingerprintOf(call);
  return fingerprint && `${ownerOf(call.caller)}\n${fingerprint}`;
}
