import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, type TestContext } from 'vitest';
import { failure, openSandbox, type Run } from './file-sandbox.ts';

const tooMuch = 'x'.repeat(2_000_000);

/** The tool over a disk of one megabyte. */
function onSmallDisk(context: TestContext): { readonly disk: string; readonly run: Run } {
  const { root, run } = openSandbox({ maxBytes: 4_000_000 });
  const disk = join(root, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], {
      stdio: 'pipe',
      timeout: 30_000,
    });
  } catch {
    context.skip('a small disk cannot be mounted here: it takes root and the mount command');
  }
  onTestFinished(() => void execFileSync('umount', [disk], { timeout: 30_000 }));
  return { disk, run };
}

test('D2 a full disk is reported, and no partial file is left', async (context) => {
  const { disk, run } = onSmallDisk(context);
  writeFileSync(join(disk, 'old.txt'), 'old');
  const write = (path: string, content: string) =>
    run({ operation: 'write', path: `disk/${path}`, content, overwrite: true });
  expect(await write('new.txt', tooMuch)).toMatchObject({ error: 'Disk full' });
  expect(await write('old.txt', tooMuch)).toMatchObject({ error: 'Disk full' });
  expect(readdirSync(disk)).toEqual(['old.txt']);
  expect(readFileSync(join(disk, 'old.txt'), 'utf8')).toBe('old');
  // The room that was taken is free again.
  expect(await write('new.txt', 'x'.repeat(900_000))).toMatchObject({ size: 900_000 });
});

test('D2 control: a tool that writes into the file itself leaves half of it', (context) => {
  const { disk } = onSmallDisk(context);
  expect(() => writeFileSync(join(disk, 'new.txt'), tooMuch)).toThrow(/ENOSPC/);
  expect(statSync(join(disk, 'new.txt')).size).toBeGreaterThan(0);
});

test('D2 a file is not moved to another disk in two steps', async (context) => {
  const { disk, run } = onSmallDisk(context);
  expect(await run({ operation: 'move', path: 'inside.txt', to: 'disk/inside.txt' })).toEqual(
    failure('Unable to move path'),
  );
  expect(await run({ operation: 'move', path: 'a', to: 'disk/a' })).toEqual(failure('Unable to move path'));
  expect(readdirSync(disk)).toEqual([]);
});
