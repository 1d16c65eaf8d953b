import { makeDeployment } from '../deployment.ts';
import { type Bench, cpuRatio, type Figures, measure } from '../measure.ts';
import { count, figure, type PartResult } from '../report.ts';
import { callRequest, withKeys } from '../requests.ts';
import type { Settings } from '../settings.ts';
import { withTargets } from '../target-process.ts';
import { verifyCall } from '../verify.ts';

// Each is measured in two processes: how far those differ is the noise.
const SIZES = [1, 10_000, 1, 10_000];

// A connection that repeats a header is recognised by it; one key is written in many ways, so that this is rare.
const SPELLINGS = 61;

function inTurn(keys: readonly string[]): readonly string[] {
  const [only] = keys;
  if (keys.length !== 1 || only === undefined) return keys;
  return Array.from({ length: SPELLINGS }, (_, spaces) => `${' '.repeat(spaces)}${only}`);
}

// A busy machine adds more than a few percent to a round, so many short rounds tell more than a few long ones.
function inManyRounds(settings: Settings): Settings {
  return { ...settings, rounds: settings.rounds * 3, roundSeconds: 1 };
}

/** Shows whether a governed call costs more when there are more tenants, keys and tools. */
export async function governedGrowthPart(bench: Bench): Promise<PartResult> {
  const all = await Promise.all(
    SIZES.map(async (size) => {
      const tools = Math.max(size, 2);
      const deployment = await makeDeployment({ tenants: size, tools: { tools, readOnly: true } });
      const request = withKeys(callRequest('echo', '2026-07-28'), inTurn(deployment.keys));
      return { spec: { name: 'everything on', config: deployment.config }, request };
    }),
  );
  const figures = await withTargets(
    all.map(({ spec }) => spec),
    async (targets) => {
      const contenders = targets.map((target, index) => ({
        name: `${target.name}, ${SIZES[index]} of each`,
        target,
        request: all[index]!.request,
      }));
      for (const { target, request } of contenders) await verifyCall(target, 'echo', request);
      return measure(contenders, { ...bench, settings: inManyRounds(bench.settings) });
    },
  );
  const of = (size: number): Figures[] => figures.filter((_, index) => SIZES[index] === size);
  const [few, many] = [of(1), of(10_000)];
  return {
    title: '9. Growth of the governed line',
    about:
      'One `tools/call` of `echo` through a gateway with everything on; the load takes the keys in turn, one key or ten thousand with the same script, so that no ' +
      'connection sends the same header twice running (one that does is recognised by it, and spared the hash of its key). ' +
      'With one tenant there are two tools. Each size is measured in two processes, which shows the noise.',
    table: {
      columns: ['Tenants, keys and tools', 'CPU µs', 'requests/s', 'p50 ms', 'p99 ms'],
      rows: figures.map((own, index) => [
        count(SIZES[index] ?? 0),
        ...[own.cpuMicros, own.perSecond, own.p50Ms, own.p99Ms].map(figure),
      ]),
    },
    goals: [
      {
        what: '10,000 of each ÷ 1 of each',
        measured: cpuRatio(many, few),
        bound: 'at most',
        goal: 1.1,
        unit: '×',
        beside: `against themselves: one ${itself(few)} ×, 10,000 ${itself(many)} ×`,
      },
    ],
  };
}

function itself([one, again]: readonly Figures[]): string {
  return one && again ? cpuRatio([again], [one]).toFixed(2) : 'not measured';
}
