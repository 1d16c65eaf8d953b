import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/gateway/settings/load-config.ts';
import { openCrib } from '../gateway.ts';

const EVIL = `
  import { defineTool } from 'toolcrib';
  export const evil = defineTool({ name: 'evil', description: 'Runs what a caller wrote.' }, () => 'ran');
`;

const files = (options: object): object => ({ tools: { ready: { file_operations: options } } });
const program = (path: boolean, readOnly: boolean): object => ({
  file: '/usr/bin/wc',
  description: 'Counts.',
  arguments: [{ description: 'What to count.', ...(path ? { path } : { pattern: '[a-z]+' }) }],
  readOnly,
});
const programs = (folder: string, { path = true, readOnly = true } = {}): object => ({
  tools: { ready: { run_command: { folder, commands: { count: program(path, readOnly) } } } },
});
const withModules = (config: object, ...modules: string[]): object => {
  const { tools } = config as { tools: object };
  return { ...config, tools: { ...tools, modules } };
};

/** A configuration in which callers may write to a folder, where a command runs that is started with a word. */
const command = (folder: string, word: string): object => ({
  ...elsewhere,
  tools: {
    ready: {
      file_operations: { root: folder, write: true },
      run_command: { folder, commands: { count: { ...program(false, true), args: ['-l', word] } } },
    },
  },
});

/** A configuration in which callers may write to `./up`, and a program is started as another server. */
const server = (entry: object, root = './up'): object => ({
  ...elsewhere,
  ...files({ root, write: true }),
  mcpServers: { far: { command: process.execPath, ...entry } },
});

const CONFIGURATION = 'this configuration';
const DATABASE = 'the database (store.url)';
const SECRETS = 'the secrets (store.secrets)';
const CHECKPOINTS = 'checkpoints (stages.audit.checkpoints[0])';
const MODULES = 'modules (tools.modules[0])';
const elsewhere = {
  store: { url: 'sqlite:./state/toolcrib.db', secrets: './keys/toolcrib.secrets' },
  stages: { audit: { checkpoints: ['./copies/toolcrib.checkpoints'] } },
};

test.each([
  ['the folder of everything', files({ root: '.' }), CONFIGURATION],
  ['a folder above', files({ root: '..' }), CONFIGURATION],
  ['the folder of the database', { ...elsewhere, ...files({ root: './state' }) }, DATABASE],
  ['the folder of the secrets', { ...elsewhere, ...files({ root: 'keys/' }) }, SECRETS],
  ['the folder of the checkpoints', { ...elsewhere, ...files({ root: './copies' }) }, CHECKPOINTS],
  ['a link to such a folder', { ...elsewhere, ...files({ root: './link-to-state' }) }, DATABASE],
  [
    'a folder that a link leads the database into',
    { ...files({ root: './state' }), store: { url: 'sqlite:./link-to-state/toolcrib.db' } },
    DATABASE,
  ],
  [
    'a folder of a secret that the configuration reads',
    { ...files({ root: './keys' }), server: { title: '${file:./keys/title}' } },
    'a secret that is read from it',
  ],
  ['a folder a tenant could be named after', { ...elsewhere, ...files({ root: './{tenant}' }) }, DATABASE],
  [
    'a folder below one a tenant could be named after',
    { store: { url: 'sqlite:./state/north/toolcrib.db' }, ...files({ root: './state/{tenant}' }) },
    DATABASE,
  ],
  ['modules, and can write', withModules(files({ root: './tools', write: true }), './tools/*.mjs'), MODULES],
  [
    'modules in a folder below, and can write',
    withModules({ ...elsewhere, ...files({ root: './up', write: true }) }, './up/tools/one.mjs'),
    MODULES,
  ],
  [
    'a folder that a pattern of modules looks into, and can write',
    withModules(files({ root: './up/deep', write: true }), './**/*.mjs'),
    MODULES,
  ],
  [
    'the same by the name of a tenant',
    withModules(files({ root: './up/{tenant}', write: true }), './up/*/*.mjs'),
    MODULES,
  ],
  [
    'modules by a link, and can write',
    withModules(files({ root: './link-to-tools', write: true }), './tools/*.mjs'),
    MODULES,
  ],
  [
    'an OpenAPI description, and can write',
    { tools: { openapi: './up/api.yaml', ready: { file_operations: { root: './up', write: true } } } },
    'an OpenAPI description (tools.openapi)',
  ],
  [
    'the program of another server, and can write',
    server({ command: '{folder}/up/server' }),
    'a program (mcpServers.far.command)',
  ],
  [
    'the sandbox of another server, and can write',
    server({ sandbox: ['{folder}/up/server', '--'] }),
    'a program (mcpServers.far.sandbox[0])',
  ],
  [
    'a script of another server, and can write',
    server({ args: ['--no-warnings', '{folder}/up/server'] }),
    'what a program is started with (mcpServers.far.args[1])',
  ],
  [
    'a script of another server that is not there yet, and can write',
    server({ args: ['{folder}/up/deep/later.mjs'] }),
    'what a program is started with (mcpServers.far.args[0])',
  ],
  [
    'a script in the folder of a tenant, and can write',
    server({ args: ['{folder}/up/north/server.mjs'] }, './up/{tenant}'),
    'what a program is started with (mcpServers.far.args[0])',
  ],
  [
    'a script by a link, and can write',
    server({ args: ['{folder}/link-to-script'] }),
    'what a program is started with (mcpServers.far.args[0])',
  ],
  [
    'a script named from the folder it runs in, and can write',
    server({ args: ['../up/server'], cwd: '{folder}/tools' }),
    'what a program is started with (mcpServers.far.args[0])',
  ],
  [
    'a file that a flag names, and can write',
    server({ args: ['--import={folder}/up/hook.mjs', '/usr/lib/server.mjs'] }),
    'what a program is started with (mcpServers.far.args[0])',
  ],
  [
    'a file that a flag names as an address, and can write',
    server({ args: ['--import', 'file://{folder}/up/hook.mjs', '/usr/lib/server.mjs'] }),
    'what a program is started with (mcpServers.far.args[1])',
  ],
  [
    'a folder that a program is told to run, and can write',
    server({ args: ['{folder}/up'] }),
    'what a program is started with (mcpServers.far.args[0])',
  ],
  [
    'the folder that another server runs in, and can write',
    server({ args: ['-m', 'server'], cwd: '{folder}/up/deep' }),
    'the folder that a program runs in (mcpServers.far.cwd)',
  ],
  [
    'a file that a variable of another server names as code, and can write',
    server({ env: { NODE_OPTIONS: '--import={folder}/up/hook.mjs' } }),
    'what a program loads (mcpServers.far.env.NODE_OPTIONS)',
  ],
  [
    'the folder of skills, and can write',
    { ...elsewhere, ...files({ root: './up', write: true }), skills: './up' },
    'skills (skills)',
  ],
  [
    'a skill, and can write',
    { ...elsewhere, ...files({ root: './up/deep', write: true }), skills: ['./tools', './up'] },
    'skills (skills[1])',
  ],
  [
    'a program that is run, and can write',
    {
      tools: {
        ready: {
          file_operations: { root: '/usr/bin', write: true },
          run_command: { folder: './up', commands: { count: program(false, true) } },
        },
      },
    },
    'a program (tools.ready.run_command.commands.count.file)',
  ],
  ...['../up/report', 'report.py', '{folder}/up/report'].map((script): [string, object, string] => [
    `a script that a command is started with (${script}), and can write`,
    command('./up', script),
    'what a program is started with (tools.ready.run_command.commands.count.args[1])',
  ]),
])('D2 file_operations that reaches %s is refused', async (_what, config, holder) => {
  expect(await complaintsOf(config)).toEqual([
    `tools.ready.file_operations.root would let callers reach ${holder}; give it a folder of its own`,
  ]);
});

test('D2 the folder of each tenant is checked, and refused at its place in the file', async () => {
  const roots = { north: './up', south: '.', west: './state' };
  expect(await complaintsOf({ ...elsewhere, ...files({ rootsByTenant: roots }) })).toEqual([
    `tools.ready.file_operations.rootsByTenant.south would let callers reach ${CONFIGURATION}; give it a folder of its own`,
    `tools.ready.file_operations.rootsByTenant.west would let callers reach ${DATABASE}; give it a folder of its own`,
  ]);
});

test.each([
  [programs('.'), CONFIGURATION],
  [{ ...elsewhere, ...programs('./keys') }, SECRETS],
  [withModules(programs('./tools', { readOnly: false }), './tools/*.mjs'), MODULES],
])('D2 run_command that lets callers choose such files is refused: %j', async (config, holder) => {
  expect(await complaintsOf(config)).toEqual([
    `tools.ready.run_command.folder would let callers reach ${holder}; give it a folder of its own`,
  ]);
});

test.each([
  ['query_database.url', { query_database: { url: 'sqlite:./toolcrib.db', tables: '*' } }],
  ['query_sql.url', { query_sql: { url: 'sqlite:up/../toolcrib.db', tables: ['journal'] } }],
  ['query_sql.url', { query_sql: { url: 'sqlite:./link-to-database', tables: ['keys'] } }],
  [
    'query_sql.urlByTenant.north',
    { query_sql: { urlByTenant: { south: 'sqlite:./shop.db', north: 'sqlite:toolcrib.db' }, tables: ['a'] } },
  ],
])('D1 the database of the server is refused as %s: %j', async (path, ready) => {
  expect(await complaintsOf({ tools: { ready } })).toEqual([
    `tools.ready.${path} names a file that is needed for ${DATABASE}; name a database of its own`,
  ]);
});

test.each([
  ['a folder of its own', files({ root: './up', write: true })],
  ['one for each tenant', files({ root: './up/{tenant}', write: true })],
  ['one beside the files, by the name of a tenant', files({ root: './{tenant}' })],
  ['one whose name only begins alike', { ...elsewhere, ...files({ root: './stat' }) }],
  ['modules to read', withModules(files({ root: './tools' }), './tools/*.mjs')],
  ['one beside modules', withModules(files({ root: './up', write: true }), './*.mjs', './{tools,lib}/*.mjs')],
  ['one that a pattern stops above', withModules(files({ root: './up/deep', write: true }), './up/*.mjs')],
  ['programs whose callers choose no files', programs('.', { path: false })],
  ['one in which a command runs that is started with plain words', command('./up', 'report')],
  ['skills to read', { ...elsewhere, ...files({ root: './up' }), skills: './up' }],
  [
    'a script of another server, to read',
    {
      ...elsewhere,
      ...files({ root: './up' }),
      mcpServers: { far: { command: process.execPath, args: ['{folder}/up/server'] } },
    },
  ],
  ['a script of a server that is disabled', server({ args: ['{folder}/up/server'], disabled: true })],
  [
    'a folder of data that another server has too',
    server({ args: ['files.mjs', '{folder}/up', '{folder}/up/deep'] }),
  ],
  ['a folder of data that is mounted', server({ args: ['-v', '{folder}/up/deep:/data:ro', 'image'] })],
  ['one below the folder that another server runs in', server({ args: ['server'], cwd: '{folder}' })],
  [
    'one beside the script of another server',
    server({ args: ['{folder}/tools/server.mjs', '-y', '@acme/up'] }),
  ],
  ['a server at an address', { ...server({}), mcpServers: { far: { url: 'https://up.example/mcp' } } }],
  ['another database', { tools: { ready: { query_database: { url: 'sqlite:./shop.db' } } } }],
  [
    'what would be a database, where everything is kept in memory',
    {
      store: { url: 'memory:' },
      tools: { ready: { query_database: { url: 'sqlite:./toolcrib.db', tables: '*' } } },
    },
  ],
])('D2 %s is accepted', async (_what, config) => {
  expect(await complaintsOf(config)).toEqual([]);
});

test('D2 a reload that would let callers write the server’s code changes nothing', async () => {
  const crib = await openCrib({ files: { 'up/note.txt': 'mine', 'tools/one.mjs': '' } });
  const ready = (root: string): object => ({ file_operations: { root, write: true } });
  crib.configure({ tools: { modules: ['./tools/*.mjs'], ready: ready('./up') } });
  await crib.reload();
  crib.configure({ tools: { modules: ['./tools/*.mjs'], ready: ready('.') } });
  await expect(crib.reload()).rejects.toMatchObject({ code: 'invalid_config' });
  const peer = await crib.connect('ada');
  const write = { operation: 'write', path: 'tools/evil.mjs', content: EVIL };
  expect((await peer.call('file_operations', write)).isError).toBe(true);
});

async function complaintsOf(config: object): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-reach-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['tools', 'up/deep', 'state/north', 'stat', 'keys', 'copies'])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['keys/title', 'toolcrib.db']) writeFileSync(join(folder, name), 'Tools');
  symlinkSync('tools', join(folder, 'link-to-tools'));
  symlinkSync('state', join(folder, 'link-to-state'));
  symlinkSync('toolcrib.db', join(folder, 'link-to-database'));
  symlinkSync('up/server', join(folder, 'link-to-script'));
  writeFileSync(join(folder, 'up/server'), '', { mode: 0o755 });
  const file = join(folder, 'toolcrib.yaml');
  writeFileSync(file, JSON.stringify(config).replaceAll('{folder}', folder));
  const { complaints } = await readConfig(file);
  for (const { line, column } of complaints) expect([line, column]).not.toContain(0);
  return complaints.map(({ path, message, remedy }) => `${path} ${message}; ${remedy}`);
}
