import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withFileLock } from './file-lock.ts';

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-lock-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('work under one lock is done one after the other, and leaves no file', async () => {
  const folder = await makeFolder();
  let atOnce = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++atOnce);
    await readdir(folder);
    atOnce--;
  };
  await Promise.all(Array.from({ length: 8 }, () => withFileLock(join(folder, 'one.lock'), work)));
  expect(most).toBe(1);
  expect(await readdir(folder)).toEqual([]);
});

test('work that fails gives the lock back', async () => {
  const file = join(await makeFolder(), 'one.lock');
  await expect(withFileLock(file, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await withFileLock(file, () => Promise.resolve('done'), { waitMs: 0 })).toBe('done');
});

test('whoever waited long enough goes on without the lock, and leaves it to its holder', async () => {
  const file = join(await makeFolder(), 'one.lock');
  await writeFile(file, 'somebody');
  expect(await withFileLock(file, () => Promise.resolve('done'), { waitMs: 50 })).toBe('done');
  expect(await readFile(file, 'utf8')).toBe('somebody');
});

test('an old lock is taken over, and its holder does not remove the new one', async () => {
  const file = join(await makeFolder(), 'one.lock');
  let finish = (): void => {};
  const slow = withFileLock(file, () => new Promise<void>((resolve) => (finish = resolve)));
  await expect.poll(() => readFile(file, 'utf8').catch(() => '')).not.toBe('');
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(file, longAgo, longAgo);
  await withFileLock(file, async () => {
    const held = await readFile(file, 'utf8');
    finish();
    await slow;
    expect(await readFile(file, 'utf8')).toBe(held);
  });
});

test('closing ends the wait for a lock', async () => {
  const file = join(await makeFolder(), 'one.lock');
  await writeFile(file, 'somebody');
  const closing = new AbortController();
  const waiting = withFileLock(file, () => Promise.resolve('done'), { signal: closing.signal });
  closing.abort();
  await expect(waiting).rejects.toThrow('closed');
});
