import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ToolRegistry } from '../../index.ts';
import { FileOperationsTool, fileOperationsTool, type FileOperationsOptions } from '../../tools.ts';

function open(options: Partial<FileOperationsOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-find-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, 'root');
  mkdirSync(join(root, 'reports/2026'), { recursive: true });
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(folder, 'outside/secret.md'), 'canary');
  writeFileSync(join(root, 'reports/May.md'), 'may');
  writeFileSync(join(root, 'reports/2026/june.md'), 'june');
  writeFileSync(join(root, 'reports/.hidden.md'), 'hidden');
  symlinkSync(join(folder, 'outside'), join(root, 'link'));
  symlinkSync(join(folder, 'outside/secret.md'), join(root, 'secret-link.md'));
  const registry = new ToolRegistry().registerTool(fileOperationsTool({ root, ...options }));
  const use = (args: Record<string, unknown>): Promise<Record<string, unknown>> =>
    registry.execute('file_operations', { path: '.', ...args }) as Promise<Record<string, unknown>>;
  const find = async (name: string, more: object = {}): Promise<string[]> => {
    const { items } = await use({ operation: 'search', name, ...more });
    return (items as { name: string }[]).map((item) => item.name).toSorted();
  };
  return { root, folder, use, find };
}

test('search finds files and folders below a folder by part of the name or a pattern', async () => {
  const { find, use } = open();
  expect(await find('*.md')).toEqual(['reports/2026/june.md', 'reports/May.md']);
  expect(await find('MAY')).toEqual(['reports/May.md']);
  expect(await find('20')).toEqual(['reports/2026']);
  expect(await find('june', { path: 'reports' })).toEqual(['2026/june.md']);
  expect(await use({ operation: 'search', name: 'nothing' })).toMatchObject({ items: [], count: 0 });
  expect(await use({ operation: 'search' })).toMatchObject({ error: 'Missing name' });
});

test('D2 search follows no link, shows no hidden name, and cannot begin outside of the root', async () => {
  const { find, use } = open();
  expect(await find('secret')).toEqual([]);
  expect(await find('hidden')).toEqual([]);
  for (const path of ['..', 'link', '../outside', '/etc'])
    expect(JSON.stringify(await use({ operation: 'search', name: '*', path }))).not.toContain('secret.md');
});

test('D3 search looks at a limited number of entries, and says so', async () => {
  const { root, find, use } = open();
  for (let index = 0; index < 30; index++) writeFileSync(join(root, `n${index}.txt`), '');
  const cut = await use({ operation: 'search', name: 'n', limit: 5 });
  expect([cut['count'], cut['truncated']]).toEqual([5, true]);
  let deep = root;
  for (let depth = 0; depth < 30; depth++) mkdirSync((deep = join(deep, 'd')));
  expect((await find('d')).every((name) => name.split('/').length <= 17)).toBe(true);
});

test('mkdir creates a folder only where writing is allowed', async () => {
  const { root, folder, use } = open({ write: true });
  expect(await use({ operation: 'mkdir', path: 'new' })).toEqual({ path: 'new', type: 'directory' });
  expect(statSync(join(root, 'new')).isDirectory()).toBe(true);
  expect(await use({ operation: 'mkdir', path: 'new' })).toMatchObject({ error: 'Already exists' });
  expect(await use({ operation: 'mkdir', path: 'a/b' })).toMatchObject({ error: 'Directory not found' });
  expect(await use({ operation: 'write', path: 'new/a.md', content: 'x' })).toMatchObject({ size: 1 });
  for (const path of ['../evil', 'link/evil', '.', 'secret-link.md', '.hidden', 'a\0b'])
    expect(await use({ operation: 'mkdir', path })).toHaveProperty('error');
  expect(() => statSync(join(folder, 'evil'))).toThrow('ENOENT');
  expect(() => statSync(join(folder, 'outside/evil'))).toThrow('ENOENT');
  await expect(open().use({ operation: 'mkdir', path: 'new' })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
});

test('the tool is also available as a class', () => {
  const { root } = open();
  expect(new FileOperationsTool({ root })).toBeInstanceOf(FileOperationsTool);
  expect(fileOperationsTool({ root })).toBeInstanceOf(FileOperationsTool);
});
