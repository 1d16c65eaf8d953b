import type { Dialect } from '../transport.ts';
import { makeRoomIn } from '../../core/memory/bounded-map.ts';

// A server that is brought up to date still answers a handshake, so an old verdict would never be found out.
const GOOD_FOR_MS = 3_600_000;
const MOST_KEPT = 1_000;

interface Verdict {
  readonly era: Dialect['era'];
  readonly at: number;
}

const verdicts = new Map<string, Verdict>();

/** Which era the server at an address was found to speak, if that is not long ago. */
export function knownEra(address: string, now: number): Dialect['era'] | undefined {
  const verdict = verdicts.get(address);
  return verdict && now - verdict.at < GOOD_FOR_MS ? verdict.era : undefined;
}

/** Remembers which era the server at an address speaks. */
export function noteEra(address: string, era: Dialect['era'], now: number): void {
  verdicts.delete(address);
  makeRoomIn(verdicts, MOST_KEPT);
  verdicts.set(address, { era, at: now });
}

/** Forgets the finding about an address, because it turned out to be wrong. */
export function forgetEra(address: string): void {
  verdicts.delete(address);
}
