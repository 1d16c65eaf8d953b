import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runTypeScript } from '../../../test/behaviour/child.ts';
import { isAlive } from '../../../test/gateway/process-counts.ts';
import { within } from '../../../test/within.ts';

const program = join(import.meta.dirname, '../../../test/guardian-child.ts');

test('a guardian that could not be started for want of descriptors is started with the next program', async () => {
  // A process of its own, because one that has no descriptors left cannot run tests either.
  const limited = ['-c', 'ulimit -n 2000; exec "$@"', 'sh', process.execPath, runTypeScript, program];
  const child = spawn('/bin/sh', limited, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await within(10_000, 'the groups', once(child.stdout, 'data'))) as [Buffer];
  const groups = line.toString().trim().split(' ').map(Number);
  onTestFinished(() => {
    for (const pid of groups.filter(isAlive)) process.kill(pid, 'SIGKILL');
  });
  expect(groups.map(isAlive)).toEqual([true, true]);
  child.kill('SIGKILL');
  await expect.poll(() => groups.map(isAlive), { timeout: 5_000 }).toEqual([false, false]);
});
