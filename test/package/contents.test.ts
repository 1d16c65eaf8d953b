import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ownSource } from '../../src/cli/init/own-source.ts';

const root = join(import.meta.dirname, '../..');

test('the built command is executable', () => {
  expect(statSync(join(root, 'dist/cli/main.js')).mode & 0o111).toBe(0o111);
});

test('no package that the tests or the server need runs an install script', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const entries = Object.entries<{ hasInstallScript?: boolean }>(packages);
  expect(entries.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
});

test('a project that is made from a source folder depends on that folder', () => {
  expect(ownSource('/home/ada/toolcrib')).toBe('file:/home/ada/toolcrib');
});

test.each([
  [
    'a tarball',
    'file:../toolcrib-0.1.0.tgz',
    (folder: string) => `file:${join(folder, '../toolcrib-0.1.0.tgz')}`,
  ],
  ['git', 'git+ssh://git@host/toolcrib.git#abc', () => 'git+ssh://git@host/toolcrib.git#abc'],
  ['the registry', 'https://registry.example/toolcrib-0.1.0.tgz', () => undefined],
  ['the registry, which the lock leaves out', undefined, () => undefined],
])(
  'a project that is made by a copy installed from %s depends on the same source',
  (_, resolved, expected) => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-source-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'node_modules/toolcrib'), { recursive: true });
    const lock = { packages: { 'node_modules/toolcrib': { resolved } } };
    writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify(lock));
    expect(ownSource(join(folder, 'node_modules/toolcrib'))).toBe(expected(folder));
  },
);
