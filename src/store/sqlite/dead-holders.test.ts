import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readJournal } from '../journal/reader.ts';
import { runTypeScript, startNode, type Child } from '../../../test/behaviour/child.ts';
import { createStoreFolder, type StoreFolder } from '../../../test/store-folder.ts';

const script = join(import.meta.dirname, '../../../test/store-child.ts');
const failed = {
  status: 'failed',
  error: { code: -32603, message: 'The server ended while the task ran; its outcome is unknown.' },
};

async function startHolder({ file, signingKey }: StoreFolder): Promise<Child> {
  const child = startNode([runTypeScript, script, file, signingKey]);
  await child.outputUntil('working as');
  return child;
}

/** Starts a holder whose parent never takes note of its end; the answer is its number. */
async function startNeglected({ file, signingKey }: StoreFolder): Promise<number> {
  const args = [runTypeScript, script, file, signingKey];
  const shell = ['-c', '"$0" "$@" & exec sleep 60', process.execPath, ...args];
  const parent = spawn('sh', shell, { detached: true });
  onTestFinished(async () => {
    const ended = once(parent, 'exit');
    // The whole group, so that nothing is left however the test went.
    process.kill(-parent.pid!, 'SIGKILL');
    await ended;
  });
  let output = '';
  for await (const chunk of parent.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += chunk;
    const pid = /working as (\d+)\./.exec(output)?.[1];
    if (pid !== undefined) return Number(pid);
  }
  throw new Error('It did not start.');
}

function outcomesIn({ inside }: StoreFolder): unknown[] {
  return inside((db) =>
    Array.from(
      readJournal(db, { chain: 'acme', limit: 100, order: 'oldest' }),
      ({ facts }) => facts['outcome'],
    ),
  );
}

test('tasks and calls of a running process are left alone, at a start and at a check', async () => {
  const folder = createStoreFolder();
  await startHolder(folder);
  const { memory } = await folder.open();
  for (let look = 0; look < 3; look++)
    expect(await memory.tasks.get('theirs')).toMatchObject({ status: 'working' });
  expect(outcomesIn(folder)).toEqual([undefined]);
});

test('a task whose process was killed is failed after the next start', async () => {
  const folder = createStoreFolder();
  await (await startHolder(folder)).kill();
  const { memory } = await folder.open();
  expect(await memory.tasks.get('theirs')).toMatchObject(failed);
  expect(outcomesIn(folder)).toEqual([undefined, 'unknown']);
});

test('a task whose process is killed is failed for other processes of the database, without a restart', async () => {
  const folder = createStoreFolder();
  const child = await startHolder(folder);
  const { memory } = await folder.open();
  expect(await memory.tasks.get('theirs')).toMatchObject({ status: 'working' });
  await child.kill();
  const found = await memory.tasks.get('theirs');
  expect(found).toMatchObject(failed);
  // It has ended once and for all, not anew with every look.
  expect(await memory.tasks.get('theirs')).toEqual(found);
});

test.runIf(process.platform === 'linux')('a killed process counts as dead even as a zombie', async () => {
  const folder = createStoreFolder();
  const pid = await startNeglected(folder);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ');
  // Its number is still taken, so that to ask for it is not enough.
  expect(() => process.kill(pid, 0)).not.toThrow();
  const { memory } = await folder.open();
  expect(await memory.tasks.get('theirs')).toMatchObject(failed);
  expect(outcomesIn(folder)).toEqual([undefined, 'unknown']);
});
