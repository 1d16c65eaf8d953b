import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { FileOperationsOptions } from '../../src/tools/files/file-operations.ts';
import { failure, openSandbox, type Run } from './file-sandbox.ts';

const ROUNDS = 300;

/** Writes and moves one file at once, many times; returns how often both succeeded and the written text is lost. */
async function lostWrites(root: string, run: Run): Promise<{ both: number; lost: number }> {
  let both = 0;
  let lost = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const [from, to] = [join(root, 'from.txt'), join(root, 'to.txt')];
    rmSync(to, { force: true });
    writeFileSync(from, 'old');
    const [written, moved] = await Promise.all([
      run({ operation: 'write', path: 'from.txt', content: 'new', overwrite: true }),
      pause((round % 20) / 10).then(() => run({ operation: 'move', path: 'from.txt', to: 'to.txt' })),
    ]);
    if ('error' in written || 'error' in moved) continue;
    both++;
    const left = [from, to].filter(existsSync).map((path) => readFileSync(path, 'utf8'));
    if (!left.includes('new')) lost++;
  }
  return { both, lost };
}

test('D2 a simultaneous write and move lose nothing that was written', async () => {
  const { root, run } = openSandbox();
  expect(await lostWrites(root, run)).toEqual({ both: ROUNDS, lost: 0 });
});

test('D2 control: a move in two steps loses what is written between them', () => {
  const root = scratch();
  const [from, to, temporary] = ['from.txt', 'to.txt', 'temporary'].map((name) => join(root, name));
  writeFileSync(from!, 'old');
  writeFileSync(temporary!, 'new');
  linkSync(from!, to!);
  renameSync(temporary!, from!);
  unlinkSync(from!);
  expect(readdirSync(root).map((name) => readFileSync(join(root, name), 'utf8'))).toEqual(['old']);
});

test('D2 many simultaneous changes, also in opposite directions, all finish', async () => {
  const { root, run } = openSandbox();
  mkdirSync(join(root, 'b'));
  writeFileSync(join(root, 'a/1.txt'), '1');
  writeFileSync(join(root, 'b/2.txt'), '2');
  await Promise.all(
    Array.from({ length: 40 }, (_, at) => [
      run({ operation: 'move', path: 'a/1.txt', to: 'b/1.txt' }),
      run({ operation: 'move', path: 'b/1.txt', to: 'a/1.txt' }),
      run({ operation: 'move', path: 'b/2.txt', to: 'a/2.txt' }),
      run({ operation: 'write', path: `${at % 2 ? 'a' : 'b'}/3.txt`, content: `${at}`, overwrite: true }),
      run({ operation: 'delete', path: 'a/3.txt' }),
    ]).flat(),
  );
  const left = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /[12]\.txt/.test(name),
  );
  expect(left).toHaveLength(2);
  expect(await run({ operation: 'write', path: 'a/4.txt', content: '' })).toMatchObject({ path: '4.txt' });
});

test.each([0o600, 0o640, 0o444, 0o755])('D2 a replaced file keeps its permissions, %o', async (mode) => {
  const { root, run } = openSandbox();
  const file = join(root, 'a.txt');
  writeFileSync(file, 'old');
  chmodSync(file, mode);
  expect(await run({ operation: 'write', path: 'a.txt', content: 'new', overwrite: true })).toMatchObject({
    replaced: true,
  });
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(statSync(file).mode & 0o7777).toBe(mode);
});

test('D2 control: writing a new file and renaming it widens the permissions', async () => {
  const root = scratch();
  writeFileSync(join(root, 'a.txt'), 'old', { mode: 0o600 });
  writeFileSync(join(root, 'temporary'), 'new');
  renameSync(join(root, 'temporary'), join(root, 'a.txt'));
  expect(statSync(join(root, 'a.txt')).mode & 0o777).not.toBe(0o600);
});

test('D2 setuid and setgid bits are not kept for new content, and a new file has the usual permissions', async () => {
  const { root, run } = openSandbox();
  writeFileSync(join(root, 'a.txt'), 'old');
  chmodSync(join(root, 'a.txt'), 0o4755);
  await run({ operation: 'write', path: 'a.txt', content: 'new', overwrite: true });
  expect(statSync(join(root, 'a.txt')).mode & 0o7777).toBe(0o755);
  await run({ operation: 'write', path: 'b.txt', content: 'new', overwrite: true });
  expect(statSync(join(root, 'b.txt')).mode & 0o7777).toBe(0o644 & ~process.umask());
});

test.skipIf(process.getuid?.() !== 0)('D2 a replaced file keeps its owner and group', async () => {
  const { root, run } = openSandbox();
  writeFileSync(join(root, 'a.txt'), 'old', { mode: 0o600 });
  chownSync(join(root, 'a.txt'), 1234, 4321);
  await run({ operation: 'write', path: 'a.txt', content: 'new', overwrite: true });
  expect(statSync(join(root, 'a.txt'))).toMatchObject({ uid: 1234, gid: 4321, mode: 0o100600 });
});

test.each<[FileOperationsOptions, string]>([
  [{ extensions: ['txt'], hidden: true }, 'app.key'],
  [{}, '.env'],
])('D2 with %j moving a folder does not move files that are not offered', async (options, name) => {
  const { root, run } = openSandbox(options);
  mkdirSync(join(root, 'conf'));
  expect(await run({ operation: 'move', path: 'conf', to: 'a/conf' })).toMatchObject({ type: 'directory' });
  writeFileSync(join(root, 'a/conf', name), 'secret');
  expect(await run({ operation: 'move', path: `a/conf/${name}`, to: name })).toHaveProperty('error');
  expect(await run({ operation: 'move', path: 'a/conf', to: 'conf' })).toEqual(
    failure('Directory not empty'),
  );
  expect(existsSync(join(root, 'a/conf', name))).toBe(true);
  expect(existsSync(join(root, 'conf'))).toBe(false);
});

test('D2 where every file is offered, a folder is moved with its contents', async () => {
  const { root, run } = openSandbox({ hidden: true });
  writeFileSync(join(root, 'a/.env'), 'mine');
  expect(await run({ operation: 'move', path: 'a', to: 'b' })).toMatchObject({ type: 'directory' });
  expect(readFileSync(join(root, 'b/.env'), 'utf8')).toBe('mine');
});

function scratch(): string {
  const root = mkdtempSync(join(tmpdir(), 'toolcrib-changes-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}
