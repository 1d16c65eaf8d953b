import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open, readFile, realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { constants } from 'node:fs';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { propertyRuns } from '../property-runs.ts';
import { CANARY, failure, MAX_UP, openSandbox, tryAll, type Answer, type Sandbox } from './file-sandbox.ts';

const invalid = failure('Invalid path');

/** Links and other traps in the root. */
function setTraps({ root, outside }: Sandbox): void {
  symlinkSync(join(outside, 'canary.txt'), join(root, 'absolute.txt'));
  symlinkSync('../outside/canary.txt', join(root, 'relative.txt'));
  symlinkSync('relative.txt', join(root, 'chain.txt'));
  symlinkSync('chain.txt', join(root, 'longer-chain.txt'));
  symlinkSync('loop.txt', join(root, 'loop.txt'));
  symlinkSync('../outside', join(root, 'folder'));
  symlinkSync('../../outside', join(root, 'a/up'));
  symlinkSync(`/proc/self/root${outside}`, join(root, 'magic'));
  symlinkSync('/dev/zero', join(root, 'zero'));
  symlinkSync('../outside/none.txt', join(root, 'dangling.txt'));
  symlinkSync('inside.txt', join(root, 'harmless.txt'));
}

/** How the tool of the sample did it: a path is put together, resolved, and its beginning compared. */
async function readNaively({ root }: Sandbox, path: string): Promise<string> {
  const resolved = await realpath(join(root, path));
  if (!resolved.startsWith(root)) throw new Error('outside');
  return readFile(resolved, 'utf8');
}

/** How a careless tool does it. */
function readCarelessly({ root }: Sandbox, path: string): Promise<string> {
  return readFile(`${root}/${path}`, 'utf8');
}

const ways = [
  '../outside/canary.txt',
  '/../outside/canary.txt',
  'a/../../outside/canary.txt',
  './a/./../../outside/canary.txt',
  'a//..//../outside/canary.txt',
  '../root-evil/canary.txt',
  'absolute.txt',
  'relative.txt',
  'chain.txt',
  'longer-chain.txt',
  'folder/canary.txt',
  'a/up/canary.txt',
];

test.each(ways)('D2 no operation leaves the root folder: %j', async (path) => {
  const sandbox = openSandbox();
  setTraps(sandbox);
  const before = sandbox.snapshot();
  const answers = await tryAll(sandbox.run, path);
  for (const answer of Object.values(answers)) expect(answer).toEqual(invalid);
  expect(sandbox.snapshot()).toBe(before);
});

test.each(ways)('D2 control: a tool that just opens the path leaves the root folder: %j', async (path) => {
  const sandbox = openSandbox();
  setTraps(sandbox);
  expect(await readCarelessly(sandbox, path)).toBe(CANARY);
});

test('D2 control: a tool that compares path prefixes accepts a sibling folder of a similar name', async () => {
  expect(await readNaively(openSandbox(), '../root-evil/canary.txt')).toBe(CANARY);
});

test.each([
  'folder',
  'a/up',
  'magic',
  'loop.txt',
  'dangling.txt',
  'zero',
  'harmless.txt',
  'magic/canary.txt',
])('D2 a symbolic link is refused wherever it points: %j', async (path) => {
  const sandbox = openSandbox();
  setTraps(sandbox);
  const before = sandbox.snapshot();
  for (const answer of Object.values(await tryAll(sandbox.run, path))) expect(answer).toEqual(invalid);
  expect(sandbox.snapshot()).toBe(before);
});

test('D2 links and special files are not listed', async () => {
  const sandbox = openSandbox();
  setTraps(sandbox);
  const { items } = (await sandbox.run({ operation: 'list', path: '.' })) as { items: Answer[] };
  expect(items.map(({ name }) => name)).toEqual(['a', 'inside.txt']);
});

test.each([
  ['an absolute path', '/etc/passwd', 'File not found'],
  ['an encoded way up', '%2e%2e/outside/canary.txt', 'File not found'],
  ['an encoded separator', '..%2foutside%2fcanary.txt', 'Invalid path'],
  ['a way up that is doubly encoded', '%252e%252e/outside/canary.txt', 'File not found'],
  ['backslashes', String.raw`..\outside\canary.txt`, 'Invalid path'],
  ['a NUL', 'inside.txt\0', 'Invalid path'],
  ['a NUL in front of an ending', '../outside/canary.txt\0.txt', 'Invalid path'],
  ['a control character', 'inside\u001b.txt', 'Invalid path'],
  ['a line break', 'inside.txt\n', 'Invalid path'],
  ['half a character', 'inside\ud800.txt', 'Invalid path'],
  ['a space at the end', 'inside.txt ', 'Invalid path'],
  ['a dot at the end', 'inside.txt.', 'Invalid path'],
  ['three dots', '.../outside/canary.txt', 'Invalid path'],
  ['a quote at the end', 'inside.txt"', 'File not found'],
  ['another stream of a file', 'inside.txt:secret', 'Invalid path'],
  ['a drive', 'C:/outside/canary.txt', 'Invalid path'],
  ['a device of Windows', 'NUL', 'Invalid path'],
  ['such a device with an ending', 'a/com1.txt', 'Invalid path'],
  ['a name of 256 bytes', 'n'.repeat(256), 'Invalid path'],
  ['a name of 256 bytes in fewer characters', 'ü'.repeat(128), 'Invalid path'],
  ['300 folders', 'a/'.repeat(300), 'Invalid path'],
  ['a home folder', '~/canary.txt', 'File not found'],
  ['an address', 'file:///etc/passwd', 'Invalid path'],
])('D2 %s is taken literally', async (_, path, error) => {
  const sandbox = openSandbox();
  expect(await sandbox.run({ operation: 'read', path })).toEqual(failure(error));
});

test('D2 names that differ in case or in Unicode form are different files', async () => {
  const { root, run } = openSandbox();
  const twins = {
    'Readme.md': '1',
    'README.md': '2',
    'caf\u00e9.md': '3',
    'cafe\u0301.md': '4',
    'it"s.md': '5',
  };
  for (const [name, content] of Object.entries(twins)) writeFileSync(join(root, name), content);
  for (const [path, content] of Object.entries(twins))
    expect(await run({ operation: 'read', path })).toMatchObject({ path, content });
  expect(await run({ operation: 'read', path: 'readme.md' })).toEqual(failure('File not found'));
});

test('D2 a name of 255 bytes is accepted', async () => {
  const { run } = openSandbox();
  const path = `${'n'.repeat(251)}.txt`;
  expect(await run({ operation: 'write', path, content: 'x' })).toMatchObject({ size: 1 });
  expect(await run({ operation: 'read', path })).toMatchObject({ content: 'x' });
});

test('D2 the tool neither creates nor moves links', async () => {
  const sandbox = openSandbox({ hidden: true });
  setTraps(sandbox);
  expect(await sandbox.run({ operation: 'move', path: 'relative.txt', to: 'a/x.txt' })).toEqual(invalid);
  expect(await sandbox.run({ operation: 'move', path: 'inside.txt', to: 'dangling.txt' })).toEqual(invalid);
  expect(await sandbox.run({ operation: 'write', path: 'dangling.txt', content: 'x' })).toEqual(invalid);
  // Where every file is offered, a folder that is moved takes its links along, and they lead nowhere there either.
  expect(await sandbox.run({ operation: 'move', path: 'a', to: 'b' })).toMatchObject({ path: 'b' });
  expect(await sandbox.run({ operation: 'read', path: 'b/up/canary.txt' })).toEqual(invalid);
  expect(existsSync(join(sandbox.outside, 'none.txt'))).toBe(false);
});

test('D2 a hard link to a file outside is not written through', async () => {
  const sandbox = openSandbox();
  const canary = join(sandbox.outside, 'canary.txt');
  linkSync(canary, join(sandbox.root, 'hard.txt'));
  const before = sandbox.snapshot();
  const { write, move, delete: removed, 'move to': moveTo } = await tryAll(sandbox.run, 'hard.txt');
  for (const answer of [write, move, removed, moveTo])
    expect(answer).toMatchObject({ error: 'File has other names' });
  expect(sandbox.snapshot()).toBe(before);
  // Control: writing into the file changes what is outside.
  writeFileSync(join(sandbox.root, 'hard.txt'), 'overwritten');
  expect(readFileSync(canary, 'utf8')).toBe('overwritten');
});

test('D2 a named pipe does not block a call', async () => {
  const { root, run } = openSandbox();
  execFileSync('mkfifo', [join(root, 'pipe')]);
  const answers = await tryAll(run, 'pipe');
  expect(answers).toMatchObject({
    read: { error: 'File not found' },
    list: { error: 'Directory not found' },
    info: { error: 'Path not found' },
    write: { error: 'Already exists' },
    move: { error: 'Path not found' },
    delete: { error: 'Path not found' },
  });
  expect(await run({ operation: 'list', path: '.' })).toMatchObject({ count: 2 });
});

test('D2 control: opening a pipe like a file blocks until somebody writes', async () => {
  const { root } = openSandbox();
  const pipe = join(root, 'pipe');
  execFileSync('mkfifo', [pipe]);
  let isOpen = false;
  const reader = open(pipe, 'r').then((handle) => {
    isOpen = true;
    return handle;
  });
  // Whatever was asked for after it is done before it.
  for (let turn = 0; turn < 20; turn++) await readFile(join(root, 'inside.txt'));
  expect(isOpen).toBe(false);
  const writer = await open(pipe, constants.O_RDWR);
  await (await reader).close();
  await writer.close();
});

test('D2 a socket is refused', async () => {
  const { root, run } = openSandbox();
  const server = createServer();
  await new Promise<void>((done) => {
    server.listen(join(root, 'socket'), done);
  });
  onTestFinished(() => void server.close());
  const { read, info } = await tryAll(run, 'socket');
  expect([read, info]).toEqual([failure('File not found'), failure('Path not found')]);
  expect(existsSync(join(root, 'socket'))).toBe(true);
});

test('D2 a device is refused', async (context) => {
  const { root, run } = openSandbox();
  try {
    execFileSync('mknod', [join(root, 'zero'), 'c', '1', '5'], { stdio: 'pipe' });
  } catch {
    context.skip('devices cannot be made here: it takes root');
  }
  const { read, info, write } = await tryAll(run, 'zero');
  expect([read, info]).toEqual([failure('File not found'), failure('Path not found')]);
  expect(write).toMatchObject({ error: 'Already exists' });
});

const segment = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '..',
      '.',
      '',
      'a',
      'up',
      'folder',
      'outside',
      'canary.txt',
      'root',
      'root-evil',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('%2e%2e', '..\\', '\\..', '..\0', '.. ', '...', '~', 'magic', 'chain.txt'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
);
const hostilePath = fc.oneof(
  fc.array(segment, { maxLength: MAX_UP }).map((parts) => parts.join('/')),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

test('D2 for any path, nothing outside is read, listed or described', async () => {
  const sandbox = openSandbox({ write: false, hidden: true });
  setTraps(sandbox);
  const before = sandbox.snapshot();
  const operation = fc.constantFrom('read', 'list', 'info', 'search');
  const property = fc.asyncProperty(hostilePath, operation, async (path, what) => {
    const answer = JSON.stringify(
      await sandbox.run({ operation: what, path, ...(what === 'search' && { name: '*' }) }),
    );
    expect(answer).not.toContain(CANARY);
    expect(answer).not.toContain('canary.txt');
    expect(answer).not.toContain(`"size":${CANARY.length}`);
  });
  await fc.assert(property, { numRuns: propertyRuns() });
  expect(sandbox.snapshot()).toBe(before);
});

test('D2 for any path, nothing outside is written, moved or deleted', async () => {
  const sandbox = openSandbox();
  setTraps(sandbox);
  const before = sandbox.snapshot();
  const siblings = readdirSync(sandbox.folder);
  const property = fc.asyncProperty(hostilePath, hostilePath, async (path, to) => {
    await sandbox.run({ operation: 'write', path, content: 'overwritten', overwrite: true });
    await sandbox.run({ operation: 'move', path, to, overwrite: true });
    await sandbox.run({ operation: 'delete', path });
    await sandbox.run({ operation: 'mkdir', path });
    expect(readdirSync(sandbox.folder)).toEqual(siblings);
  });
  await fc.assert(property, { numRuns: propertyRuns() });
  expect(sandbox.snapshot()).toBe(before);
});

test('D2 control: a tool that just opens these paths leaves the root folder', async () => {
  const sandbox = openSandbox();
  setTraps(sandbox);
  const paths = fc.sample(hostilePath, { numRuns: 1_000, seed: 7 });
  const read = await Promise.all(paths.map((path) => readCarelessly(sandbox, path).catch(() => '')));
  expect(read.filter((content) => content === CANARY).length).toBeGreaterThan(0);
});

test('D2 results hold neither the path of the root nor error texts of the system', async () => {
  const sandbox = openSandbox();
  setTraps(sandbox);
  mkdirSync(join(sandbox.root, 'full'));
  writeFileSync(join(sandbox.root, 'full/x'), '');
  for (const path of [
    'none',
    'inside.txt',
    'a',
    'full',
    'chain.txt',
    'inside.txt/x',
    '..',
    'n'.repeat(300),
  ]) {
    const answers = JSON.stringify(await tryAll(sandbox.run, path));
    expect(answers).not.toContain(sandbox.folder);
    expect(answers).not.toMatch(/\/proc\/|\bE[A-Z]{4,}\b|syscall|errno/);
  }
});
