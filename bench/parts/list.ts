import { type Bench, cpuRatio, measure } from '../measure.ts';
import { count, figure, type PartResult } from '../report.ts';
import { type BenchAnswer, listRequest, post } from '../requests.ts';
import { scratchFile } from '../scratch.ts';
import { type HttpTarget, withTargets } from '../target-process.ts';

/** Compares a `tools/list` of 1,000 tools with a handler that sends the same bytes from memory. */
export async function listPart(bench: Bench): Promise<PartResult> {
  return withTargets(
    [{ name: 'toolcrib', file: 'toolcrib', options: { tools: TOOLS } }],
    async ([toolcrib]) => {
      if (!toolcrib) throw new Error('toolcrib was not started.');
      const answer = await listOf(toolcrib);
      const answers = scratchFile('list.json', answer.body);
      return withTargets(
        [{ name: 'bare node:http', file: 'bare-list', options: { tools: TOOLS, answers } }],
        async ([bare]) => {
          if (!bare) throw new Error('The bare target was not started.');
          if ((await listOf(bare)).body !== answer.body)
            throw new Error('The bare handler does not send the list of toolcrib.');
          return compare([bare, toolcrib], answer, bench);
        },
      );
    },
  );
}

const TOOLS = 1000;

async function compare(
  targets: readonly [HttpTarget, HttpTarget],
  answer: BenchAnswer,
  bench: Bench,
): Promise<PartResult> {
  const request = listRequest();
  const [bare, ours] = await measure(
    targets.map((target) => ({ name: `${target.name} tools/list`, target, request })),
    bench,
  );
  if (!bare || !ours) throw new Error('Not every target was measured.');
  const bytes = Buffer.byteLength(answer.body);
  return {
    title: '2. tools/list with 1,000 tools',
    about: `The answer is ${count(bytes)} bytes, ${figure(bytes / countTools(answer))} a tool. The bare handler parses the request and sends toolcrib's own answer from a buffer.`,
    table: {
      columns: ['Target', 'CPU µs', 'requests/s', 'p50 ms', 'p99 ms'],
      rows: [bare, ours].map((figures, index) => [
        targets[index]?.name ?? '',
        ...[figures.cpuMicros, figures.perSecond, figures.p50Ms, figures.p99Ms].map(figure),
      ]),
    },
    goals: [
      {
        what: 'bare ÷ toolcrib',
        measured: cpuRatio([bare], [ours]),
        bound: 'at least',
        goal: 0.9,
        unit: '×',
        beside: `${figure(ours.perSecond / bare.perSecond)} × by requests/s`,
      },
    ],
  };
}

async function listOf(target: HttpTarget): Promise<BenchAnswer> {
  const answer = await post(target.url, listRequest());
  const listed = answer.status === 200 ? countTools(answer) : 0;
  if (listed !== TOOLS)
    throw new Error(`${target.name} listed ${listed} of ${TOOLS} tools: ${answer.body.slice(0, 300)}`);
  return answer;
}

function countTools({ body }: BenchAnswer): number {
  const { result } = JSON.parse(body) as { result?: { tools?: unknown[] } };
  return result?.tools?.length ?? 0;
}
