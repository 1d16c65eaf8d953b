import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hammer, type Reply } from '../hammer.ts';
import type { Outcome, RunOptions, Scenario } from '../scenario.ts';

/** Nothing that can be sent brings the gateway down or makes it talk about itself. */
export const fuzz: Scenario = {
  id: 'R13',
  title: 'mutated messages crash nothing, learn nothing and are refused where they are malformed',
  run: (options) => inChildren(options, options.counts === 'full' ? 1_000_000 : 100_000),
  // A server that explains itself, as careless ones do.
  control: (options) =>
    hammer(options, 500, async ({ body }) => {
      try {
        return answered({ result: JSON.parse(body.toString()) as unknown });
      } catch (error) {
        return answered({ error: { code: -32603, message: (error as Error).stack } });
      }
    }),
};

function answered(members: object): Reply {
  return { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: 1, ...members }) };
}

// Most messages go straight into the server, which is fastest; a tenth of them each over a real connection and over lines.
const LANES = [
  ['socket', 'fetch'],
  ['stdio', 'fetch'],
] as const;
const SHARE = { fetch: 0.4, socket: 0.1, stdio: 0.1 };
const script = join(import.meta.dirname, '../fuzz-child.ts');

async function inChildren({ seed, report }: RunOptions, messages: number): Promise<Outcome> {
  const outcomes = await Promise.all(
    LANES.map(async (ways, lane) => {
      const found: Outcome[] = [];
      for (const way of ways) {
        const numbers = [Math.round(messages * SHARE[way]), seed + lane].map(String);
        const { timeline, ...outcome } = await inChild(way, numbers);
        for (const line of timeline) report(line);
        found.push(outcome);
      }
      return found;
    }),
  );
  return {
    counts: `messages: ${outcomes
      .flat()
      .map(({ counts }) => counts)
      .join('; ')}`,
    failures: outcomes.flat().flatMap(({ failures }) => failures),
  };
}

async function inChild(
  way: string,
  numbers: readonly string[],
): Promise<Outcome & { readonly timeline: readonly string[] }> {
  const args = ['--import', 'jiti/register', script, way, ...numbers];
  const cwd = join(import.meta.dirname, '../../..');
  // A child that crashes is an exception here.
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 64 * 1_048_576 });
  return JSON.parse(stdout) as Outcome & { readonly timeline: readonly string[] };
}
