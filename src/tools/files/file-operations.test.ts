import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { localCaller } from '../../core/caller.ts';
import type { ToolContext } from '../../core/context.ts';
import { ToolRegistry } from '../../core/registry.ts';
import type { Result } from '../../core/result.ts';
import { createTestCall } from '../../testing.ts';
import { fileOperationsTool, type FileOperationsOptions } from './file-operations.ts';
import { requireDescriptors } from './jail-roots.ts';
import { outputSchema } from './schema.ts';

interface Desk {
  readonly root: string;
  readonly registry: ToolRegistry;
  run(args: Record<string, unknown>, context?: Partial<ToolContext>): Promise<Record<string, unknown>>;
}

/** The tool over a folder of its own, with the files of the test in it. */
function openDesk(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  options: FileOperationsOptions = {},
): Desk {
  const root = mkdtempSync(join(tmpdir(), 'toolcrib-files-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  const own = options.rootsByTenant ? options : { root, ...options };
  const registry = new ToolRegistry().registerTool(fileOperationsTool(own, { folder: root }));
  const run: Desk['run'] = async (args, context) =>
    (await registry.execute('file_operations', args, context)) as Record<string, unknown>;
  return { root, registry, run };
}

/** An answer that says no in these words, and what to do instead. */
function failure(error: string, message = /\w\.$/): Record<string, unknown> {
  return { error, message: expect.stringMatching(message) as string };
}

const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00, 0xfe]);

test('the tool is named file_operations, requires an operation and a path, and is read-only (001-62)', () => {
  const { registry } = openDesk();
  const [tool] = registry.getToolsList().tools;
  expect(tool?.name).toBe('file_operations');
  expect(tool?.inputSchema.required).toEqual(['operation', 'path']);
  expect(tool?.inputSchema.properties?.['operation']).toMatchObject({
    enum: ['read', 'list', 'info', 'search'],
  });
  expect(tool?.annotations).toEqual({
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  });
  expect(tool?.outputSchema).toMatchObject({ type: 'object', required: ['path'] });
});

test('every parameter has a description (001-62)', () => {
  for (const write of [false, true]) {
    const [tool] = openDesk({}, { write }).registry.getToolsList().tools;
    const properties = Object.values(tool?.inputSchema.properties ?? {}) as { description?: string }[];
    expect(properties.length).toBe(write ? 10 : 7);
    for (const { description } of properties) expect(description).toMatch(/\.$/);
  }
});

test('a missing operation or path is refused (001-62)', async () => {
  const { run } = openDesk();
  await expect(run({ path: '.' })).rejects.toMatchObject({ code: 'invalid_arguments' });
  await expect(run({ operation: 'list' })).rejects.toMatchObject({ code: 'invalid_arguments' });
  await expect(run({ operation: 'delete', path: 'a.txt' })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
});

test('slashes at the end of the root and at the beginning of the path are ignored (001-63)', async () => {
  const { root } = openDesk({ 'a.txt': 'hello' });
  const registry = new ToolRegistry().registerTool(fileOperationsTool({ root: `${root}///` }));
  for (const path of ['a.txt', '/a.txt', '///a.txt', './a.txt'])
    expect(await registry.execute('file_operations', { operation: 'read', path })).toMatchObject({
      content: 'hello',
    });
});

test.each(['../a.txt', '/../a.txt', 'x/../../a.txt', '..', 'a\0.txt'])(
  'a path that leaves the root is invalid: %j (001-63)',
  async (path) => {
    const { run } = openDesk({ 'x/a.txt': '' });
    for (const operation of ['read', 'list', 'info'])
      expect(await run({ operation, path })).toEqual(failure('Invalid path'));
  },
);

test('an unknown operation that passes the schema is refused (001-64)', async () => {
  const { root } = openDesk();
  const tool = fileOperationsTool({ root });
  const context = { tenant: localCaller.tenant, signal: new AbortController().signal } as ToolContext;
  for (const operation of ['erase', 'write', 'constructor'])
    expect(await tool.handler({ operation, path: '.', limit: 1 }, context)).toEqual(
      failure('Unknown operation', /^Use one of these: read, list, info, search\.$/),
    );
});

test('read returns the base name, the size, the content and the type of a file (001-65)', async () => {
  const { run } = openDesk({ 'notes/today.md': '# Grüße' });
  expect(await run({ operation: 'read', path: 'notes/today.md' })).toEqual({
    path: 'today.md',
    size: 9,
    content: '# Grüße',
    mime_type: 'text/markdown',
  });
});

test('a path that is not a file is reported as not found (001-65)', async () => {
  const { run } = openDesk({ 'notes/today.md': '' });
  for (const path of ['none.md', 'notes', '.', 'notes/today.md/deeper', 'none/today.md'])
    expect(await run({ operation: 'read', path })).toEqual(failure('File not found'));
});

test('only files with listed extensions can be read, in upper or lower case (001-65)', async () => {
  const files = { 'a.txt': 'a', 'B.TXT': 'b', 'c.exe': 'c', 'd.txt.exe': 'd', txt: 'e' };
  const { run } = openDesk(files, { extensions: ['TXT'] });
  expect(await run({ operation: 'read', path: 'a.txt' })).toMatchObject({ content: 'a' });
  expect(await run({ operation: 'read', path: 'B.TXT' })).toMatchObject({ content: 'b' });
  for (const path of ['c.exe', 'd.txt.exe', 'txt'])
    expect(await run({ operation: 'read', path })).toEqual(failure('File type not allowed'));
});

test('a file that cannot be read is an error without a reason or a path (001-65)', async () => {
  // The memory of a process is a file whose first page is nobody's to read.
  const { run } = openDesk({}, { root: '/proc/self' });
  expect(await run({ operation: 'read', path: 'mem' })).toEqual(
    failure('Unable to read file', /Try another path, or tell the operator/),
  );
});

test('a file over the limit is refused with the limit, and can be read in parts (001-65)', async () => {
  const text = 'äöü€😀 '.repeat(100);
  const { run } = openDesk({ 'long.txt': text }, { maxBytes: 50 });
  expect(await run({ operation: 'read', path: 'long.txt' })).toEqual({
    error: 'File too large',
    message: expect.stringMatching(/has 1400 bytes.* at most 50\b/) as string,
  });
  let read = '';
  for (let offset: number | null = 0; offset !== null;) {
    const part = await run({ operation: 'read', path: 'long.txt', offset });
    expect(part).toMatchObject({ size: Buffer.byteLength(text), offset });
    read += part['content'] as string;
    offset = part['next_offset'] as number | null;
  }
  expect(read).toBe(text);
});

test('parts of any length put together give the file (001-65)', async () => {
  const { root, run } = openDesk({});
  const text = fc.string({ unit: 'binary', maxLength: 10 });
  const property = fc.asyncProperty(text, fc.integer({ min: 4, max: 20 }), async (content, length) => {
    writeFileSync(join(root, 'a.txt'), content);
    let read = '';
    let offset: number | null = 0;
    while (offset !== null) {
      const part: Record<string, unknown> = await run({ operation: 'read', path: 'a.txt', offset, length });
      read += part['content'] as string;
      offset = part['next_offset'] as number | null;
    }
    expect(read).toBe(content);
  });
  await fc.assert(property, { numRuns: propertyRuns(1_000, 30) });
});

test('a part that begins inside a character begins with the next one; a part beyond the end is empty (001-65)', async () => {
  const { run } = openDesk({ 'a.txt': '€uro' });
  expect(await run({ operation: 'read', path: 'a.txt', offset: 1 })).toMatchObject({
    content: 'uro',
    offset: 3,
    next_offset: null,
  });
  expect(await run({ operation: 'read', path: 'a.txt', offset: Number.MAX_SAFE_INTEGER })).toMatchObject({
    content: '',
    next_offset: null,
  });
});

async function resultOf({ registry }: Desk, args: Record<string, unknown>): Promise<Result> {
  return registry.call(createTestCall(registry.find('file_operations')!, { arguments: args }));
}

test('binary data comes as an embedded resource (001-65)', async () => {
  const desk = openDesk({ 'img/a b.png': png, 'odd.txt': png });
  expect(await resultOf(desk, { operation: 'read', path: 'img/a b.png' })).toEqual({
    kind: 'done',
    data: { path: 'a b.png', size: 7, mime_type: 'image/png' },
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'files:///img/a%20b.png',
          mimeType: 'image/png',
          blob: Buffer.from(png).toString('base64'),
        },
      },
    ],
  });
  expect(await resultOf(desk, { operation: 'read', path: 'odd.txt' })).toMatchObject({
    data: { mime_type: 'application/octet-stream' },
  });
});

test('refusals are failed results, and all other results match the output schema (001-65, 001-66, 001-67)', async () => {
  const desk = openDesk({ 'a.txt': 'a', 'b.bin': png, 'd/b.txt': '' }, { write: true });
  expect(await resultOf(desk, { operation: 'read', path: 'none' })).toEqual({
    kind: 'failed',
    data: failure('File not found'),
  });
  for (const args of [
    { operation: 'read', path: 'a.txt' },
    { operation: 'read', path: 'a.txt', offset: 0 },
    { operation: 'read', path: 'b.bin', offset: 0 },
    { operation: 'list', path: '.', limit: 1 },
    { operation: 'info', path: 'd' },
    { operation: 'write', path: 'c.txt', content: 'c' },
    { operation: 'move', path: 'c.txt', to: 'd/c.txt' },
    { operation: 'delete', path: 'd/c.txt' },
  ]) {
    const result = await resultOf(desk, { limit: 1_000, ...args });
    expect(result.kind).toBe('done');
    expect(() => outputSchema.parse('data' in result && result.data)).not.toThrow();
  }
});

test('list returns the name, type, size and time of the entries of a folder (001-66)', async () => {
  const { root, run } = openDesk({ 'docs/b.txt': '12345', 'docs/a/x.txt': '', 'docs/.secret': 's' });
  const noon = new Date('2026-01-15T12:00:00.000Z');
  for (const name of ['docs/b.txt', 'docs/a']) utimesSync(join(root, name), noon, noon);
  expect(await run({ operation: 'list', path: 'docs' })).toEqual({
    path: 'docs',
    items: [
      { name: 'a', type: 'directory', size: null, modified: noon.toISOString() },
      { name: 'b.txt', type: 'file', size: 5, modified: noon.toISOString() },
    ],
    count: 2,
  });
});

test('the root can be listed under several names, and its real path is not shown (001-66)', async () => {
  const { root, run } = openDesk({ 'a.txt': '' });
  for (const path of ['', '.', '/', './']) {
    const answer = await run({ operation: 'list', path });
    expect(answer).toMatchObject({ path: '.', count: 1 });
    expect(JSON.stringify(answer)).not.toContain(root);
  }
});

test('a path that is not a folder is reported as not found (001-66)', async () => {
  const { run } = openDesk({ 'a.txt': '' });
  for (const path of ['none', 'a.txt', 'a.txt/b'])
    expect(await run({ operation: 'list', path })).toEqual(failure('Directory not found'));
});

test('a large folder comes in pages of at most 1,000, in the order of names (001-66)', async () => {
  const { root, run } = openDesk();
  const names = Array.from({ length: 2_345 }, (_, index) => `${(index * 7919) % 2_345}.txt`);
  for (const name of names) writeFileSync(join(root, name), '');
  const seen: string[] = [];
  const counts: unknown[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await run({ operation: 'list', path: '.', ...(cursor !== undefined && { cursor }) });
    seen.push(...(page['items'] as { name: string }[]).map(({ name }) => name));
    counts.push(page['count']);
    cursor = page['next_cursor'] as string | undefined;
    if (cursor === undefined) break;
    // Entries that come and go elsewhere move nothing on the pages to come.
    rmSync(join(root, '0.txt'), { force: true });
  }
  expect(counts).toEqual([1_000, 1_000, 345]);
  expect(seen).toEqual(names.toSorted());
  await expect(run({ operation: 'list', path: '.', limit: 1_001 })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
});

test('small pages of a large folder are in order (001-66)', async () => {
  const { root, run } = openDesk();
  for (let index = 0; index < 1_500; index++) writeFileSync(join(root, `${1_999 - index}`), '');
  expect(await run({ operation: 'list', path: '.', limit: 2, cursor: '1000' })).toMatchObject({
    items: [{ name: '1001' }, { name: '1002' }],
    next_cursor: '1002',
  });
});

test('hidden files are neither listed nor opened, unless the option allows them', async () => {
  const files = { '.env': 'SECRET', '.git/config': 'c', 'a.txt': '' };
  const closed = openDesk(files, { write: true });
  for (const path of ['.env', '.git/config'])
    for (const operation of ['read', 'info', 'write', 'delete'])
      expect(await closed.run({ operation, path, content: '' })).toEqual(failure('Invalid path'));
  const open = openDesk(files, { hidden: true, write: true });
  expect(await open.run({ operation: 'list', path: '' })).toMatchObject({
    items: [{ name: '.env' }, { name: '.git' }, { name: 'a.txt' }],
  });
  expect(await open.run({ operation: 'read', path: '.env' })).toMatchObject({ content: 'SECRET' });
  // A file that is being written is not visible yet.
  writeFileSync(join(open.root, '.toolcrib-1'), '');
  expect(await open.run({ operation: 'read', path: '.toolcrib-1' })).toEqual(failure('Invalid path'));
  expect(await open.run({ operation: 'list', path: '' })).toMatchObject({ count: 3 });
});

test('info returns type, size, permissions, owner, group and times (001-67)', async () => {
  const { root, run } = openDesk({ 'a.txt': '12345' });
  chmodSync(join(root, 'a.txt'), 0o640);
  const { birthtime, mtime, atime } = statSync(join(root, 'a.txt'));
  const answer = await run({ operation: 'info', path: 'a.txt' });
  expect(answer).toEqual({
    path: 'a.txt',
    type: 'file',
    size: 5,
    permissions: '0640',
    owner: expect.anything() as unknown,
    group: expect.anything() as unknown,
    created: birthtime.toISOString(),
    modified: mtime.toISOString(),
    accessed: atime.toISOString(),
  });
  chmodSync(root, 0o1777);
  expect(await run({ operation: 'info', path: '.' })).toMatchObject({
    path: '.',
    type: 'directory',
    permissions: '1777',
  });
});

test.skipIf(process.getuid?.() !== 0)(
  'owner and group are names, or numbers where there is no name (001-67)',
  async () => {
    const { chownSync } = await import('node:fs');
    const { root, run } = openDesk({ 'a.txt': '', 'b.txt': '' });
    chownSync(join(root, 'b.txt'), 54_321, 54_322);
    expect(await run({ operation: 'info', path: 'a.txt' })).toMatchObject({ owner: 'root', group: 'root' });
    expect(await run({ operation: 'info', path: 'b.txt' })).toMatchObject({ owner: 54_321, group: 54_322 });
  },
);

test('owner and group can be left out (001-67)', async () => {
  const { run } = openDesk({ 'a.txt': '' }, { showOwner: false });
  const answer = await run({ operation: 'info', path: 'a.txt' });
  expect(answer).not.toHaveProperty('owner');
  expect(answer).not.toHaveProperty('group');
});

test('a missing path is reported as not found (001-67)', async () => {
  const { run } = openDesk({ 'a.txt': '' });
  for (const path of ['none', 'none/a.txt', 'a.txt/b'])
    expect(await run({ operation: 'info', path })).toEqual(failure('Path not found'));
});

test('the tool is registered with the extensions txt, json, csv and md (001-68)', async () => {
  const files = { 'a.txt': '1', 'b.json': '2', 'c.csv': '3', 'd.md': '4', 'e.php': '5' };
  const { run } = openDesk(files, { extensions: ['txt', 'json', 'csv', 'md'] });
  const types: unknown[] = [];
  for (const path of Object.keys(files)) types.push((await run({ operation: 'read', path }))['mime_type']);
  expect(types).toEqual(['text/plain', 'application/json', 'text/csv', 'text/markdown', undefined]);
  expect(await run({ operation: 'read', path: 'e.php' })).toEqual(failure('File type not allowed'));
});

test('the docs show these extensions (001-68)', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/tools/file-operations.md'), 'utf8');
  expect(page).toContain('extensions: [txt, json, csv, md]');
});

test('with write the tool is marked as destructive, and has more operations', () => {
  const [tool] = openDesk({}, { write: true }).registry.getToolsList().tools;
  expect(tool?.annotations).toEqual({
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false,
  });
  expect(tool?.inputSchema.properties?.['operation']).toMatchObject({
    enum: ['read', 'list', 'info', 'search', 'write', 'mkdir', 'move', 'delete'],
  });
});

test('a file is written completely, and replaced only with an option', async () => {
  const { root, run } = openDesk({ 'd/a.txt': 'old' }, { write: true });
  const write = (path: string, content: string, overwrite = false) =>
    run({ operation: 'write', path, content, overwrite });
  expect(await write('d/new.txt', 'Grüße')).toEqual({ path: 'new.txt', size: 7, replaced: false });
  expect(await write('d/a.txt', 'new')).toMatchObject({ error: 'Already exists' });
  expect(readFileSync(join(root, 'd/a.txt'), 'utf8')).toBe('old');
  expect(await write('d/a.txt', 'new', true)).toEqual({ path: 'a.txt', size: 3, replaced: true });
  expect(await write('d', 'new', true)).toMatchObject({ error: 'Already exists' });
  expect(await write('none/a.txt', '')).toEqual(failure('Directory not found'));
  expect(await write('/', '')).toEqual(failure('Invalid path'));
  expect(await run({ operation: 'write', path: 'x.txt' })).toMatchObject({ error: 'Missing content' });
  expect(readFileSync(join(root, 'd/a.txt'), 'utf8')).toBe('new');
  expect(readFileSync(join(root, 'd/new.txt'), 'utf8')).toBe('Grüße');
  expect(readdirSync(join(root, 'd')).toSorted()).toEqual(['a.txt', 'new.txt']);
});

test('of many simultaneous writes of a new file one succeeds, and the others learn that it exists', async () => {
  const { root, run } = openDesk({}, { write: true });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => run({ operation: 'write', path: 'a.txt', content: `${index}` })),
  );
  const written = answers.flatMap((answer, index) => ('error' in answer ? [] : [`${index}`]));
  expect(written).toEqual([readFileSync(join(root, 'a.txt'), 'utf8')]);
  expect(readdirSync(root)).toEqual(['a.txt']);
});

test('the limits on size and type apply to writing too', async () => {
  const { root, run } = openDesk(
    { 'a.txt': '', 'b.exe': '' },
    { write: true, maxBytes: 4, extensions: ['txt'] },
  );
  expect(await run({ operation: 'write', path: 'c.txt', content: '€€' })).toMatchObject({
    error: 'File too large',
    message: expect.stringContaining('at most 4') as string,
  });
  const notAllowed = failure('File type not allowed');
  expect(await run({ operation: 'write', path: 'c.exe', content: '' })).toEqual(notAllowed);
  expect(await run({ operation: 'move', path: 'a.txt', to: 'a.exe' })).toEqual(notAllowed);
  expect(await run({ operation: 'move', path: 'b.exe', to: 'b.txt' })).toEqual(notAllowed);
  expect(await run({ operation: 'delete', path: 'b.exe' })).toEqual(notAllowed);
  expect(readdirSync(root).toSorted()).toEqual(['a.txt', 'b.exe']);
});

test('files and folders can be moved, and nothing is replaced without an option', async () => {
  const files = { 'a.txt': 'a', 'b.txt': 'b', 'd/c.txt': 'c', 'e/f.txt': 'f' };
  const { root, run } = openDesk(files, { write: true, hidden: true });
  const move = (path: string, to: string | undefined, overwrite = false) =>
    run({ operation: 'move', path, overwrite, ...(to !== undefined && { to }) });
  expect(await move('a.txt', 'd/a.txt')).toEqual({ path: 'a.txt', type: 'file' });
  expect(await move('b.txt', 'd/a.txt')).toMatchObject({ error: 'Already exists' });
  expect(await move('b.txt', 'd/a.txt', true)).toEqual({ path: 'a.txt', type: 'file' });
  expect(await move('d', 'e', true)).toMatchObject({ error: 'Already exists' });
  expect(await move('d', 'd/d')).toEqual(failure('Invalid path'));
  expect(await move('d', 'e/d')).toEqual({ path: 'd', type: 'directory' });
  expect(await move('none', 'x')).toEqual(failure('Path not found'));
  expect(await move('e', 'none/e')).toEqual(failure('Path not found'));
  expect(await move('e', '../e')).toEqual(failure('Invalid path'));
  expect(await move('.', 'x')).toEqual(failure('Invalid path'));
  expect(await move('e', undefined)).toMatchObject({ error: 'Missing to' });
  expect(readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual([
    'e',
    'e/d',
    'e/d/a.txt',
    'e/d/c.txt',
    'e/f.txt',
  ]);
  expect(readFileSync(join(root, 'e/d/a.txt'), 'utf8')).toBe('b');
});

test('of many simultaneous moves to one place one succeeds, and the others leave their files in place', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `${index}.txt`);
  const { root, run } = openDesk(Object.fromEntries(names.map((name) => [name, name])), { write: true });
  const answers = await Promise.all(names.map((path) => run({ operation: 'move', path, to: 'target.txt' })));
  const moved = names.filter((_, index) => !('error' in answers[index]!));
  expect(moved).toEqual([readFileSync(join(root, 'target.txt'), 'utf8')]);
  expect(readdirSync(root)).toHaveLength(20);
});

test('files and empty folders can be deleted', async () => {
  const { root, run } = openDesk({ 'd/a.txt': '' }, { write: true });
  const remove = (path: string) => run({ operation: 'delete', path });
  expect(await remove('d')).toMatchObject({ error: 'Directory not empty' });
  expect(await remove('d/a.txt')).toEqual({ path: 'a.txt', type: 'file', deleted: true });
  expect(await remove('d')).toEqual({ path: 'd', type: 'directory', deleted: true });
  expect(await remove('d')).toEqual(failure('Path not found'));
  expect(await remove('.')).toEqual(failure('Invalid path'));
  expect(readdirSync(root)).toEqual([]);
});

test('a file with several hard links can be read, but not replaced, moved or deleted', async () => {
  const { root, run } = openDesk({ 'a.txt': 'a', 'c.txt': 'c' }, { write: true });
  linkSync(join(root, 'a.txt'), join(root, 'b.txt'));
  const linked = { error: 'File has other names' };
  expect(await run({ operation: 'read', path: 'b.txt' })).toMatchObject({ content: 'a' });
  expect(await run({ operation: 'write', path: 'b.txt', content: '', overwrite: true })).toMatchObject(
    linked,
  );
  expect(await run({ operation: 'move', path: 'b.txt', to: 'x.txt' })).toMatchObject(linked);
  expect(await run({ operation: 'move', path: 'c.txt', to: 'b.txt', overwrite: true })).toMatchObject(linked);
  expect(await run({ operation: 'delete', path: 'b.txt' })).toMatchObject(linked);
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('a');
});

function as(tenant: string): Partial<ToolContext> {
  return { caller: { ...localCaller, tenant: { id: tenant, name: tenant, data: {} } } };
}

test('each tenant has the folder of its name', async () => {
  const files = { 'north/in/a.txt': 'north', 'south/in/a.txt': 'south', 'a.txt': 'above' };
  const { run } = openDesk(files, { root: './{tenant}/in' });
  const read = (tenant: string, path: string) => run({ operation: 'read', path }, as(tenant));
  expect(await read('north', 'a.txt')).toMatchObject({ content: 'north' });
  expect(await read('south', 'a.txt')).toMatchObject({ content: 'south' });
  for (const operation of ['list', 'info'])
    expect(await run({ operation, path: '/' }, as('north'))).toMatchObject({ path: '.' });
  expect(await read('west', 'a.txt')).toEqual(failure('File not found'));
  expect(await read('north', '../../south/in/a.txt')).toEqual(failure('Invalid path'));
});

test.each([
  '..',
  '.',
  '',
  'a/b',
  '../north',
  'north/in/..',
  'a\\b',
  'a\0',
  '.north',
  'nörth',
  'con',
  'north.',
])('a tenant whose id is not a plain name is refused: %j', async (tenant) => {
  const { run } = openDesk({ 'north/in/a.txt': 'north' }, { root: './{tenant}/in' });
  await expect(run({ operation: 'list', path: '' }, as(tenant))).rejects.toMatchObject({ code: 'refused' });
});

test('a tenant that replaces its folder by a link is refused', async () => {
  const { root, run } = openDesk({ 'north/in/a.txt': 'north' }, { root: './{tenant}/in' });
  mkdirSync(join(root, 'south'));
  symlinkSync('../north/in', join(root, 'south/in'));
  expect(await run({ operation: 'read', path: 'a.txt' }, as('south'))).toEqual(failure('Invalid path'));
});

test('tenants can be given folders by name, and other tenants have none', async () => {
  const home = mkdtempSync(join(tmpdir(), 'toolcrib-tenants-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  mkdirSync(join(home, 'n'));
  writeFileSync(join(home, 'n/a.txt'), 'north');
  const { run } = openDesk({}, { rootsByTenant: { north: join(home, 'n') } });
  expect(await run({ operation: 'read', path: 'a.txt' }, as('north'))).toMatchObject({ content: 'north' });
  for (const tenant of ['south', 'constructor', '__proto__'])
    await expect(run({ operation: 'list', path: '' }, as(tenant))).rejects.toMatchObject({ code: 'refused' });
});

test.each([
  [{ root: './none' }, 'create it or name another'],
  [{ root: './a.txt' }, 'create it or name another'],
  [{ root: './none/{tenant}' }, 'create it or name another'],
  [{ root: '/' }, 'must not be the whole machine'],
  [{ root: './{tenant}/../x' }, 'must not go up again'],
  [{ rootsByTenant: { north: './none' } }, 'rootsByTenant.north'],
])('an invalid root is refused at the start: %j', (options, message) => {
  const { root } = openDesk({ 'a.txt': '' });
  expect(() => fileOperationsTool(options, { folder: root })).toThrow(
    expect.objectContaining({
      code: 'invalid_setup',
      message: expect.stringContaining(message) as string,
    }) as Error,
  );
});

test('the options must have exactly one of root and rootsByTenant', () => {
  const { root } = openDesk();
  expect(() => fileOperationsTool({})).toThrow(/either root or rootsByTenant/);
  expect(() => fileOperationsTool({ root, rootsByTenant: { a: root } })).toThrow(/either root/);
  expect(() => fileOperationsTool({ root, extensions: ['.txt'] })).toThrow(/without a dot/);
});

test('a system without /proc is reported at the start', () => {
  expect(() => requireDescriptors('/proc/none/fd')).toThrow(
    expect.objectContaining({ code: 'invalid_setup' }) as Error,
  );
});

test('reading, listing and writing stop when the call is cancelled, and leave no open or partial file', async () => {
  const { root, run } = openDesk({ 'big.bin': '' }, { maxBytes: 67_108_864, write: true });
  truncateSync(join(root, 'big.bin'), 67_108_864);
  mkdirSync(join(root, 'many'));
  for (let index = 0; index < 2_000; index++) writeFileSync(join(root, `many/${index}`), '');
  const content = 'x'.repeat(60_000_000);
  const opened = (end: RegExp): number => openBelow(root).filter((path) => end.test(path)).length;
  // What is read or listed is held and then opened; what is written has a name of its own.
  for (const { hasBegun, ...args } of [
    { operation: 'read', path: 'big.bin', hasBegun: () => opened(/big\.bin$/) > 1 },
    { operation: 'list', path: 'many', hasBegun: () => opened(/many$/) > 1 },
    { operation: 'write', path: 'new.txt', content, hasBegun: () => opened(/\/\.toolcrib-/) > 0 },
  ]) {
    const controller = new AbortController();
    const reason = new Error('cancelled by the test');
    const answer = run(args, { signal: controller.signal });
    await vi.waitUntil(hasBegun, { interval: 0 });
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
    expect(openBelow(root)).toEqual([]);
  }
  expect(readdirSync(root).toSorted()).toEqual(['big.bin', 'many']);
});

test('no way of ending a call leaves a file open', async () => {
  const { root, run } = openDesk({ 'a.txt': 'a', 'd/b.txt': '' }, { write: true });
  symlinkSync('a.txt', join(root, 'link'));
  for (const path of ['a.txt', 'd', 'none', 'link', 'a.txt/b', '..'])
    for (const operation of ['read', 'list', 'info', 'write', 'move', 'delete'])
      await run({ operation, path, to: path, content: '' });
  expect(openBelow(root)).toEqual([]);
});

/** What this process holds below a folder. */
function openBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(folder) ? [target] : [];
    } catch {
      return [];
    }
  });
}
