import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'libsql';
import { expect, onTestFinished, test, vi } from 'vitest';
import { check } from './check.ts';

const tool = `export const look = {
  name: 'look_up', description: 'Looks something up.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } }, handler: () => 1,
};`;

test('a valid configuration is summed up', async () => {
  const { file, run } = setUp('tools: { modules: [./tools/*.ts] }\naccess: [{ tools: ["*"] }]\n', {
    'look.ts': tool,
  });
  expect(await run()).toEqual({ output: `${file} is good: 4 tools, 1 module, 1 rule.\n`, code: undefined });
});

test('other servers are counted, except those that are switched off', async () => {
  const entries =
    'a: { command: node }, b: { url: "https://b.example/mcp" }, c: { command: node, disabled: true }';
  const { output } = await setUp(`mcpServers: { ${entries} }\n`).run();
  expect(output).toMatch(/ is good: 3 tools, 2 other servers\.\n$/);
});

test('agents are counted, and the tools they name are compared with the existing tools', async () => {
  const { file, run } = setUp(
    `tools: { modules: [./tools/*.ts] }
agents:
  support: { model: gpt-5.4, tools: [look_up, lok_up], serve: true }
  helper: { tools: ["look*"] }
access: [{ tools: [ask_support] }]
`,
    { 'look.ts': tool },
  );
  vi.stubEnv('OPENAI_API_KEY', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { output, code } = await run();
  expect(code).toBeUndefined();
  expect(output.split('\n')).toEqual([
    `${file}:3:47: warning: agents.support.tools[1] matches no tool; did you mean "look_up"?`,
    `${file}:3:21: warning: agents.support.model needs a key in OPENAI_API_KEY, which is not set; set the variable.`,
    `${file} is good: 5 tools, 1 module, 2 agents, 1 rule.`,
    '',
  ]);
  const unknown = setUp('agents: { support: { model: nobodys, serve: true } }\n');
  expect(await unknown.run()).toEqual({
    output: `${unknown.file}:1:29: agents.support.model names a model that nothing here knows; write its keys: name, with api or baseUrl.\n`,
    code: 1,
  });
});

test('each problem is reported with its place: in the file, in a module, in a rule', async () => {
  const { file, run } = setUp(
    `tools: { modules: [./tools/*.ts, ./none/*.ts] }
access:
  - { tools: [lok_up] }
  - tools: [look_up]
    when: args.cty == 'x'
`,
    { 'look.ts': tool, 'bad.ts': 'export const x = ;' },
  );
  const { output, code } = await run();
  expect(code).toBe(1);
  expect(output.split('\n')).toEqual([
    `${file}:1:34: warning: tools.modules[1] matches no file; correct it, or leave it out.`,
    expect.stringMatching(
      /:1:19: tools\.modules names a file that cannot be used, tools\/bad\.ts: .*bad\.ts:1/,
    ),
    expect.stringMatching(/:3:14: warning: access\[0\]\.tools/),
    expect.stringMatching(/:5:11: access\[1\]\.when: .*cty/),
    '',
  ]);
});

test.each(['(', String.raw`(a)\1`, '(?=a)'])(
  'an OpenAPI pattern that serve could not use is reported at its place: %s',
  async (pattern) => {
    const { file, run } = setUp(
      `stages:\n  sanitize:\n    patterns: { ticket: ${JSON.stringify(pattern)} }\n`,
    );
    const { output, code } = await run();
    expect(code).toBe(1);
    expect(output).toContain(
      `${file}:3:25: stages.sanitize.patterns.ticket is not a pattern that can be used`,
    );
  },
);

test('a folder in which callers could write a file that a module imports is reported at its place, and the module is not run', async () => {
  const { file, run } = setUp(
    `tools:
  modules: [./tools/look.ts]
  ready:
    file_operations: { root: ./tools/files, write: true }
`,
    { 'look.ts': `import './files/evil.ts';\n${tool}`, 'files/evil.ts': 'process.exitCode = 7;' },
  );
  const { output, code } = await run();
  expect(output).toBe(
    `${file}:4:30: tools.ready.file_operations.root would let callers reach tools/files/evil.ts, which tools/look.ts imports; give it a folder of its own.\n`,
  );
  expect(code).toBe(1);
});

test('--json prints the same as JSON', async () => {
  const { file, run } = setUp('colour: blue\n');
  const { output, code } = await run({ json: true });
  expect(code).toBe(1);
  expect(JSON.parse(output)).toMatchObject({
    ok: false,
    file,
    complaints: [{ line: 1, column: 1, path: 'colour', severity: 'error' }],
  });
});

test('a warning alone is no failure', async () => {
  const { run } = setUp('auth: { keys: {} }\n');
  const { output, code } = await run();
  expect(output).toMatch(/warning: access has no rules.*\n.* is good: 3 tools\.\n/);
  expect(code).toBeUndefined();
});

const api = JSON.stringify({
  openapi: '3.1.0',
  servers: [{ url: 'https://pets.example' }],
  paths: {
    '/pets': {
      get: { operationId: 'listPets' },
      post: { operationId: 'addPhoto', requestBody: { content: { 'multipart/form-data': {} } } },
      put: { operationId: 'ping', requestBody: { content: { 'application/json': {} } } },
    },
  },
});

test('operations that an OpenAPI import leaves out are a warning at its entry', async () => {
  const { file, run } = setUp(
    'tools:\n  ready: {}\n  openapi:\n    - { file: ./tools/pets.json, prefix: a_ }\n    - ./tools/pets.json\n',
    { 'pets.json': api },
  );
  const { output, code } = await run();
  const why =
    'POST /pets is left out: it takes multipart/form-data, and only JSON, text and plain bytes are sent.';
  expect(output.split('\n')).toEqual([
    `${file}:4:7: warning: tools.openapi[0]: ${why}`,
    `${file}:5:7: warning: tools.openapi[1]: ${why}`,
    `${file} is good: 4 tools.`,
    '',
  ]);
  expect(code).toBeUndefined();
});

test('two tools of one name are reported at the entry that can be changed', async () => {
  const { file, run } = setUp(
    'tools:\n  ready: { ping: {} }\n  openapi:\n    - ./tools/pets.json\n    - ./tools/pets.json\n',
    { 'pets.json': api },
  );
  const { output, code } = await run();
  expect(output.split('\n')).toEqual([
    `${file}:4:7: tools.openapi[0] offers a tool named "ping", and so does tools.ready.ping; set "prefix" here.`,
    `${file}:5:7: tools.openapi[1] offers a tool named "listPets", and so does tools.openapi[0]; set "prefix" here.`,
    '',
  ]);
  expect(code).toBe(1);
});

test('a ready-made tool with the name of another tool is reported at its entry', async () => {
  const { file, run } = setUp(
    'tools:\n  ready:\n    ping: {}\n    query_database: { url: "sqlite:./shop.db", tables: [orders], name: ping }\n',
  );
  const shop = new Database(join(dirname(file), 'shop.db'));
  shop.exec('CREATE TABLE orders (id INTEGER)');
  shop.close();
  const { output, code } = await run();
  expect(output).toMatch(
    /:4:\d+: tools\.ready\.query_database offers a tool named "ping", and so does tools\.ready\.ping; set another "name" here\.\n$/,
  );
  expect(code).toBe(1);
});

test.each([
  [
    'stages: { audit: { checkpoints: [./toolcrib.secrets] } }',
    '1:34: stages.audit.checkpoints[0]',
    'the secrets (store.secrets)',
  ],
  [
    'stages: { audit: { checkpoints: [a, ./toolcrib.yaml] } }',
    '1:37: stages.audit.checkpoints[1]',
    'this configuration',
  ],
  [
    'stages: { audit: { checkpoints: [./toolcrib.db] } }',
    '1:34: stages.audit.checkpoints[0]',
    'the database (store.url)',
  ],
  [
    'stages: { audit: { checkpoints: [./toolcrib.db-wal] } }',
    '1:34: stages.audit.checkpoints[0]',
    'the database (store.url)',
  ],
  [
    'stages: { audit: { checkpoints: [tools/../toolcrib.db-shm] } }',
    '1:34: stages.audit.checkpoints[0]',
    'the database (store.url)',
  ],
  [
    'stages: { audit: { checkpoints: [a, ./a] } }',
    '1:37: stages.audit.checkpoints[1]',
    'checkpoints (stages.audit.checkpoints[0])',
  ],
  [
    'stages: { audit: { checkpoints: [link.yaml] } }',
    '1:34: stages.audit.checkpoints[0]',
    'this configuration',
  ],
  [
    'stages: { audit: { checkpoints: [same/a, tools/a] } }',
    '1:42: stages.audit.checkpoints[1]',
    'checkpoints (stages.audit.checkpoints[0])',
  ],
  ['store: { secrets: ./toolcrib.db }', '1:19: store.secrets', 'the database (store.url)'],
  [
    'store: { secrets: ./toolcrib.checkpoints }',
    '1:19: store.secrets',
    'checkpoints (stages.audit.checkpoints[0])',
  ],
  ['store: { url: "sqlite:toolcrib.secrets" }', '1:15: store.url', 'the secrets (store.secrets)'],
  ['store: { url: "sqlite:./toolcrib.yaml" }', '1:15: store.url', 'this configuration'],
  [
    'server: { title: "${file:./title}" }\nstore: { secrets: title }',
    '2:19: store.secrets',
    'a secret that is read from it',
  ],
])('%s is refused: two settings name the same file', async (source, place, holder) => {
  const { file, run } = setUp(`${source}\n`);
  symlinkSync(file, join(dirname(file), 'link.yaml'));
  symlinkSync('tools', join(dirname(file), 'same'));
  writeFileSync(join(dirname(file), 'title'), 'Tools');
  expect(await run()).toEqual({
    output: `${file}:${place} names a file that is needed for ${holder}; give it a file of its own.\n`,
    code: 1,
  });
});

test('a tool that would reach files of the server is refused at its place', async () => {
  const { file, run } = setUp(
    'tools:\n  modules: [./tools/*.mjs]\n  ready:\n    file_operations: { root: ., write: true }\n',
  );
  expect(await run()).toEqual({
    output: `${file}:4:30: tools.ready.file_operations.root would let callers reach this configuration; give it a folder of its own.\n`,
    code: 1,
  });
});

test('a rule whose condition gives text or a number is refused at its place', async () => {
  const { file, run } = setUp(
    'tools: { modules: [./tools/*.ts] }\naccess:\n  - { tools: [look_up], when: args.city }\n',
    { 'look.ts': tool },
  );
  expect(await run()).toEqual({
    output: `${file}:3:31: access[0].when: The condition takes args.city for true or false, which it is not. Compare it with something, or ask whether it is there with has(...).\n`,
    code: 1,
  });
});

test('a folder in place of a file is reported as a folder', async () => {
  const { file, run } = setUp('');
  expect(await run({}, dirname(file))).toEqual({
    output: `${dirname(file)}: This is a folder; name the file in it, such as toolcrib.yaml.\n`,
    code: 1,
  });
});

test('different files with similar names are accepted, and so are any paths with a store in memory', async () => {
  for (const source of [
    'stages: { audit: { checkpoints: [./a, ./b/a, ./toolcrib.db.checkpoints] } }',
    'store: { url: "memory:" }\nstages: { audit: { checkpoints: [./toolcrib.secrets] } }',
    'stages: { audit: false }\nstore: { secrets: ./toolcrib.checkpoints }',
  ])
    expect((await setUp(`${source}\n`).run()).output).toMatch(/ is good: 3 tools\.\n$/);
});

function setUp(source: string, tools: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-check-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'toolcrib.yaml');
  writeFileSync(file, source);
  mkdirSync(join(folder, 'tools'));
  for (const [name, text] of Object.entries(tools)) {
    mkdirSync(dirname(join(folder, 'tools', name)), { recursive: true });
    writeFileSync(join(folder, 'tools', name), text);
  }
  const run = async (flags: { json?: boolean } = {}, checked = file) => {
    let output = '';
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      output += String(text);
      return true;
    });
    try {
      await check(checked, flags);
      return { output, code: process.exitCode };
    } finally {
      spy.mockRestore();
      process.exitCode = undefined;
    }
  };
  return { file, run };
}
