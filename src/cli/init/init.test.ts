import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { check } from '../check.ts';
import { init } from './init.ts';
import { lint } from '../lint.ts';
import { loadAgentConfig } from '../../host/files/load-agent-config.ts';
import { createServer } from '../../server/create-server.ts';
import { createTestClient, recordingSource } from '../../testing.ts';
import { cli, startNode } from '../../../test/behaviour/child.ts';
import { runCommandLine } from '../../../test/behaviour/run-command-line.ts';
import { makeProject, run, scratch, toolOf } from '../../../test/cli/projects.ts';

const kinds = ['query', 'action', 'transformation'] as const;

async function clientOf(folder: string) {
  const source = recordingSource(await toolOf(folder));
  return { source, client: createTestClient(createServer({ source })) };
}

describe.each(kinds)('a project for %s', (template) => {
  test('passes toolcrib check and toolcrib lint', async () => {
    const file = join(await makeProject({ template }), 'toolcrib.yaml');
    const output: string[] = [];
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => output.push(String(text)) > 0);
    await check(file, { json: true });
    await lint([file], { json: true, strict: true });
    expect(output.map((text) => JSON.parse(text))).toMatchObject([
      { ok: true, complaints: [], summary: '1 tool, 1 module' },
      { ok: true, counts: { error: 0, warning: 0, hint: 0 } },
    ]);
  });

  test('has a description with three parts, each asked for by name (000-27)', async () => {
    const words = { does: "Does what's asked.", returns: 'Returns "it".', when: 'Use it \\ always.' };
    expect((await toolOf(await makeProject({ template, ...words }))).description).toBe(
      `Does what's asked. Returns "it". Use it \\ always.`,
    );
    expect((await toolOf(await makeProject({ template }))).description).toMatch(
      /^\w.*\. Returns .*\. Use it .*\.$/,
    );
  });
});

test('the query template is search_documents, with a query and a default limit of 10 (003-23)', async () => {
  const { client, source } = await clientOf(await makeProject({ template: 'query' }));
  const [tool] = await client.listTools();
  expect(tool).toMatchObject({
    name: 'search_documents',
    inputSchema: { properties: { query: { type: 'string' }, limit: { type: 'number', default: 10 } } },
    annotations: { readOnlyHint: true },
  });
  const found = await client.callTool('search_documents', { query: 'invoice' });
  expect(found.structuredContent).toMatchObject({ total: 2 });
  expect(source.calls[0]).toMatchObject({ arguments: { query: 'invoice', limit: 10 } });
  const refused = await client.callTool('search_documents', { query: 'invoice', limit: 'many' });
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('limit') });
});

test('the action template is send_email, with a required address, subject and body (003-24)', async () => {
  const { client, source } = await clientOf(await makeProject({ template: 'action' }));
  const [tool] = await client.listTools();
  expect(tool).toMatchObject({
    name: 'send_email',
    inputSchema: {
      properties: {
        to: { type: 'string', format: 'email' },
        subject: { type: 'string' },
        body: { type: 'string' },
      },
      required: ['to', 'subject', 'body'],
    },
    annotations: { readOnlyHint: false, openWorldHint: true },
  });
  const good = { to: 'ada@example.com', subject: 'Hello', body: 'How are you?' };
  expect((await client.callTool('send_email', good)).structuredContent).toMatchObject({ to: good.to });
  const wrong = [
    'ada',
    'ada@',
    '@example.com',
    'ada@example',
    'a b@example.com',
    'ada@example.com\nbcc: eve@example.com',
  ];
  for (const to of wrong)
    expect(await client.callTool('send_email', { ...good, to })).toMatchObject({ isError: true });
  for (const name of ['to', 'subject', 'body']) {
    const refused = await client.callTool('send_email', { ...good, [name]: undefined });
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining(name) });
  }
  expect(
    await client.callTool('send_email', { ...good, subject: 'a\r\nbcc: eve@example.com' }),
  ).toMatchObject({
    isError: true,
  });
  expect(source.calls).toHaveLength(1);
});

test('the transformation template is convert_currency, with codes of three capital letters (003-25)', async () => {
  const { client, source } = await clientOf(await makeProject({ template: 'transformation' }));
  const [tool] = await client.listTools();
  const code = { type: 'string', pattern: '^[A-Z]{3}$' };
  expect(tool).toMatchObject({
    name: 'convert_currency',
    inputSchema: { properties: { amount: { type: 'number' }, from: code, to: code } },
    annotations: { readOnlyHint: true },
  });
  const good = { amount: 10, from: 'EUR', to: 'USD' };
  expect((await client.callTool('convert_currency', good)).structuredContent).toMatchObject({ amount: 11 });
  for (const from of ['eur', 'Eur', 'EU', 'EURO', 'EUR\n', ' EUR', '']) {
    expect(await client.callTool('convert_currency', { ...good, from })).toMatchObject({ isError: true });
    expect(await client.callTool('convert_currency', { ...good, to: from })).toMatchObject({ isError: true });
  }
  expect(source.calls).toHaveLength(1);
});

test('init writes everything a project needs, and overwrites nothing', async () => {
  const folder = await makeProject({ name: '2024' });
  const written = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  expect(written.filter((name) => !name.startsWith('node_modules')).toSorted()).toEqual([
    '.gitignore',
    'README.md',
    'package.json',
    'toolcrib.yaml',
    'tools',
    'tools/search-documents.test.ts',
    'tools/search-documents.ts',
    'tsconfig.json',
  ]);
  const configuration = readFileSync(join(folder, 'toolcrib.yaml'), 'utf8');
  expect(configuration).toMatch(
    /^# yaml-language-server: \$schema=\.\/node_modules\/toolcrib\/toolcrib\.schema\.json\n/,
  );
  expect(parse(configuration)).toMatchObject({ server: { name: '2024' } });
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain('npm install\nnpm test\nnpm start\n');
  for (const file of ['README.md', 'package.json', 'toolcrib.yaml', 'tsconfig.json', '.gitignore']) {
    rmSync(join(folder, file));
    await expect(init(folder, { yes: true })).rejects.toThrow('There are already');
    writeFileSync(join(folder, file), 'mine');
  }
});

test('the README of a project names the chosen tool', async () => {
  const readme = readFileSync(join(await makeProject({ tool: 'find_orders' }), 'README.md'), 'utf8');
  expect(readme).toContain('`tools/find-orders.ts` is the tool `find_orders`.');
});

test('init names the files that are in its way, and writes nothing', async () => {
  const folder = scratch();
  writeFileSync(join(folder, 'README.md'), 'mine');
  symlinkSync('/there/is/no/such', join(folder, '.gitignore'));
  await expect(init(folder, { yes: true })).rejects.toThrow(
    'There are already .gitignore, README.md; use --force to overwrite, or name another folder.',
  );
  expect(readdirSync(folder).toSorted()).toEqual(['.gitignore', 'README.md']);
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('mine');
});

test('init --force overwrites existing files', async () => {
  const folder = await makeProject();
  writeFileSync(join(folder, 'README.md'), 'mine');
  await init(folder, { yes: true, force: true });
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain('# my-tools');
});

test('init writes all files or none', async () => {
  const folder = join(scratch(), 'deep', 'down');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tools'), 'a file where a folder is needed');
  await expect(init(folder, { yes: true })).rejects.toThrow(/cannot be written to \(E\w+\)/);
  expect(readdirSync(folder)).toEqual(['tools']);
});

test('init says so where no folder can be made', async () => {
  const { code, complaints } = await runCommandLine(['init', '/proc/no-such-folder', '--yes']);
  expect(code).toBe(1);
  expect(complaints).toMatch(/^toolcrib: \/proc\/no-such-folder cannot be written to \(E\w+\)\.\n$/);
});

test.each(['My Tools', '../x', '', 'a"b', 'toolcrib', 'zod', '-x', 'x'.repeat(101)])(
  'the name %j is refused',
  async (name) => {
    const folder = join(scratch(), 'new');
    await expect(init(folder, { name, yes: true })).rejects.toMatchObject({ code: 'invalid_setup' });
    expect(existsSync(folder)).toBe(false);
  },
);

test.each(['Send', 'send-note', '_x', 'delete', 'a'.repeat(65)])(
  'a tool cannot be named %j, because models or JavaScript would not accept it',
  async (tool) => {
    await expect(init(join(scratch(), 'new'), { tool, yes: true })).rejects.toThrow('--tool: ');
  },
);

describe('on the command line', () => {
  test('init asks nothing without a terminal, and says what it wrote and what to do next', async () => {
    const folder = join(scratch(), 'Ünser Kram!');
    const child = startNode([cli, 'init', folder, '--template', 'action']);
    const output = await child.outputUntil('npm start\n');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(output).toBe(
      `Written to ${folder}:\n  package.json\n  toolcrib.yaml\n  tools/send-email.ts\n  tools/send-email.test.ts\n  tsconfig.json\n  .gitignore\n  README.md\nNext:\n  cd '${folder}'\n  npm install\n  npm test\n  npm start\n`,
    );
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      name: 'nser-kram-',
    });
  });

  test('a usage error is reported in one line, with exit code 1', async () => {
    const folder = scratch();
    writeFileSync(join(folder, 'package.json'), '{}');
    const child = startNode([cli, 'init', folder]);
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.complaints()).toBe(
      'toolcrib: There is already package.json; use --force to overwrite, or name another folder.\n',
    );
    const other = startNode([cli, 'init', '--template', 'poem']);
    expect(await other.exit).toEqual({ code: 1, signal: null });
    expect(other.complaints()).toMatch(/Allowed choices are query, action, transformation/);
    const third = startNode([cli, 'init', '--language', 'latin']);
    expect(await third.exit).toEqual({ code: 1, signal: null });
    expect(third.complaints()).toMatch(/Allowed choices are typescript, javascript/);
  });

  test('init --agent writes a usable agent, and overwrites one only when asked to', async () => {
    const folder = scratch();
    const initAgent = (...flags: readonly string[]): ReturnType<typeof run> =>
      run(folder, process.execPath, [cli, 'init', '--agent', ...flags]);
    expect((await initAgent('--name', 'helper')).output).toContain('toolcrib agents show agent.yaml');
    const config = await loadAgentConfig(join(folder, 'agent.yaml'));
    expect(config).toMatchObject({ name: 'helper', servers: { clock: { tools: { allow: ['get_time'] } } } });
    expect((await initAgent('--force', '--name', 'helper')).output).toMatch(/\n {2}(?:npx )?toolcrib run/);
    const again = await initAgent();
    expect(again).toMatchObject({ code: 1, output: expect.stringContaining('agent.yaml; use --force') });
    expect(readFileSync(join(folder, 'agent.yaml'), 'utf8')).toContain('name: "helper"');
    expect(existsSync(join(folder, 'package.json'))).toBe(false);
  });

  /** A terminal in which somebody answers each question as it comes up. */
  async function answer(
    folder: string,
    answers: readonly (readonly [question: string, keys: string])[],
    { flags = [], size = 'cols 100 rows 40' }: { flags?: readonly string[]; size?: string } = {},
  ) {
    const words = [process.execPath, cli, 'init', folder, ...flags].map((word) => `'${word}'`);
    const command = `stty ${size}; ${words.join(' ')}`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    let shown = '';
    const left = [...answers];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
      if (left[0] && shown.includes(left[0][0])) child.stdin.write(left.shift()![1]);
    });
    const code = await new Promise((done) => child.once('close', done));
    return { code, shown, left };
  }

  test('at a terminal init asks for names, a kind, a language and the three parts of the description (000-27)', async () => {
    const folder = join(scratch(), 'asked');
    const down = '\u001B[B';
    const { code, left } = await answer(folder, [
      ['What is it called?', 'asked-2\r'],
      ['What is its first tool for?', `${down}${down}\r`],
      ['What is it written in?', `${down}\r`],
      ['What is the tool called?', 'change_money\r'],
      ['What does change_money do?', '\r'],
      ['What does it return?', 'Returns the amount.\r'],
      ['When should a model use it?', '\r'],
    ]);
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({ name: 'asked-2' });
    expect(readFileSync(join(folder, 'tools/change-money.js'), 'utf8')).toContain(
      "      'Converts an amount of money from one currency to another.',\n      'Returns the amount.',\n      'Use it whenever a price has to be told in another currency.',\n",
    );
  });

  test('options answer every question at a terminal, too (000-27)', async () => {
    const folder = join(scratch(), 'told');
    const sentences = ['--does', 'Does it.', '--returns', 'Returns it.', '--when', 'Use it.'];
    const flags = [
      '--name',
      'told-2',
      '--template',
      'action',
      '--tool',
      'send_note',
      '--language',
      'typescript',
      ...sentences,
    ];
    const { code, shown } = await answer(folder, [['?', '\u0003']], { flags });
    expect({ code, asked: shown.includes('?') }).toEqual({ code: 0, asked: false });
    expect(readFileSync(join(folder, 'tools/send-note.ts'), 'utf8')).toContain(
      "      'Does it.',\n      'Returns it.',\n      'Use it.',\n",
    );
  });

  test('a terminal without a known size is treated as one of the usual size', async () => {
    const keys = [['its first tool for?', '\u0003']] as const;
    const options = { flags: ['--name', 'asked'], size: 'cols 0 rows 0' };
    const { code, shown } = await answer(join(scratch(), 'asked'), keys, options);
    expect(code).toBe(130);
    expect(shown).toContain('What is its first tool for?');
  });

  test('Ctrl-C leaves no files behind', async () => {
    const folder = join(scratch(), 'asked');
    const { code, shown } = await answer(folder, [
      ['What is it called?', '\r'],
      ['What is its first tool for?', '\u0003'],
    ]);
    expect(code).toBe(130);
    expect(shown).toContain('Nothing was written.');
    expect(existsSync(folder)).toBe(false);
  });
});
