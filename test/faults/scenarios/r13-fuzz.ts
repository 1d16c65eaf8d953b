import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hammer } from '../hammer.ts';
import type { Outcome, RunOptions, Scenario } from '../scenario.ts';

/** Nothing that can be sent brings the gateway down or makes it talk about itself. */
export const fuzz: Scenario = {
  id: 'R13',
  title: 'mutated messages crash nothing and learn nothing',
  run: (options) => inChildren(options, options.counts === 'full' ? 1_000_000 : 100_000),
  // A server that explains itself, as careless ones do.
  control: (options) =>
    hammer(options, 500, async (request) => {
      try {
        return Response.json({ jsonrpc: '2.0', id: 1, result: JSON.parse(await request.text()) as unknown });
      } catch (error) {
        return Response.json({
          jsonrpc: '2.0',
          id: 1,
          error: { code: -32603, message: (error as Error).stack },
        });
      }
    }),
};

const CHILDREN = 2;
const script = join(import.meta.dirname, '../fuzz-child.ts');

async function inChildren({ seed, report }: RunOptions, messages: number): Promise<Outcome> {
  const failures = await Promise.all(
    Array.from({ length: CHILDREN }, async (_, index) => {
      const args = ['--import', 'jiti/register', script, String(messages / CHILDREN), String(seed + index)];
      const cwd = join(import.meta.dirname, '../../..');
      // A child that crashes is an exception here.
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        cwd,
        maxBuffer: 64 * 1_048_576,
      });
      const outcome = JSON.parse(stdout) as Outcome & { readonly timeline: readonly string[] };
      for (const line of outcome.timeline) report(line);
      return outcome.failures;
    }),
  );
  return { counts: `${messages} messages`, failures: failures.flat() };
}
