import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createGateway } from '../../src/gateway/create-gateway.ts';
import type { Complaint } from '../../src/config/complaint.ts';
import { loadConfig } from '../../src/gateway/settings/load-config.ts';
import { openCrib, type Crib } from '../gateway.ts';

// What a caller wrote: it shows that it was run.
const RAN = Symbol.for('toolcrib.test.ran');
const ran = globalThis as { [RAN]?: number };
const EVIL = `globalThis[Symbol.for('toolcrib.test.ran')] = (globalThis[Symbol.for('toolcrib.test.ran')] ?? 0) + 1;`;
const evil = `${EVIL} export default 'evil';`;
const evilRequired = `${EVIL} module.exports = 'evil';`;

const TOOL = `export const one = { name: 'one', description: 'Answers.', inputSchema: { type: 'object' }, handler: () => 'one' };`;
const tool = (imports: string): string => `${imports}\n${TOOL}`;
const write = (root: string) => ({ file_operations: { root, write: true } });

interface Case {
  readonly files: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly ready?: object;
  readonly modules?: string;
  /** What the complaint names, after "would let callers reach"; "./up" may be written to unless told. */
  readonly reached: string;
  /** Whether nothing is there yet to be run. */
  readonly isLater?: true;
}

const cases: Readonly<Record<string, Case>> = {
  'a file that a module imports': {
    files: { 'tools/one.ts': tool(`import '../up/lib.ts';`), 'up/lib.ts': evil },
    reached: 'up/lib.ts, which tools/one.ts imports',
  },
  'a file that is not there yet': {
    files: { 'tools/one.ts': tool(`try { await import('../up/later.js'); } catch {}`) },
    reached: 'up/later.js, which tools/one.ts imports',
    isLater: true,
  },
  'what is imported by what a module imports': {
    files: {
      'tools/one.ts': tool(`import '../lib/a.ts';`),
      'lib/a.ts': `export * from './b.js';`,
      'lib/b.ts': `import '../up/c.mjs';`,
      'up/c.mjs': evil,
    },
    reached: 'up/c.mjs, which tools/one.ts imports',
  },
  'data that a module imports': {
    files: {
      'tools/one.ts': tool(`import rules from '../up/rules.json'; export { rules };`),
      'up/rules.json': '{}',
    },
    reached: 'up/rules.json, which tools/one.ts imports',
    isLater: true,
  },
  'what a CommonJS file requires': {
    files: {
      'tools/one.cjs': `require('../up/lib'); exports.one = ${TOOL.slice('export const one ='.length)}`,
      'up/lib.js': evilRequired,
    },
    reached: 'up/lib.js, which tools/one.cjs imports',
  },
  'what is required under another name': {
    files: {
      'tools/one.ts': tool(
        `import { createRequire } from 'node:module'; const load = createRequire(import.meta.url); load('../up/lib.cjs');`,
      ),
      'up/lib.cjs': evilRequired,
    },
    reached: 'up/lib.cjs, which tools/one.ts imports',
  },
  'what a link leads an import to': {
    files: { 'tools/one.ts': tool(`import '../lib/a.ts';`), 'up/a.ts': evil },
    links: { 'lib/a.ts': '../up/a.ts' },
    reached: 'up/a.ts, which tools/one.ts imports',
  },
  'what a link leads a module to': {
    files: { 'up/one.ts': tool(EVIL) },
    links: { 'tools/one.ts': '../up/one.ts' },
    reached: 'up/one.ts, which tools/one.ts imports',
  },
  'a folder that would be chosen before the file': {
    files: { 'tools/one.ts': tool(`import '../up';`), 'up.ts': `export {};` },
    reached: 'up.ts, which tools/one.ts imports',
    isLater: true,
  },
  'a folder of the name without its ending': {
    files: { 'tools/one.ts': tool(`import '../up.js';`), 'up.ts': `export {};` },
    reached: 'up.ts, which tools/one.ts imports',
    isLater: true,
  },
  'a package': {
    files: { 'tools/one.ts': tool(`import 'pkg';`), 'node_modules/pkg/index.js': evilRequired },
    ready: write('./node_modules/pkg'),
    reached: 'packages that modules import (node_modules)',
  },
  'a folder where packages are looked for first': {
    files: {
      'tools/one.ts': tool(`import 'pkg';`),
      'node_modules/pkg/index.js': 'module.exports = 1;',
      'tools/node_modules/.keep': '',
    },
    ready: write('./tools/node_modules'),
    reached: 'packages that modules import (tools/node_modules)',
    isLater: true,
  },
  'the folder a package is linked to': {
    files: {
      'tools/one.ts': tool(`import 'pkg';`),
      'up/pkg/package.json': '{ "name": "pkg", "type": "module" }',
      'up/pkg/index.js': evil,
      'node_modules/.keep': '',
    },
    links: { 'node_modules/pkg': '../up/pkg' },
    reached: 'a package that modules import (up/pkg)',
  },
  'the folder a package of a package is linked to': {
    files: {
      'tools/one.ts': tool(`import 'pkg';`),
      'node_modules/pkg/package.json': '{ "name": "pkg", "dependencies": { "deep": "1" } }',
      'node_modules/pkg/index.js': `require('deep');`,
      'up/deep/index.js': evilRequired,
    },
    links: { 'node_modules/deep': '../up/deep' },
    reached: 'a package that modules import (up/deep)',
  },
  'what a package calls by a name of its own': {
    files: {
      'package.json': '{ "imports": { "#lib/*": { "default": "./up/*.ts" } } }',
      'tools/one.ts': tool(`import '#lib/a';`),
      'up/a.ts': evil,
    },
    reached: 'up/a.ts, which tools/one.ts imports',
  },
  'what begins with a folder': {
    files: {
      'tools/one.ts': tool('for (const name of ["a"]) await import(`../up/${name}.ts`);'),
      'up/a.ts': evil,
    },
    reached: 'up/a.ts, which tools/one.ts imports',
  },
  'the file of a thread': {
    files: {
      'tools/one.ts': tool(
        `import { Worker } from 'node:worker_threads'; export const start = () => new Worker(new URL('../up/a.js', import.meta.url));`,
      ),
    },
    reached: 'up/a.js, which tools/one.ts imports',
    isLater: true,
  },
  'a folder that a tenant could be named after': {
    files: { 'tools/one.ts': tool(`import '../up/north/lib.ts';`), 'up/north/lib.ts': evil },
    ready: write('./up/{tenant}'),
    reached: 'up/north/lib.ts, which tools/one.ts imports',
  },
};

test.each(Object.entries(cases))('D2 a writable folder that reaches %s is refused', async (_what, one) => {
  const { ready = write('./up'), reached } = one;
  delete ran[RAN];
  expect(await complaintsOf({ ...one, ready })).toEqual([
    `tools.ready.file_operations.root would let callers reach ${reached}; give it a folder of its own`,
  ]);
  expect(ran[RAN]).toBeUndefined();
});

test.each(Object.entries(cases).filter(([, { isLater }]) => !isLater))(
  'D2 control: a module that callers cannot write is loaded: %s',
  async (_what, one) => {
    delete ran[RAN];
    expect(await complaintsOf({ ...one, ready: {} })).toEqual([]);
    expect(ran[RAN]).toBe(1);
  },
);

test('D2 a computed import is refused when there is any writable folder', async () => {
  const files = { 'tools/one.ts': tool(`export const load = (name) => import(name);`), 'up/.keep': '' };
  expect(await complaintsOf({ files, ready: write('./up') })).toEqual([
    'tools.ready.file_operations.root would let callers reach what tools/one.ts imports, as the name is made up while it runs; write the name there as text, or at least the folder it begins with',
  ]);
  expect(await complaintsOf({ files, ready: { file_operations: { root: './up' } } })).toEqual([]);
});

test('D2 run_command is refused in the same way if its programs change files that callers choose', async () => {
  const count = {
    file: '/usr/bin/wc',
    description: 'Counts.',
    arguments: [{ description: 'What to count.', path: true }],
  };
  const files = cases['a file that a module imports']!.files;
  const programs = (readOnly: boolean) => ({
    run_command: { folder: './up', commands: { count: { ...count, readOnly } } },
  });
  expect(await complaintsOf({ files, ready: programs(false) })).toEqual([
    'tools.ready.run_command.folder would let callers reach up/lib.ts, which tools/one.ts imports; give it a folder of its own',
  ]);
  expect(await complaintsOf({ files, ready: programs(true) })).toEqual([]);
});

test('D2 a writable folder apart from all imported modules is accepted', async () => {
  const files = {
    'package.json': '{ "type": "module", "dependencies": { "pkg": "1" } }',
    'node_modules/pkg/index.js': 'export default 1;',
    'lib/deep/a.ts': `import { readFileSync } from 'node:fs'; import 'pkg'; export { readFileSync };`,
    'tools/one.ts': tool(`import '../lib/deep/a.js'; import type { X } from 'nowhere';`),
    'up/.keep': '',
    'lib/files/.keep': '',
  };
  for (const root of ['./up', './lib/files', './up/{tenant}'])
    expect(await complaintsOf({ files, ready: write(root) })).toEqual([]);
});

async function openWatched(): Promise<Crib> {
  return openCrib({
    open: true,
    watch: true,
    files: { 'tools/one.ts': TOOL, 'up/evil.ts': evil },
    config: { store: { url: 'memory:' }, tools: { modules: ['./tools/*.ts'], ready: write('./up') } },
  });
}

test('D2 a module that starts to import a file that callers can write is not loaded, and its last good tools stay', async () => {
  delete ran[RAN];
  const crib = await openWatched();
  writeFileSync(crib.path('tools/one.ts'), tool(`import '../up/evil.ts';`));
  await expect
    .poll(() => crib.logged.find(({ message }) => message.includes('cannot be used')), { timeout: 10_000 })
    .toMatchObject({
      message: 'tools/one.ts cannot be used. Its last good tools stay in use.',
      facts: {
        reason:
          'tools.ready.file_operations.root would let callers reach up/evil.ts, which tools/one.ts imports; give it a folder of its own.',
      },
    });
  expect(crib.gateway.tools).toContain('one');
  expect(ran[RAN]).toBeUndefined();
});

test('D2 a reload after which a module imports a file that callers can write changes nothing', async () => {
  delete ran[RAN];
  const crib = await openWatched();
  writeFileSync(crib.path('tools/two.ts'), tool(`import '../up/evil.ts';`).replaceAll('one', 'two'));
  await expect(crib.reload()).rejects.toMatchObject({ code: 'invalid_config' });
  expect(crib.gateway.tools).toEqual(['file_operations', 'one']);
  expect(ran[RAN]).toBeUndefined();
});

interface Setup {
  readonly files: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly ready: object;
}

async function complaintsOf({ files, links = {}, ready }: Setup): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-imports-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const place = (name: string): string => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    return join(folder, name);
  };
  mkdirSync(join(folder, 'up'));
  for (const [name, text] of Object.entries(files)) writeFileSync(place(name), text);
  for (const [name, target] of Object.entries(links)) symlinkSync(target, place(name));
  const tools = { modules: ['./tools/*.{ts,cjs}'], ready };
  writeFileSync(place('toolcrib.yaml'), JSON.stringify({ store: { url: 'memory:' }, tools }));
  try {
    const logged: unknown[] = [];
    const gateway = await createGateway(await loadConfig(join(folder, 'toolcrib.yaml')), {
      version: '1',
      log: (level, message, facts) => void (level === 'error' && logged.push(message, facts)),
    });
    await gateway.close(0);
    expect(logged).toEqual([]);
    return [];
  } catch (error) {
    const { complaints } = (error as { data?: { complaints: readonly Complaint[] } }).data ?? {};
    if (!complaints) throw error;
    for (const { line, column } of complaints) expect([line, column]).not.toContain(0);
    return complaints.map(({ path, message, remedy }) => `${path} ${message}; ${remedy}`);
  }
}
