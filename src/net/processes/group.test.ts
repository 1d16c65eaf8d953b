import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runTypeScript, startNode } from '../../../test/behaviour/child.ts';
import { eventually } from '../../../test/faults/scenario.ts';
import { isAlive } from '../../../test/gateway/process-counts.ts';
import { within } from '../../../test/within.ts';
import { endGroup, GRACE_MS } from './group.ts';

/** Starts a shell in a group of its own, and tells its number and the numbers that it writes on its first line. */
async function startGroup(
  script: string,
): Promise<{ readonly id: number; readonly pids: readonly number[] }> {
  const shell = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => endByForce(-shell.pid!));
  const [line] = (await within(5_000, 'the first line', once(shell.stdout, 'data'))) as [Buffer];
  return { id: shell.pid!, pids: line.toString().trim().split(' ').map(Number) };
}

function endByForce(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

test('all processes of a group end when they are asked to', async () => {
  const { id, pids } = await startGroup('sleep 60 & sleep 60 & echo $$ $!; wait');
  expect(pids.map(isAlive)).toEqual([true, true]);
  await within(5_000, 'the group to end', endGroup(id));
  expect(pids.map(isAlive)).toEqual([false, false]);
});

test('a process that ignores the request is killed, even if the first of its group has long ended', async () => {
  const { id, pids } = await startGroup('trap "" TERM; sleep 60 >/dev/null & echo $!');
  await eventually('the shell to end', () => !isAlive(id), 5_000);
  expect(pids.map(isAlive)).toEqual([true]);
  await within(5_000, 'the group to end', endGroup(id));
  expect(pids.map(isAlive)).toEqual([false]);
});

test('dead processes that nobody takes notice of are not waited for', async () => {
  // The shell becomes a program that knows nothing of the child it has.
  const { pids } = await startGroup(`setsid sh -c 'echo $$' & exec sleep 60`);
  await eventually('the child to end', () => !isAlive(pids[0]!), 5_000);
  expect(() => process.kill(-pids[0]!, 0)).not.toThrow();
  // Two waits, where they were taken for running.
  await within(1.5 * GRACE_MS, 'no more than a look', endGroup(pids[0]!));
});

test('a group that is gone needs no end', async () => {
  const { id } = await startGroup('echo 0');
  await within(5_000, 'the group to end', endGroup(id));
  expect(await within(GRACE_MS, 'nothing', endGroup(id))).toBeUndefined();
});

test('groups end with this process, even if that is killed, and those that were let go of do not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-groups-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, 'program.ts');
  writeFileSync(
    program,
    `
    import { spawn } from 'node:child_process';
    import { endWithThisProcess } from ${JSON.stringify(join(import.meta.dirname, 'group.ts'))};
    const start = () => spawn('/bin/sleep', ['60'], { detached: true, stdio: 'ignore' }).pid;
    const [kept, free] = [start(), start()];
    endWithThisProcess(kept);
    endWithThisProcess(free)();
    console.log(kept + ' ' + free + ' started');
    setInterval(() => {}, 1_000);
  `,
  );
  const child = startNode([runTypeScript, program]);
  const [kept, free] = (await child.outputUntil('started')).split(' ').map(Number);
  onTestFinished(() => [kept!, free!].forEach(endByForce));
  await child.kill();
  await eventually('the kept one to end', () => !isAlive(kept!), 5_000);
  expect(isAlive(free!)).toBe(true);
});
