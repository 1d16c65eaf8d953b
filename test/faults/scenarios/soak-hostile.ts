import type { Besieged, Heard } from '../beside-hostile.ts';
import { hogging, phases, type Phase } from '../hostile.ts';
import { besiegeTwice } from '../lateness.ts';
import { growing } from '../level.ts';
import { against, quantile, summarise, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** A tenant that does all the harm it can, for as long as is asked for, is alone with it. */
export const soak: Scenario = {
  id: 'SOAK',
  title:
    'beside a tenant that does everything at its limits, no other call is refused, and the server does not grow',
  run(options) {
    const minutes = options.minutes ?? (options.counts === 'full' ? 60 : undefined);
    const chosen = phases.filter(({ name }) => options.phases?.includes(name) ?? true);
    return endure(options, plan(minutes ?? 1, chosen));
  },
  // Both are one tenant, and one of the calls holds everybody up: refusals and delays have to be noticed.
  async control(options) {
    const flood = phases.filter(({ name }) => name === 'calls');
    const shared = await endure(options, { ...plan(1, flood), seconds: 3, rotations: 1, isShared: true });
    const slow = await endure(options, { ...plan(1, [hogging]), seconds: 5, rotations: 1 });
    const found = [
      shared.failures.find((failure) => failure.includes('refused')),
      slow.failures.find((failure) => failure.includes("tenant's p9")),
    ];
    return {
      counts: `${shared.counts}; ${slow.counts}`,
      failures: found.every((failure) => failure !== undefined) ? found : [],
    };
  },
};

const TARGET_MS = 100;
const TARGET_PERCENT = 20;
const MAX_PHASE_SECONDS = 20;
const PART_ALONE = 0.1;

interface Plan {
  readonly phases: readonly Phase[];
  readonly rotations: number;
  readonly seconds: number;
  readonly aloneSeconds: number;
  readonly isShared?: boolean;
}

function plan(minutes: number, chosen: readonly Phase[]): Plan {
  const aloneSeconds = Math.min(120, Math.max(4, minutes * 60 * PART_ALONE));
  const left = minutes * 60 - 2 * aloneSeconds;
  // A second is spent at the end of each phase.
  const seconds = Math.min(MAX_PHASE_SECONDS, Math.max(2, left / (chosen.length + 1) - 1));
  const rotations = Math.max(1, Math.floor(left / ((seconds + 1) * (chosen.length + 1))));
  return { phases: chosen, rotations, seconds, aloneSeconds };
}

async function endure({ report }: RunOptions, how: Plan): Promise<Outcome> {
  const { found, failures: late } = await besiegeTwice({ ...how, report });
  const own = [found.before, found.between, found.after].flatMap(({ times }) => times);
  const ownP99 = quantile(own, 0.99);
  for (const line of table(found, how.phases)) report(line);
  const refused = [found.before, found.between, found.after, ...found.phases.values()].flatMap(
    (heard) => heard.refused,
  );
  const failures = [
    ...summarise('calls of the other tenant refused', refused),
    ...found.failures,
    ...growing(found.levels),
    ...late,
  ];
  const calls = [...found.phases.values()].reduce((sum, { times }) => sum + times.length, own.length);
  const sent = [...found.phases.values()].reduce((sum, { told }) => sum + told.sent, 0);
  const delays = how.phases.map(({ name, promise }) => delayOf(found.phases.get(name)!, { ownP99, promise }));
  const worst = (promise: Phase['promise']): number =>
    Math.max(0, ...delays.filter((delay) => delay.promise === promise).map(({ figure }) => figure));
  return {
    counts: `${sent} hostile requests in ${how.rotations} rotations of ${how.phases.length} phases, ${calls} calls of the other tenant, ${refused.length} refused; its p99 alone ${ownP99.toFixed(1)} ms, beside large bodies at most ${against(worst('bodies'), TARGET_MS)} more, beside floods at most ${against(worst('flood'), TARGET_PERCENT, '%')} more; database ${found.database}`,
    failures,
  };
}

function delayOf(
  { times }: Heard,
  { ownP99, promise }: { readonly ownP99: number; readonly promise: Phase['promise'] },
): { readonly promise: Phase['promise']; readonly figure: number } {
  const p99 = quantile(times, 0.99);
  return { promise, figure: promise === 'bodies' ? p99 - ownP99 : (p99 / ownP99 - 1) * 100 };
}

// Fit for the page about faults.
function table(
  { before, between, after, phases: heard, levels }: Besieged,
  order: readonly Phase[],
): string[] {
  const row = (name: string, { times, refused, told }: Heard): string => {
    const at = (part: number): string => quantile(times, part).toFixed(1);
    const longest = times.reduce((most, time) => Math.max(most, time), 0).toFixed(0);
    return `| ${[name, told.sent, told.limited, times.length, refused.length, at(0.5), at(0.99), at(0.999), longest].join(' | ')} |`;
  };
  const figures = (what: keyof Besieged['levels'][0]): string =>
    levels.map((level) => level[what]).join(', ');
  return [
    '| the hostile tenant | requests | refused as too many | calls of the other | refused | p50 ms | p99 ms | p99.9 ms | longest ms |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    row('nothing, before', before),
    row('nothing, in each rotation', between),
    ...order.map(({ name }) => row(name, heard.get(name)!)),
    row('nothing, after', after),
    `after each rotation: RSS ${figures('rssMb')} MB; heap ${figures('heapMb')} MB; descriptors ${figures('descriptors')}; kept beside the record ${figures('keptMb')} MB`,
  ];
}
