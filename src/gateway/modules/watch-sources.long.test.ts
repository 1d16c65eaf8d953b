import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { filePattern } from './files.ts';
import { watchSources } from './watch-sources.ts';

const PATIENCE = { timeout: 5_000 };

async function watched(pattern: string, folders: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-watch-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of folders) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'a.ts'), '1');
  const seen = new Set<string>();
  const unwatch = await watchSources([filePattern(pattern, folder)], folder, {
    onChange: (path) => seen.add(path),
    onFolder: (path) => seen.add(path),
    onError: (error) => expect.unreachable(String(error)),
  });
  onTestFinished(unwatch);
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  /** Does something, and waits until the file is named. */
  const expectNoted = async (name: string, change: () => void): Promise<void> => {
    seen.clear();
    change();
    await vi.waitFor(() => expect([...seen]).toContain(join(folder, name)), PATIENCE);
  };
  return { folder, seen, write, expectNoted };
}

test('a file beside the configuration that is changed, added, replaced or removed is noticed', async () => {
  const { folder, write, expectNoted } = await watched('./*.ts');
  await expectNoted('a.ts', () => write('a.ts', '2'));
  await expectNoted('b.ts', () => write('b.ts', '1'));
  await expectNoted('b.ts', () => write('b.ts', '2'));
  await expectNoted('a.ts', () => {
    write('a.ts.tmp', '3');
    renameSync(join(folder, 'a.ts.tmp'), join(folder, 'a.ts'));
  });
  await expectNoted('a.ts', () => write('a.ts', '4'));
  await expectNoted('b.ts', () => rmSync(join(folder, 'b.ts')));
  await expectNoted('b.ts', () => write('b.ts', '3'));
});

test('files in subfolders are noticed, too, except hidden ones and packages', async () => {
  const { folder, seen, write, expectNoted } = await watched('./**/*.ts', [
    'lib/deep',
    'node_modules/x',
    '.git',
  ]);
  await expectNoted('lib/deep/a.ts', () => write('lib/deep/a.ts', '1'));
  mkdirSync(join(folder, 'later'));
  await vi.waitFor(async () => {
    write('later/a.ts', String(Math.random()));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([...seen]).toContain(join(folder, 'later/a.ts'));
  }, PATIENCE);
  write('node_modules/x/a.ts', '1');
  write('.git/a.ts', '1');
  await expectNoted('a.ts', () => write('a.ts', '2'));
  expect([...seen].filter((path) => /node_modules|\.git/.test(path))).toEqual([]);
});

const replace = {
  'was away for a while': async (folder: string) => {
    renameSync(folder, `${folder}-away`);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    renameSync(`${folder}-away`, folder);
  },
  'was deleted and made again': async (folder: string) => {
    rmSync(folder, { recursive: true });
    await new Promise((resolve) => setTimeout(resolve, 300));
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.ts'), '1');
  },
  'was replaced at once': async (folder: string) => {
    mkdirSync(`${folder}-next`);
    writeFileSync(join(`${folder}-next`, 'a.ts'), '1');
    renameSync(folder, `${folder}-before`);
    renameSync(`${folder}-next`, folder);
  },
};

test.each(
  ['./tools/*.ts', './**/*.ts'].flatMap((pattern) =>
    Object.entries(replace).map(([what, change]) => ({ pattern, what, change })),
  ),
)('with $pattern, a folder that $what is watched as before', async ({ pattern, change }) => {
  const { folder, seen, write, expectNoted } = await watched(pattern, ['tools']);
  await expectNoted('tools/a.ts', () => write('tools/a.ts', '1'));
  const tools = join(folder, 'tools');
  await change(tools);
  await vi.waitFor(() => expect([...seen]).toContain(tools), PATIENCE);
  await vi.waitFor(() => expect([...seen]).toContain(join(tools, 'a.ts')), PATIENCE);
  // What was noted late of the change itself.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await expectNoted('tools/a.ts', () => write('tools/a.ts', '2'));
  await expectNoted('tools/b.ts', () => write('tools/b.ts', '1'));
  await expectNoted('tools/b.ts', () => rmSync(join(tools, 'b.ts')));
});

test('a missing folder is watched once it exists, with its contents', async () => {
  const { folder, seen, write, expectNoted } = await watched('./deep/tools/*.ts');
  mkdirSync(join(folder, 'next/tools'), { recursive: true });
  write('next/tools/a.ts', '1');
  renameSync(join(folder, 'next'), join(folder, 'deep'));
  await vi.waitFor(() => expect([...seen]).toContain(join(folder, 'deep/tools/a.ts')), PATIENCE);
  await expectNoted('deep/tools/b.ts', () => write('deep/tools/b.ts', '2'));
});

test('writes of the store beside the configuration do not cause the folder to be read', async () => {
  const { write, expectNoted } = await watched('./*.ts');
  const reads = countReads();
  for (let row = 0; row < 50; row++) {
    write('toolcrib.db-wal', String(row));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  // The changes of one folder come in order, so those of the store have come before this one.
  await expectNoted('a.ts', () => write('a.ts', '2'));
  expect(reads()).toBe(0);
});

test('control: the same writes in a folder of tools cause it to be read', async () => {
  const { write } = await watched('./tools/*.ts', ['tools']);
  const reads = countReads();
  await vi.waitFor(() => {
    write('tools/toolcrib.db-wal', String(Math.random()));
    expect(reads()).toBeGreaterThan(0);
  }, PATIENCE);
});

/** Counts how often any folder is read from now on, by whomever. */
function countReads(): () => number {
  const spy = vi.spyOn(fs, 'readdir');
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return () => spy.mock.calls.length;
}
