import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ToolRegistry } from '../../core/registry.ts';
import { fileOperationsTool, type FileOperationsOptions } from './file-operations.ts';

/** The tool over a folder with a few files and a link. */
function openDesk(options: FileOperationsOptions) {
  const root = mkdtempSync(join(tmpdir(), 'toolcrib-refusals-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const name of ['d', 'empty']) mkdirSync(join(root, name));
  for (const name of ['a.txt', 'c.exe', 'd/b.txt']) writeFileSync(join(root, name), '');
  symlinkSync('a.txt', join(root, 'link'));
  const registry = new ToolRegistry().registerTool(fileOperationsTool({ root, ...options }));
  const run = (args: Record<string, unknown>) => registry.execute('file_operations', args);
  return { root, run };
}

const elsewhere =
  /^Use a path below the offered folder, without "\.\.", links, names that begin with a dot or /;
const listing = /list shows what there is\.$/;

test.each([
  [{ operation: 'read', path: '../a' }, 'Invalid path', elsewhere],
  [{ operation: 'delete', path: '.' }, 'Invalid path', elsewhere],
  [{ operation: 'read', path: 'link' }, 'Invalid path', /list with the path "\." shows/],
  [{ operation: 'move', path: 'empty', to: 'empty/x' }, 'Invalid path', /cannot be moved into itself/],
  [{ operation: 'move', path: 'd', to: 'x' }, 'Directory not empty', /Move the files one by one/],
  [{ operation: 'read', path: 'c.exe' }, 'File type not allowed', /can be used: txt, md\.$/],
  [{ operation: 'read', path: 'none.txt' }, 'File not found', listing],
  [{ operation: 'list', path: 'none' }, 'Directory not found', /list with the path "\." shows/],
  [{ operation: 'write', path: 'none/a.txt', content: '' }, 'Directory not found', /with mkdir first/],
  [{ operation: 'info', path: 'none' }, 'Path not found', listing],
  [{ operation: 'move', path: 'none', to: 'x' }, 'Path not found', /the directory of to/],
])(
  'the refusal of %j says what to do, and reveals nothing about the machine (001-63, 001-65, 001-66, 001-67)',
  async (args, error, words) => {
    const { root, run } = openDesk({ write: true, extensions: ['txt', 'md'] });
    const answer = await run(args);
    expect(answer).toEqual({ error, message: expect.stringMatching(words) as string });
    expect(JSON.stringify(answer)).not.toContain(root);
  },
);

test('where hidden files are allowed, the refusal does not mention them (001-63)', async () => {
  const { run } = openDesk({ hidden: true });
  expect(await run({ operation: 'read', path: '../a' })).toMatchObject({
    error: 'Invalid path',
    message: expect.not.stringContaining('begin with a dot') as string,
  });
});
