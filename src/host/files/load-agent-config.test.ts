import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { array, assert, asyncProperty, constantFrom, stringMatching } from 'fast-check';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { formatComplaint } from '../../config/complaint.ts';
import type { ServerEntryInput } from '../../config/servers.ts';
import type { AgentConfig, AgentServer } from '../agent-config.ts';
import { describeGrants } from './describe-grants.ts';
import { notHonoured } from './foreign-draft.ts';
import { loadAgentConfig, readAgentFile } from './load-agent-config.ts';
import { POWER_FIELDS, SERVER_POWER_FIELDS } from './power-fields.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
const scratch = mkdtempSync(join(tmpdir(), 'toolcrib-agents-'));
mkdirSync(join(scratch, 'prompts'));
writeFileSync(join(scratch, 'prompts/review.txt'), 'Review with care.\n');
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const known: Readonly<Record<string, ServerEntryInput>> = {
  github: { url: 'https://github.example/mcp' },
  linear: { url: 'https://linear.example/mcp' },
  'my-mcp': { command: 'my-mcp' },
};

interface Case {
  readonly title: string;
  readonly source: string;
  readonly expected: string;
}

// Each file holds cases: a line with the place, the servers that are known and the variables; the file; what it means.
for (const name of readdirSync(fixtures)) {
  test.each(casesIn(join(fixtures, name)).map((one) => [one.title, one] as const))(
    `${basename(name, '.txt')}: %s is read with the meaning of its format`,
    async (_title, { title, source, expected }) => {
      expect(await meaningOf(title, source)).toBe(expected);
    },
  );
}

test('an agent declares its servers in YAML, and every error has its line and column (003-26)', async () => {
  const file = written('shop.yaml', [
    'name: shop',
    'instructions: Answer.',
    'mcpServers:',
    '  orders: { command: node, args: [orders.js], env: { KEY: "${KEY}" }, tools: [get_order] }',
    '  web: { url: "https://web.example/mcp", tools: "*" }',
  ]);
  const { servers } = await loadAgentConfig(file, { env: { KEY: 'secret-1' } });
  expect(servers['orders']?.entry).toMatchObject({
    command: 'node',
    args: ['orders.js'],
    env: { KEY: 'secret-1' },
  });
  expect(servers['web']?.entry).toMatchObject({ url: 'https://web.example/mcp' });
  const wrong = written('wrong-shop.yaml', ['mcpServers:', '  orders:', '    comand: node']);
  await expect(loadAgentConfig(wrong)).rejects.toMatchObject({
    code: 'invalid_config',
    message: `${wrong}:3:5: mcpServers.orders.comand is not a key here; did you mean "command"?`,
    data: { complaints: [{ line: 3, column: 5, path: 'mcpServers.orders.comand' }] },
  });
});

test('the same agent in JSON and in TypeScript is the same agent (003-26)', async () => {
  const agent = { name: 'same', mcpServers: { orders: { command: 'node', tools: ['get_order'] } } };
  const files = [
    written('same.yaml', ['name: same', 'mcpServers: { orders: { command: node, tools: [get_order] } }']),
    written('same.json', [JSON.stringify(agent)]),
    written('same.ts', [`const agent: object = ${JSON.stringify(agent)};`, 'export default agent;']),
    written('same.mjs', [`export default ${JSON.stringify(agent)};`]),
  ];
  const read = await Promise.all(files.map((file) => loadAgentConfig(file)));
  expect(new Set(read.map((config) => JSON.stringify({ ...config, file: '' }))).size).toBe(1);
});

test('tools lists the allowed names, "*" means all, a denial wins, and nothing means none (003-27)', async () => {
  const file = written('rules.yaml', [
    'mcpServers:',
    '  listed: { command: x, tools: [get_order, "list_*"] }',
    '  all: { command: x, tools: "*" }',
    '  denied: { command: x, tools: { allow: "*", deny: [delete_order] } }',
    '  none: { command: x }',
  ]);
  const { servers } = await loadAgentConfig(file);
  expect(Object.fromEntries(Object.entries(servers).map(([name, { tools }]) => [name, tools]))).toEqual({
    listed: { allow: ['get_order', 'list_*'], deny: [] },
    all: { allow: ['*'], deny: [] },
    denied: { allow: ['*'], deny: ['delete_order'] },
    none: { allow: [], deny: [] },
  });
});

test('one of several agents is named after a "#"; otherwise it is root, or an error that lists them', async () => {
  const team = written('team-of-two.yaml', [
    'agents:',
    '  writer: { instructions: W }',
    '  critic: { instructions: C }',
  ]);
  expect((await loadAgentConfig(`${team}#critic`)).instructions).toBe('C');
  await expect(loadAgentConfig(team)).rejects.toThrow(
    `The file has several agents: writer, critic; say which: ${team}#writer.`,
  );
  await expect(loadAgentConfig(`${team}#editor`)).rejects.toThrow(
    'The file has no agent "editor", but writer, critic',
  );
  const rooted = written('rooted.yaml', ['agents:', '  other: {}', '  root: { instructions: R }']);
  expect((await loadAgentConfig(rooted)).name).toBe('root');
  const hashed = written('a#b.yaml', ['name: hashed']);
  expect((await loadAgentConfig(hashed)).name).toBe('hashed');
});

test('the caller can say which format a file has', async () => {
  const file = written('odd.md', ['---', 'description: odd', 'tools: [github/get_*]', '---', 'Odd.']);
  const servers = { github: known['github']! };
  expect((await loadAgentConfig(file, { servers })).format).toBe('copilot');
  const opencode = await loadAgentConfig(file, { servers, format: 'opencode' });
  expect(opencode).toMatchObject({ format: 'opencode', servers: {} });
});

// As files of other programs write it: each would make calls run without a question, run code, or open files.
const power: readonly (readonly [key: string, value: unknown])[] = [
  ['permissionMode', 'bypassPermissions'],
  ['permission_mode', 'acceptEdits'],
  ['permissions', { allow: ['*'] }],
  ['permissions', { defaultMode: 'bypassPermissions' }],
  ['dangerouslySkipPermissions', true],
  ['bypassPermissions', true],
  ['allowed-tools', ['*']],
  ['allowedTools', ['*']],
  ['allowed_tools', ['*']],
  ['autoApprove', ['*']],
  ['alwaysAllow', ['*']],
  ['trust', true],
  ['yolo', true],
  ['toolsSettings', { fs_write: { allowedPaths: ['/'] } }],
  ['hooks', { PreToolUse: [] }],
  ['tool_hooks', { before: 'x.py:go' }],
  ['lifecycle_hooks', { start: 'x.py:go' }],
  ['runtime', { safety: 'autonomous' }],
  ['safety', 'autonomous'],
  ['sandbox_mode', 'danger-full-access'],
  ['approval_policy', 'never'],
  ['shell', true],
  ['function_tools', ['x.py:run']],
  ['code_mode_tools', true],
  ['human_input', 'never'],
  ['additionalDirectories', ['/']],
];

const formats: readonly (readonly [place: string, text: (settings: object) => string])[] = [
  ['.claude/agents/power.md', markdown],
  ['.github/agents/power.agent.md', markdown],
  ['.opencode/agents/power.md', markdown],
  ['.gemini/agents/power.md', markdown],
  ['.fast-agent/agent-cards/power.md', markdown],
  ['.amazonq/cli-agents/power.json', (settings) => JSON.stringify(settings)],
  [
    'power-docker.yaml',
    (settings) => JSON.stringify({ agents: { power: { instruction: 'x', ...settings } }, models: {} }),
  ],
];

test.each(formats)(
  'no field of %s that asks for more power changes anything except the notes',
  async (place, text) => {
    const plain = { name: 'power', description: 'x', mcpServers: { files: { command: 'files' } } };
    const read = async (settings: object): Promise<AgentConfig> =>
      loadAgentConfig(written(place, [text(settings)]));
    const without = await read(plain);
    for (const [key, value] of power) {
      const { notes, ...rest } = await read({ ...plain, [key]: value });
      const note = notes.filter((one) => !without.notes.includes(one));
      expect({ key, note }).toEqual({
        key,
        note: [expect.stringMatching(new RegExp(`${key}\\b.*: not honoured`))],
      });
      expect({ ...rest, notes: without.notes }).toEqual(without);
    }
    expect(power.flatMap(([key, value]) => namesOf(key, value)).toSorted()).toEqual(
      [...POWER_FIELDS].toSorted(),
    );
  },
);

test('no field of a server that asks for more power changes anything except the notes', async () => {
  const read = async (entry: object): Promise<AgentConfig> =>
    loadAgentConfig(
      written('.claude/agents/server.md', [
        markdown({ name: 'x', mcpServers: { files: { command: 'files', ...entry } } }),
      ]),
    );
  const without = await read({});
  for (const key of SERVER_POWER_FIELDS) {
    const { notes, ...rest } = await read({ [key]: ['*'] });
    expect(notes).toContain(notHonoured([`files.${key}`]));
    expect({ ...rest, notes: without.notes }).toEqual(without);
  }
});

test('a variable in a text of another format is not expanded', async () => {
  const file = written('.claude/agents/words.md', [
    '---',
    'name: words',
    'description: "${HOME}"',
    '---',
    'Say ${HOME}.',
  ]);
  expect(await loadAgentConfig(file, { env: { HOME: '/secret' } })).toMatchObject({
    description: '${HOME}',
    instructions: 'Say ${HOME}.',
  });
});

test('a secret file is read only for our own format, and values from outside are never repeated', async () => {
  writeFileSync(join(scratch, 'key.txt'), 'canary-1234\n');
  const own = written('own-secret.yaml', [
    'mcpServers: { a: { url: "https://a.example", headers: { key: "${file:key.txt}" } } }',
  ]);
  const read = await readAgentFile(own);
  expect(read.configs[0]?.servers['a']?.entry).toMatchObject({ headers: { key: 'canary-1234' } });
  expect(read.secrets).toEqual(['canary-1234']);
  const foreign = written('.claude/agents/secret.md', [
    '---',
    'name: s',
    'mcpServers: { a: { url: "https://a.example/${file:key.txt}" } }',
    '---',
  ]);
  expect((await readAgentFile(foreign)).complaints.map(formatComplaint).join()).toContain(
    'cannot be read (only in toolcrib.yaml)',
  );
  const wrong = written('wrong-secret.yaml', [
    'model: { name: x, keyVariable: "${KEY}" }',
    'prefix: "${KEY}"',
  ]);
  const { complaints } = await readAgentFile(wrong, { env: { KEY: 'must be the name canary' } });
  expect(JSON.stringify(complaints)).not.toContain('canary');
});

test('a file cannot show a model hidden files, settings of other programs, or other projects', async () => {
  writeFileSync(join(scratch, '.env'), 'KEY=canary');
  mkdirSync(join(scratch, '.aws'));
  writeFileSync(join(scratch, '.aws/credentials'), 'canary');
  const [hidden, settings] = ['.amazonq', '.aws/amazonq'].map((folder) =>
    written(`${folder}/cli-agents/reads.json`, [
      `{ "prompt": "file://../../${folder === '.amazonq' ? '.env' : 'credentials'}" }`,
    ]),
  );
  const other = written('.trees/mine/reads.md', ['---', 'prompt: "{file:../../prompts/review.txt}"', '---']);
  const readings = [
    await readAgentFile(hidden!),
    await readAgentFile(settings!, { env: { HOME: scratch } }),
    await readAgentFile(other, { format: 'opencode' }),
  ];
  for (const { configs, complaints } of readings) {
    expect(configs).toEqual([]);
    expect(complaints).toMatchObject([{ message: expect.stringMatching(/hidden|outside of the project/) }]);
  }
});

test('a symbolic link out of the project is not followed', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'toolcrib-outside-'));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  symlinkSync(join(outside, 'secret.txt'), join(scratch, 'prompts/link.txt'));
  const file = written('.amazonq/cli-agents/link.json', ['{ "prompt": "file://../../prompts/link.txt" }']);
  expect((await readAgentFile(file)).complaints).toMatchObject([
    { message: expect.stringContaining('outside of the project') },
  ]);
});

test.each([
  ['larger than 1048576 bytes', Buffer.from(`# ${'x'.repeat(1_100_000)}`)],
  ['not UTF-8', Buffer.from([0x6e, 0x61, 0x6d, 0x65, 0x3a, 0x20, 0xff, 0xfe])],
  ['not text', Buffer.from('name: a\0b')],
  ['bracket', Buffer.from(`mcpServers: ${'['.repeat(5_000)}`)],
  ['', Buffer.from(`mcpServers: ${'{a: '.repeat(2_500)}`)],
])('a hostile file ends in one clear error: %s', async (message, bytes) => {
  for (const name of ['hostile.yaml', 'hostile.json', '.claude/agents/hostile.md']) {
    const isMarkdown = name.endsWith('.md');
    const file = written(name, []);
    writeFileSync(
      file,
      isMarkdown ? Buffer.concat([Buffer.from('---\n'), bytes, Buffer.from('\n---\n')]) : bytes,
    );
    const { configs, complaints } = await readAgentFile(file);
    expect({ name, configs, count: complaints.length }).toEqual({ name, configs: [], count: 1 });
    if (message !== 'bracket') expect(formatComplaint(complaints[0]!)).toContain(message);
  }
});

test('oversized settings, a folder and a pipe are errors', async () => {
  const long = written('.claude/agents/long.md', ['---', `description: ${'x'.repeat(70_000)}`, '---', 'x']);
  expect((await readAgentFile(long)).complaints).toMatchObject([
    { message: expect.stringContaining('longer than 65536') },
  ]);
  expect((await readAgentFile(scratch)).complaints).toMatchObject([{ message: 'This is a folder' }]);
  const pipe = join(scratch, 'pipe.yaml');
  execFileSync('mkfifo', [pipe]);
  expect((await readAgentFile(pipe)).complaints).toMatchObject([
    { message: 'The file cannot be read (not an ordinary file)' },
  ]);
  expect((await readAgentFile(join(scratch, 'nowhere.yaml'))).complaints).toMatchObject([
    { message: 'There is no such file' },
  ]);
});

test('reading any text ends with an agent or with error messages', async () => {
  const line = stringMatching(/^[ \t]*[-?&*!|>'"%@`{}[\],:#$a-z0-9 ]{0,30}$/);
  const places = [
    'any.yaml',
    'any.json',
    '.claude/agents/any.md',
    '.opencode/agents/any.md',
    '.github/agents/any.md',
  ];
  await assert(
    asyncProperty(array(line, { maxLength: 8 }), constantFrom(...places), async (lines, place) => {
      const isMarkdown = place.endsWith('.md');
      const file = written(place, isMarkdown ? ['---', ...lines, '---', 'x'] : lines);
      const { configs, complaints } = await readAgentFile(file, { servers: known });
      expect(configs.length === 0).toBe(complaints.some(({ severity }) => severity === 'error'));
    }),
    { numRuns: propertyRuns() },
  );
});

test('a module that throws, exports nothing or never finishes is an error', async () => {
  const throws = written('throws.ts', ['throw new Error("no luck");']);
  expect((await readAgentFile(throws)).complaints).toMatchObject([
    { message: 'The module cannot be loaded: no luck' },
  ]);
  const empty = written('empty-module.ts', ['export const a = 1;']);
  expect((await readAgentFile(empty)).complaints).toHaveLength(1);
  const wrong = written('wrong-module.ts', ['export default { nmae: 1 };']);
  expect((await readAgentFile(wrong)).complaints.map(formatComplaint)).toEqual([
    `${wrong}: nmae is not a key here; did you mean "name"?`,
  ]);
  expect((await readAgentFile(join(scratch, 'gone.ts'))).configs).toEqual([]);
});

function markdown(settings: object): string {
  return `---\n${JSON.stringify(settings)}\n---\nText.`;
}

function namesOf(key: string, value: unknown): string[] {
  const isNested = key === 'permissions' || key === 'runtime';
  return isNested ? Object.keys(value as object).map((inner) => `${key}.${inner}`) : [key];
}

function written(place: string, lines: readonly string[]): string {
  const file = join(scratch, place);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

function casesIn(file: string): Case[] {
  const [, ...parts] = readFileSync(file, 'utf8').split(/^====== /m);
  return parts.map((part) => {
    const [title = '', ...lines] = part.split('\n');
    const [source = '', expected = ''] = lines.join('\n').split(/^-{10}\n/m);
    return { title, source, expected };
  });
}

async function meaningOf(title: string, source: string): Promise<string> {
  const {
    place = '',
    names,
    variables,
  } = /^(?<place>\S+)(?: knows (?<names>[\w, -]+?))?(?: with (?<variables>.*))?$/.exec(title)?.groups ?? {};
  const file = written(place, []);
  writeFileSync(file, source);
  const servers = Object.fromEntries((names?.split(', ') ?? []).map((name) => [name, known[name]!]));
  const env = Object.fromEntries(
    (variables?.split(', ') ?? []).map((pair) => pair.split('=') as [string, string]),
  );
  const { configs, complaints } = await readAgentFile(file, { servers, env });
  const said = [...complaints.map(formatComplaint), ...configs.map(told)].map((text) => `${text}\n`).join('');
  return said.replaceAll(scratch, '');
}

function told(config: AgentConfig): string {
  const { name, format, description, instructions, model, limits, agents, notes, unknown, servers } = config;
  const { prefix, mode, outputSchema, skills } = config;
  const facts = Object.entries({
    format,
    name,
    description,
    instructions,
    model,
    prefix,
    mode,
    limits,
    agents,
    outputSchema,
    skills,
  })
    .filter(([key, value]) => !isUsual(key, value))
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [
    ...facts,
    describeGrants(config),
    ...Object.entries(servers).map(([server, one]) => `${server} = ${JSON.stringify(unusual(one))}`),
    ...notes.map((note) => `note: ${note}`),
    ...(Object.keys(unknown).length > 0 ? [`unknown: ${JSON.stringify(unknown)}`] : []),
    '',
  ].join('\n');
}

const usual: Readonly<Record<string, unknown>> = {
  headers: {},
  env: {},
  args: [],
  tools: '*',
  protocol: 'auto',
  timeoutSeconds: 60,
  disabled: false,
  resources: { allow: [], deny: [] },
  prompts: { allow: [], deny: [] },
  trust: 'untrusted',
  parallel: 'read-only',
  load: 'auto',
  retryMs: 1_000,
};

// What differs from the defaults.
function unusual({ entry, tools: _tools, ...rest }: AgentServer): object {
  const all = Object.entries({ ...entry, ...rest });
  return Object.fromEntries(
    all.filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(usual[key])),
  );
}

function isUsual(key: string, value: unknown): boolean {
  if (value === undefined || value === '' || value === false || value === 'collisions') return true;
  if (key === 'agents') return (value as unknown[]).length === 0;
  return ['{}', '{"turns":50}'].includes(JSON.stringify(value));
}
