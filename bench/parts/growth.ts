import { type Bench, cpuRatio, type Figures, measure } from '../measure.ts';
import { count, figure, type Goal, type PartResult } from '../report.ts';
import { callRequest } from '../requests.ts';
import { type TargetSpec, withTargets } from '../target-process.ts';
import { verifyCall } from '../verify.ts';

/** Shows whether a call costs more when more tools are registered. */
export async function growthPart(bench: Bench): Promise<PartResult> {
  const request = callRequest('echo', '2026-07-28');
  const figures = await withTargets(specs, async (targets) => {
    for (const target of targets) await verifyCall(target, 'echo', request);
    return measure(
      targets.map((target, index) => ({
        name: `${target.name}, ${specs[index]?.options.tools} tools`,
        target,
        request,
      })),
      bench,
    );
  });
  return {
    title: '3. Growth with the number of tools',
    about:
      'One `tools/call` of `echo` on 2026-07-28. The SDK registers every tool again for each request, as its factory is meant to.',
    table: {
      columns: ['Target', 'tools', 'CPU µs', 'requests/s', 'p50 ms', 'p99 ms'],
      rows: figures.map((own, index) => [
        specs[index]?.name ?? '',
        count(specs[index]?.options.tools ?? 0),
        ...[own.cpuMicros, own.perSecond, own.p50Ms, own.p99Ms].map(figure),
      ]),
    },
    goals: goalsOf(figures),
  };
}

const specs: readonly TargetSpec[] = [
  { name: 'toolcrib', file: 'toolcrib', options: { tools: 10 } },
  { name: 'toolcrib', file: 'toolcrib', options: { tools: 1000 } },
  { name: 'toolcrib', file: 'toolcrib', options: { tools: 10_000 } },
  { name: 'official SDK v2', file: 'sdk', options: { tools: 10 } },
  { name: 'official SDK v2', file: 'sdk', options: { tools: 1000 } },
];

// Two processes of the same program differ by a few percent from run to run; a cost per tool would show as a multiple.
const NOISE = 1.1;

function goalsOf([ten, thousand, tenThousand]: readonly Figures[]): Goal[] {
  if (!ten || !thousand || !tenThousand) throw new Error('Not every size was measured.');
  return [
    {
      what: '1,000 tools ÷ 10 tools',
      measured: cpuRatio([thousand], [ten]),
      bound: 'at most',
      goal: NOISE,
      unit: '×',
    },
    {
      what: '10,000 tools ÷ 10 tools',
      measured: cpuRatio([tenThousand], [ten]),
      bound: 'at most',
      goal: NOISE,
      unit: '×',
    },
  ];
}
