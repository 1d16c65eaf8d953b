import { type Bench, cpuRatio, measure } from '../measure.ts';
import { figure, type PartResult } from '../report.ts';
import { type BenchRequest, callRequest, openSession } from '../requests.ts';
import { type HttpTarget, withTargets } from '../target-process.ts';
import { verifyCall } from '../verify.ts';

/** Compares calls of a handshake revision inside a session, outside one, and without any handshake. */
export async function sessionPart(bench: Bench): Promise<PartResult> {
  const spec = { name: 'toolcrib', file: 'toolcrib', options: { tools: 10 } };
  const { rows, figures } = await withTargets([spec], async ([target]) => {
    if (!target) throw new Error('toolcrib was not started.');
    const contenders = await contendersOf(target);
    for (const { name, request } of contenders) await verifyCall({ name, url: target.url }, 'echo', request);
    return { rows: contenders.map(({ name }) => name), figures: await measure(contenders, bench) };
  });
  const [stateless, , session] = figures;
  if (!stateless || !session) throw new Error('Not every kind of call was measured.');
  return {
    title: '6. Sessions',
    about:
      'One `tools/call` of `echo`. A session is looked up and checked against its caller for every request.',
    table: {
      columns: ['Call', 'CPU µs', 'requests/s', 'p50 ms', 'p99 ms'],
      rows: figures.map((own, index) => [
        rows[index] ?? '',
        ...[own.cpuMicros, own.perSecond, own.p50Ms, own.p99Ms].map(figure),
      ]),
    },
    goals: [
      {
        what: 'in a session ÷ stateless',
        measured: cpuRatio([session], [stateless]),
        bound: 'at most',
        goal: 1.25,
        unit: '×',
      },
    ],
  };
}

interface SessionContender {
  readonly name: string;
  readonly target: HttpTarget;
  readonly request: BenchRequest;
}

async function contendersOf(target: HttpTarget): Promise<SessionContender[]> {
  const id = await openSession(target.url);
  const legacy = callRequest('echo', '2025-06-18');
  const headers = { ...legacy.headers, 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': id };
  return [
    { name: '2026-07-28, stateless', target, request: callRequest('echo', '2026-07-28') },
    { name: '2025-06-18, without a session', target, request: legacy },
    { name: '2025-11-25, in a session', target, request: { ...legacy, headers } },
  ];
}
