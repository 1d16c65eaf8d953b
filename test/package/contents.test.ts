import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ownSource } from '../../src/cli/init/own-source.ts';

const root = join(import.meta.dirname, '../..');

test('every link of a page in the package leads to a file in the package', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const [{ files }] = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }));
  const packed: readonly string[] = files.map(({ path }: { path: string }) => path);
  expect(packed).toContain('dist/cli/main.js');
  const pages = packed.filter((path) => path.endsWith('.md') && !path.startsWith('dist/'));
  expect(pages.length).toBeGreaterThan(30);
  const broken = pages.flatMap((page) =>
    // An example of a file has links of its own.
    [
      ...readFileSync(join(root, page), 'utf8')
        .replaceAll(/^```.*?^```/gms, '')
        .matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g),
    ]
      .map(([, target = '']) => join(page, '..', target).replace(/\/$/, ''))
      .filter((target) => !packed.some((path) => path === target || path.startsWith(`${target}/`)))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test('the built command can be executed', () => {
  expect(statSync(join(root, 'dist/cli/main.js')).mode & 0o111).toBe(0o111);
});

test('no package that the tests or the server need runs a script when it is installed', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const entries = Object.entries<{ hasInstallScript?: boolean }>(packages);
  expect(entries.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
});

test('a project made by a folder of sources has that folder as its dependency', () => {
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
])('a project made by a copy that was installed from %s gets it from there too', (_, resolved, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-source-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'node_modules/toolcrib'), { recursive: true });
  const lock = { packages: { 'node_modules/toolcrib': { resolved } } };
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify(lock));
  expect(ownSource(join(folder, 'node_modules/toolcrib'))).toBe(expected(folder));
});
