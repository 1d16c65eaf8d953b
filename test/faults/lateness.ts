import { besideHostile, type Besieged, type Siege } from './beside-hostile.ts';
import type { Phase } from './hostile.ts';
import { nothingShown, quantile } from './scenario.ts';

// What is promised is 100 ms more beside large bodies and a fifth more beside floods; a shared machine gets more.
const MORE_MS = 400;
const TIMES = { bodies: 2, flood: 5 } satisfies Record<Phase['promise'], number>;
// Long enough for something to happen on a machine that others keep busy.
const SECOND_SECONDS = 8;
// Of fewer calls the slowest hundredth is a call or two, of which nothing can be said.
const MANY = 500;

/** Besieges a server; what is too late or shows nothing counts when it is so on a second one too, kept in memory. */
export async function besiegeTwice(siege: Siege): Promise<{ found: Besieged; failures: string[] }> {
  const found = await besideHostile(siege);
  const missed = siege.phases.filter((phase) => complaintOf(found, phase) !== undefined);
  if (missed.length === 0) return { found, failures: [] };
  for (const phase of missed) siege.report(`once more: ${complaintOf(found, phase)}`);
  const seconds = Math.max(siege.seconds, SECOND_SECONDS);
  const again = await besideHostile({ ...siege, phases: missed, rotations: 1, seconds, isInMemory: true });
  return { found, failures: missed.flatMap((phase) => complaintOf(again, phase) ?? []) };
}

function complaintOf(found: Besieged, phase: Phase): string | undefined {
  const heard = found.phases.get(phase.name)!;
  const { told } = heard;
  if (told.sent === 0) return nothingShown(`${phase.name}: nothing was sent`);
  if (told.streams < (phase.mustStream ?? 0))
    return nothingShown(`${phase.name}: ${told.streams} of ${phase.mustStream} streams began`);
  const part = heard.times.length < MANY ? 0.9 : 0.99;
  const own = [found.before, found.between, found.after].flatMap(({ times }) => times);
  const ownMs = quantile(own, part);
  const ms = quantile(heard.times, part);
  return ms > ownMs * TIMES[phase.promise] + MORE_MS
    ? `the other tenant's p${part * 100} was ${Math.round(ms)} ms beside ${phase.name}, ${Math.round(ownMs)} ms alone`
    : undefined;
}
