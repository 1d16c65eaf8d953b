import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { against, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';
import type { Holdings } from '../soak.ts';

/** A process that has served very many calls holds no more than one that has served a few. */
export const memory: Scenario = {
  id: 'R14',
  title: 'memory, timers, listeners and file descriptors do not grow over mixed calls of ever new callers',
  run: (options) => soak(options, { calls: options.counts === 'full' ? 5_000_000 : 80_000, leak: 0 }),
  // Once every answer is kept, once every caller: each has to be noticed.
  async control(options) {
    const leaking = [
      { calls: 10_000, leak: 1 },
      { calls: 100_000, leak: 2 },
    ];
    const outcomes = await Promise.all(leaking.map((leak) => soak(options, leak)));
    return {
      counts: outcomes.map(({ counts }) => counts).join('; '),
      failures: outcomes.every(({ failures }) => failures.length > 0)
        ? outcomes.flatMap(({ failures }) => failures)
        : [],
    };
  },
};

const RSS_PER_MILLION_MB = 1;
const SLACK_BYTES = 2 * 1_048_576;
// The full count takes most of an hour.
const LIMIT_MS = 3 * 3_600_000;
const script = join(import.meta.dirname, '../soak.ts');

async function soak(
  { seed, report }: RunOptions,
  { calls, leak }: { calls: number; leak: number },
): Promise<Outcome> {
  const args = [
    '--expose-gc',
    '--import',
    'jiti/register',
    script,
    String(calls),
    String(seed),
    String(leak),
  ];
  const cwd = join(import.meta.dirname, '../../..');
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, timeout: LIMIT_MS });
  const [early, late] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Holdings);
  report(`after a third: ${JSON.stringify(early)}`);
  report(`at the end: ${JSON.stringify(late)}`);
  if (!early || !late) return { counts: '', failures: ['the child did not measure'] };
  const failures: string[] = [];
  if (late.heap > early.heap * 1.05 + SLACK_BYTES)
    failures.push(`the heap grew from ${early.heap} to ${late.heap} bytes`);
  for (const what of ['descriptors', 'resources', 'listeners'] as const)
    if (late[what] > early[what]) failures.push(`${what} grew from ${early[what]} to ${late[what]}`);
  const perMillion = ((late.rss - early.rss) / 1_048_576 / (late.calls - early.calls)) * 1_000_000;
  return {
    counts: `${calls} calls of ${late.callers} callers, heap ${megabytes(early.heap)} to ${megabytes(late.heap)} MB, RSS ${megabytes(early.rss)} to ${megabytes(late.rss)} MB, by million calls ${against(perMillion, RSS_PER_MILLION_MB, 'MB')}`,
    failures,
  };
}

function megabytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1);
}
