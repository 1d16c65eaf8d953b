import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { byHttp } from '../../fuzz/built-ways.ts';
import { hammer } from '../../fuzz/hammer.ts';
import { careless } from '../../fuzz/careless.ts';
import type { Way } from '../../fuzz/case.ts';
import type { Outcome, RunOptions, Scenario } from '../scenario.ts';

/** Nothing that can be sent brings the gateway down, goes unanswered or makes it talk about itself. */
export const fuzz: Scenario = {
  id: 'R13',
  title:
    'mutated messages, headers, lines and connections are each answered or ended, and crash and reveal nothing',
  run: (options) => inChildren(options),
  control,
};

// Most messages go straight into a server, which is fastest; all others go to the built command.
const LANES: readonly (readonly (readonly [way: string, count: number])[])[] = [
  [
    ['http', 50_000],
    ['heads', 20_000],
    ['fetch', 90_000],
  ],
  [
    ['stdio', 50_000],
    ['streams', 12_000],
    ['fetch', 90_000],
  ],
];
const FULL = 4;
const MINUTE_MS = 60_000;
const script = join(import.meta.dirname, '../../fuzz/child.ts');

async function inChildren({ seed, report, counts, only }: RunOptions): Promise<Outcome> {
  if (only !== undefined) {
    const [way = '', number = ''] = only.split(':');
    return inChild(way, [seed, Number(number), 1]);
  }
  const factor = counts === 'full' ? FULL : 1;
  const found: Outcome[] = [];
  await Promise.all(
    LANES.map(async (ways, lane) => {
      for (const [way, count] of ways) {
        // The same way in twice gets other numbers, so that no case is tried twice.
        const outcome = await inChild(way, [seed, lane * count * factor, count * factor]);
        report(outcome.counts);
        found.push(outcome);
      }
    }),
  );
  const total = LANES.flat().reduce((sum, [, count]) => sum + count * factor, 0);
  return {
    counts: `${total} cases: ${found.map((outcome) => outcome.counts).join('; ')}`,
    failures: found.flatMap(({ failures }) => failures),
  };
}

async function inChild(way: string, numbers: readonly number[]): Promise<Outcome> {
  const args = ['--import', 'jiti/register', script, way, ...numbers.map(String)];
  const cwd = join(import.meta.dirname, '../../..');
  // A child that crashes, or hangs, is an exception here.
  const limits = { maxBuffer: 64 * 1_048_576, timeout: (numbers[2]! / 1_000) * MINUTE_MS + 5 * MINUTE_MS };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, ...limits });
  return JSON.parse(stdout) as Outcome;
}

// Broken on purpose: servers that crash over a message, do not answer, or tell too much.
// Each must be found and made short.
async function control({ seed }: RunOptions): Promise<Outcome> {
  const broken: readonly (readonly [kind: string, open: () => Way | Promise<Way>])[] = [
    ['the server ended', () => byHttp(SABOTAGE)],
    ['no answer', () => careless('silent')],
    ['an answer shows a stack frame', () => careless('explains')],
  ];
  const outcomes: Outcome[] = [];
  const found: (string | undefined)[] = [];
  for (const [kind, open] of broken) {
    const way = await open();
    try {
      const outcome = await hammer(way, { seed, count: 3_000 }, { maxFailures: 3, shortenMs: 15_000 });
      outcomes.push(outcome);
      found.push(outcome.failures.find((failure) => failure.includes(kind) && SHORTENED.test(failure)));
    } finally {
      await way.close();
    }
  }
  return {
    counts: outcomes.map(({ counts }) => counts).join('; '),
    failures: found.every((failure) => failure !== undefined) ? found : [],
  };
}

const SHORTENED = /shortened from \d+ to \d{1,2} bytes/;
// Whatever the product does with a message, it reads it with this.
const SABOTAGE = `
import { defineTool } from 'toolcrib';
const parse = JSON.parse;
JSON.parse = (text, ...rest) => {
  if (String(text).includes('"cursor":1')) setImmediate(() => { throw new Error('broken on purpose'); });
  return parse(text, ...rest);
};
export const nothing = defineTool({ name: 'nothing', description: 'Does nothing.' }, () => '');
`;
