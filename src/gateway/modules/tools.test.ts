import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { localCaller } from '../../core/caller.ts';
import { ToolRegistry } from '../../core/registry.ts';
import type { Change } from '../../core/source.ts';
import { createServer, type JsonRpcMessage, type Server } from '../../server/create-server.ts';
import { createTestClient } from '../../testing.ts';
import { createModuleTools, type ModuleTools } from './tools.ts';

test('tools, resources and prompts are loaded from TypeScript and JavaScript: single, in lists and as default export', async () => {
  const { registry, modules } = await setUp({
    'tools/one.ts': `${tool('one')}\nexport type Unused = string;`,
    'tools/two.mjs': `export const both = [${literal('two')}, ${literal('three')}];`,
    'tools/four.cjs': `module.exports = { four: ${literal('four')} };`,
    'tools/five.cjs': `module.exports = ${literal('five')};`,
    'tools/six.js': `export default ${literal('six')};`,
    'tools/deep/down/seven.ts': tool('seven'),
    'tools/reading.ts': `
      import { definePrompt, defineResource, defineResourceTemplate } from 'toolcrib';
      export const a = defineResource({ uri: 'note://a', name: 'a' }, () => 'A');
      export const b = defineResourceTemplate({ uriTemplate: 'note://{id}/b', name: 'b' }, ({ id }) => id);
      export const c = definePrompt({ name: 'c' }, () => 'C');`,
  });
  expect(modules.problems).toEqual([]);
  expect(registry.getToolNames().toSorted()).toEqual(['five', 'four', 'one', 'seven', 'six', 'three', 'two']);
  expect(await registry.execute('two')).toBe('two');
  expect(registry.resources?.size).toBe(2);
  expect(registry.prompts?.find('c')).toBeDefined();
});

test('a tool that was made with another copy of the library works', async () => {
  const { registry, modules } = await setUp({
    'tools/add.ts': `
      import { defineTool, ToolRegistry } from 'toolcrib';
      export const add = defineTool(
        { name: 'add', description: 'Adds.', input: { properties: { a: { type: 'number' } }, required: ['a'] } },
        ({ a }: { a: number }) => ({ sum: a + 1, registry: typeof ToolRegistry }),
      );`,
  });
  expect(modules.problems).toEqual([]);
  expect(await registry.execute('add', { a: 1 })).toEqual({ sum: 2, registry: 'function' });
});

test('declaration files, tests, hidden folders and packages are skipped', async () => {
  const { modules, folder } = await setUp({
    'tools/one.ts': tool('one'),
    'tools/one.test.ts': 'throw new Error();',
    'tools/one.d.ts': 'throw new Error();',
    'tools/.cache/x.ts': 'throw new Error();',
    'tools/node_modules/x/index.ts': 'throw new Error();',
    'tools/readme.md': 'no code',
  });
  expect(modules).toMatchObject({ files: [join(folder, 'tools/one.ts')], problems: [] });
});

test.each([
  ['cannot be read as code', 'export const x = ;', /Unexpected token.*bad\.ts:1/],
  ['throws', 'throw new Error("no database");', /no database/],
  ['throws something strange', 'throw undefined;', /It throws undefined/],
  ['imports what is not there', 'import "./missing.ts"; export default 1;', /missing\.ts/],
  ['exports nothing usable', 'export const answer = 42;', /exports no tool/],
  [
    'has something like a tool',
    'export const t = { name: "t", handler() {} };',
    /export "t" looks like a tool/,
  ],
  ['has a bad name', tool('not a name'), /may only hold letters/],
  ['has a bad schema', tool('t').replace("type: 'object'", "type: 'array'"), /object/],
  [
    'takes a name that is taken',
    tool('good'),
    /^A tool named "good" is in tools\/a\.ts already; rename one of the two\.$/,
  ],
  [
    'has one bad tool among good ones',
    `${tool('fine')}\n${tool('bad name').replace('tool_', 'b')}`,
    /may only hold/,
  ],
])(
  'a module that %s is reported and skipped as a whole, and the others work',
  async (_what, source, reason) => {
    const { registry, modules } = await setUp({
      'tools/a.ts': tool('good'),
      'tools/bad.ts': source,
      'tools/z.ts': tool('last'),
    });
    expect(registry.getToolNames()).toEqual(['good', 'last']);
    expect(modules.problems).toMatchObject([
      { file: 'tools/bad.ts', reason: expect.stringMatching(reason), severity: 'error' },
    ]);
  },
);

test('existing tools are not replaced by those of a module', async () => {
  const registry = new ToolRegistry().register('ping', () => 'mine');
  const { modules } = await setUp({ 'tools/ping.ts': tool('ping') }, { registry });
  expect(modules.problems).toHaveLength(1);
  expect(await registry.execute('ping')).toBe('mine');
});

test('a pattern that matches nothing is a warning', async () => {
  const { modules, logged } = await setUp({}, { patterns: ['./nowhere/*.ts'] });
  expect(modules.problems).toMatchObject([{ file: './nowhere/*.ts', severity: 'warning' }]);
  expect(logged).toContain('warn No file matches ./nowhere/*.ts.');
});

test('a module that two others import is run once', async () => {
  const shared = {
    'tools/lib/count.ts': 'globalThis.runs = (globalThis.runs ?? 0) + 1; export const n = globalThis.runs;',
  };
  const using = (name: string): string => `import { n } from './lib/count.ts';\n${tool(name, 'n')}`;
  const { registry } = await setUp(
    { ...shared, 'tools/a.ts': using('a'), 'tools/b.ts': using('b') },
    { patterns: ['./tools/*.ts'] },
  );
  expect(await registry.execute('a')).toBe(await registry.execute('b'));
});

test('a change replaces the tools of that module only, in one turn, and clients are notified', async () => {
  const { registry, folder } = await setUp(
    { 'tools/a.ts': `${tool('a', '1')}\n${tool('old')}`, 'tools/b.js': tool('b') },
    { watch: true },
  );
  const server = createServer({ source: registry });
  onTestFinished(() => server.close());
  const heard = subscribe(server);
  expect(await heard.next()).toBe('notifications/subscriptions/acknowledged');
  const client = createTestClient(server);
  const b = registry.find('b');
  const told = changeIn(registry);
  writeFileSync(join(folder, 'tools/a.ts'), `${tool('a', '2')}\n${tool('fresh')}`);
  expect(await told).toEqual({ kind: 'tools', added: ['fresh'], removed: ['old'], modified: ['a'] });
  expect(await heard.next()).toBe('notifications/tools/list_changed');
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['a', 'b', 'fresh']);
  expect((await client.callTool('a')).text).toBe('2');
  expect(registry.find('b')).toBe(b);
});

test('JavaScript modules are loaded again as well, and so is a file that replaces another', async () => {
  const { registry, folder } = await setUp({ 'tools/a.mjs': tool('a', '1') }, { watch: true });
  const told = changeIn(registry);
  writeFileSync(join(folder, 'a.mjs.tmp'), tool('a', '2'));
  renameSync(join(folder, 'a.mjs.tmp'), join(folder, 'tools/a.mjs'));
  await told;
  expect(await registry.execute('a')).toBe(2);
});

test('a module that breaks keeps its last good tools until it is fixed', async () => {
  const { registry, folder, modules, logs } = await setUp({ 'tools/a.ts': tool('a', '1') }, { watch: true });
  const broken = logs('cannot be used');
  writeFileSync(join(folder, 'tools/a.ts'), 'export const x = ;');
  expect(await broken).toContain('Its last good tools stay in use.');
  expect(await registry.execute('a')).toBe(1);
  expect(modules.problems).toHaveLength(1);
  const told = changeIn(registry);
  writeFileSync(join(folder, 'tools/a.ts'), tool('a', '2'));
  await told;
  expect(await registry.execute('a')).toBe(2);
  expect(modules.problems).toEqual([]);
});

test('a deleted module loses its tools, and its names can be used by others', async () => {
  const { registry, folder, modules, logged } = await setUp(
    { 'tools/a.ts': tool('same', '1'), 'tools/b.ts': tool('same', '2') },
    { watch: true },
  );
  expect(modules.problems).toMatchObject([{ file: 'tools/b.ts' }]);
  logged.length = 0;
  const told = changeIn(registry);
  rmSync(join(folder, 'tools/a.ts'));
  await told;
  await modules.close();
  expect(await registry.execute('same')).toBe(2);
  expect(modules.problems).toEqual([]);
  expect(logged).toEqual([
    'info tools/a.ts is gone, and what it offered with it.',
    'info Loaded tools/b.ts.',
  ]);
});

test('a new file is noticed, and so is a change in an imported file', async () => {
  const { registry, folder } = await setUp(
    {
      'tools/lib/n.ts': 'export const n: number = 1;',
      'tools/a.ts': `import { n } from './lib/n.ts';\n${tool('a', 'n')}`,
    },
    { watch: true, patterns: ['./tools/{a,b}.ts', './tools/more/**/*.ts'] },
  );
  const added = changeIn(registry);
  writeFileSync(join(folder, 'tools/b.ts'), tool('b'));
  expect(await added).toMatchObject({ added: ['b'] });
  const changed = changeIn(registry);
  writeFileSync(join(folder, 'tools/lib/n.ts'), 'export const n: number = 2;');
  expect(await changed).toMatchObject({ modified: ['a', 'b'] });
  expect(await registry.execute('a')).toBe(2);
});

test('a module that never finishes loading is given up after a while, does not delay others longer, and its later end is ignored', async () => {
  const late = `await new Promise((resolve) => setTimeout(resolve, 600));\n${tool('late')}`;
  const { registry, folder, modules, logs } = await setUp(
    { 'tools/a.ts': tool('a', '1'), 'tools/h.ts': 'await new Promise(() => {});', 'tools/late.ts': late },
    { watch: true, loadMs: 200 },
  );
  expect(registry.getToolNames()).toEqual(['a']);
  const reason = 'It was not loaded after 0.2 seconds; have it await less before it exports its tools.';
  const error = { severity: 'error', reason };
  expect(modules.problems).toEqual([
    { file: 'tools/h.ts', ...error },
    { file: 'tools/late.ts', ...error },
  ]);
  const broken = logs('tools/a.ts cannot be used. Its last good tools stay in use.');
  writeFileSync(join(folder, 'tools/a.ts'), 'await new Promise(() => {});');
  await broken;
  const told = changeIn(registry);
  writeFileSync(join(folder, 'tools/a.ts'), tool('a', '2'));
  expect(await told).toMatchObject({ modified: ['a'] });
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(registry.getToolNames()).toEqual(['a']);
});

test('closing and aborting do not wait for a module', async () => {
  const endless = 'await new Promise(() => {});';
  const { folder, modules, logged } = await setUp(
    { 'tools/a.ts': tool('a') },
    { watch: true, loadMs: 60_000 },
  );
  writeFileSync(join(folder, 'tools/a.ts'), endless);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await modules.close();
  expect(modules.problems).toEqual([]);
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error('not needed any more')), 200);
  const given = setUp({ 'tools/a.ts': endless }, { signal: stop.signal, loadMs: 60_000 });
  await expect(given).rejects.toThrow('not needed any more');
  expect(logged.filter((line) => line.startsWith('error'))).toEqual([]);
});

function literal(name: string, value = `'${name}'`): string {
  return `{ name: '${name}', description: 'Does it.', inputSchema: { type: 'object', properties: {} }, handler: () => ${value} }`;
}

function tool(name: string, value?: string): string {
  return `export const tool_${name.replaceAll(' ', '_')} = ${literal(name, value)};`;
}

interface Options {
  readonly registry?: ToolRegistry;
  readonly patterns?: readonly string[];
  readonly watch?: boolean;
  readonly loadMs?: number;
  readonly signal?: AbortSignal;
}

async function setUp(files: Readonly<Record<string, string>>, options: Options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-modules-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, name), source);
  }
  const {
    registry = new ToolRegistry(),
    patterns = ['./tools/**/*.{ts,js,mjs,cjs}'],
    watch = false,
    ...rest
  } = options;
  const logged: string[] = [];
  const listeners = new Set<(line: string) => void>();
  const log = (level: string, message: string): void => {
    logged.push(`${level} ${message}`);
    for (const listener of listeners) listener(message);
  };
  const modules: ModuleTools = await createModuleTools({
    patterns,
    baseDir: folder,
    log,
    registry,
    watch,
    ...rest,
  });
  onTestFinished(() => modules.close());
  const logs = (text: string): Promise<string> =>
    new Promise((resolve) => listeners.add((line) => line.includes(text) && resolve(line)));
  return { folder, registry, modules, logged, logs };
}

function subscribe(server: Server): { next(): Promise<unknown> } {
  const heard: unknown[] = [];
  let wake = (): void => {};
  const notify = ({ method }: JsonRpcMessage): void => {
    heard.push(method);
    wake();
  };
  const params = {
    notifications: { toolsListChanged: true },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const message = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params } as const;
  void server.handle(message, { caller: localCaller, notify, signal: stop.signal });
  return {
    async next() {
      while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return heard.shift();
    },
  };
}

function changeIn(registry: ToolRegistry): Promise<Change> {
  return new Promise((resolve) => {
    const stop = registry.watch((change) => {
      stop();
      resolve(change);
    });
  });
}
