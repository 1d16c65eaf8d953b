import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cli } from '../../../test/behaviour/child.ts';
import { runCommandLine, type Run } from '../../../test/behaviour/run-command-line.ts';
import { makeUp, said, type MadeUp } from '../../../test/client/peers.ts';

const sdkServer = join(import.meta.dirname, '../../../test/cli/fixtures/sdk-server.mjs');

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-servers-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

function runIn(folder: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [cli, ...args],
      { cwd: folder, env: { ...process.env, ...env }, timeout: 30_000 },
      (_, output, complaints) => resolve({ code: child.exitCode, output, complaints }),
    );
    child.stdin?.end();
  });
}

async function answering(): Promise<MadeUp> {
  return makeUp(({ body, reply }) => (body['method'] === 'tools/call' ? reply(said('done')) : false));
}

const program = JSON.stringify(process.execPath);
const script = JSON.stringify(sdkServer);

/** The same program as each client writes it down, with `TEAM` from the environment. */
const programs: readonly (readonly [client: string, file: string, text: string])[] = [
  [
    'Claude Code',
    '.mcp.json',
    `{"mcpServers":{"sdk":{"type":"stdio","command":${program},"args":[${script}],"env":{"TEAM":"\${MY_TEAM}"}}}}`,
  ],
  [
    'Cursor',
    '.cursor/mcp.json',
    `{"mcpServers":{"sdk":{"command":${program},"args":[${script}],"env":{"TEAM":"\${env:MY_TEAM}"}}}}`,
  ],
  [
    'VS Code',
    '.vscode/mcp.json',
    `{ // what this project needs
      "inputs": [],
      "servers": {"sdk": {"type": "stdio", "command": ${program}, /* ours */ "args": [${script},],
        "env": {"TEAM": "\${env:MY_TEAM}"},},},
    }`,
  ],
  [
    'opencode',
    'opencode.json',
    `{"mcp":{"sdk":{"type":"local","command":[${program},${script}],"environment":{"TEAM":"{env:MY_TEAM}"}}}}`,
  ],
  [
    'Codex',
    '.codex/config.toml',
    `model = "x"\n[mcp_servers.sdk]\ncommand = ${program}\nargs = [${script}]\nenv = { TEAM = "\${MY_TEAM}" }\n`,
  ],
  [
    'Toolcrib',
    'toolcrib.yaml',
    `mcpServers:\n  sdk:\n    command: ${program}\n    args: [${script}]\n    env: { TEAM: "\${MY_TEAM}" }\n`,
  ],
];

test.each(programs)('a program from a file of %s (%s) is started with --yes', async (_, file, text) => {
  const from = join(folderWith({ [file]: text }), file);
  const env = { MY_TEAM: 'north' };
  const run = await runCommandLine(['call', 'sdk', 'environment', '--from', from, '--yes'], env);
  expect(run).toMatchObject({ code: 0, output: 'north undefined undefined\n' });
});

/** The same server at an address as each client writes it down, with a token from the environment. */
const addresses: readonly (readonly [client: string, file: string, text: (url: string) => string])[] = [
  [
    'Claude Code',
    '.mcp.json',
    (url) =>
      `{"mcpServers":{"far":{"type":"http","url":"${url}","headers":{"Authorization":"Bearer \${TOKEN}"}}}}`,
  ],
  [
    'opencode',
    'opencode.json',
    (url) =>
      `{"mcp":{"far":{"type":"remote","url":"${url}","headers":{"Authorization":"Bearer {env:TOKEN}"}}}}`,
  ],
  ['Codex', 'config.toml', (url) => `[mcp_servers.far]\nurl = "${url}"\nbearer_token_env_var = "TOKEN"\n`],
];

test.each(addresses)('a server from a file of %s (%s) gets its token', async (_, file, textFor) => {
  const made = await answering();
  const from = join(folderWith({ [file]: textFor(made.url) }), file);
  const args = ['call', 'far', 'echo', '--from', from, '--yes'];
  expect(await runCommandLine(args, { TOKEN: 'secret-token' })).toMatchObject({ code: 0, output: 'done\n' });
  expect(made.got.at(-1)!.request.headers.authorization).toBe('Bearer secret-token');
});

describe('a project cannot', () => {
  test('start a program before a person has seen it', async () => {
    const folder = folderWith({});
    const marker = join(folder, 'started');
    const args = JSON.stringify(['-e', `require('fs').writeFileSync(${JSON.stringify(marker)}, '')`]);
    writeFileSync(join(folder, '.mcp.json'), `{"mcpServers":{"x":{"command":${program},"args":${args}}}}`);
    const run = await runIn(folder, ['list', 'x'], { HOME: folder });
    expect(run.code).toBe(1);
    expect(run.complaints).toContain(`"x" of .mcp.json starts: ${process.execPath} -e require`);
    expect(run.complaints).toContain('--yes');
    expect(existsSync(marker)).toBe(false);
  });

  test('send environment values to an address before a person has seen it', async () => {
    const made = await answering();
    const text = `{"mcpServers":{"x":{"url":"${made.url}","headers":{"X-A":"\${SECRET_VALUE}"}}}}`;
    const folder = folderWith({ '.mcp.json': text });
    const run = await runIn(folder, ['list', 'x'], { HOME: folder, SECRET_VALUE: 'do-not-show' });
    expect(run.code).toBe(1);
    expect(run.complaints).toContain(`"x" of .mcp.json sends 1 values of your environment to ${made.url}`);
    expect(run.complaints).not.toContain('do-not-show');
    expect(made.got).toEqual([]);
  });

  test('start a program with variables or in a folder before a person has seen them', async () => {
    const entry = `{"command":${program},"args":["-v"],"env":{"NODE_OPTIONS":"-r ./x.cjs","T":"\${SECRET_VALUE}"},"cwd":"sub"}`;
    const folder = folderWith({ '.mcp.json': `{"mcpServers":{"x":${entry}}}` });
    const run = await runIn(folder, ['list', 'x'], { HOME: folder, SECRET_VALUE: 'do-not-show' });
    expect(run.code).toBe(1);
    expect(run.complaints).toContain('NODE_OPTIONS=-r ./x.cjs');
    expect(run.complaints).toContain(`${process.execPath} -v (in ${join(folder, 'sub')})`);
    expect(run.complaints).not.toContain('do-not-show');
  });

  test.each([
    ['a key', ['--key', 'secret-key']],
    ['a header', ['--header', 'X-Secret: secret-key']],
  ])('send %s of the command line to an address before a person has seen it', async (_, flags) => {
    const made = await answering();
    const folder = folderWith({ '.mcp.json': `{"mcpServers":{"x":{"url":"${made.url}"}}}` });
    const run = await runIn(folder, ['list', 'x', ...flags], { HOME: folder });
    expect(run.code).toBe(1);
    expect(run.complaints).toContain(`sends the key or headers of the command line to ${made.url}`);
    expect(run.complaints).not.toContain('secret-key');
    expect(made.got).toEqual([]);
  });

  test("replace a server of the user's own file, whose programs start without a question", async () => {
    const own = `{"mcpServers":{"sdk":{"command":${program},"args":[${script}]}}}`;
    const home = folderWith({ '.claude.json': own });
    const folder = folderWith({ '.mcp.json': '{"mcpServers":{"sdk":{"command":"false"}}}' });
    const run = await runIn(folder, ['list', 'sdk'], { HOME: home, XDG_CONFIG_HOME: join(home, '.config') });
    expect(run).toMatchObject({ code: 0, output: expect.stringMatching(/^TOOL/) });
  });
});

test('a file that is named and not there is said to be missing', async () => {
  const from = join(folderWith({}), 'mcp.json');
  const complaints = `toolcrib: ${from} does not exist; name a file with servers with --from.\n`;
  expect(await runCommandLine(['list', 'x', '--from', from])).toMatchObject({ code: 1, complaints });
  expect(await runCommandLine(['servers', '--from', from])).toMatchObject({ code: 1, complaints });
});

test('an error shows no value of the environment, as text or as JSON', async () => {
  const text = '{"mcpServers":{"x":{"command":"./not-there","args":["--token","${SECRET_VALUE}"]}}}';
  const from = join(folderWith({ 'mcp.json': text }), 'mcp.json');
  const args = ['list', 'x', '--from', from, '--yes', '--json'];
  const run = await runCommandLine(args, { SECRET_VALUE: 'do-not-show' });
  expect(run).toMatchObject({ code: 6, output: expect.stringContaining('"upstream_unavailable"') });
  expect(run.output + run.complaints).not.toContain('do-not-show');
});

test.each([
  ['{"command":"./not-there","args":["--token","${SECRET_VALUE}"]}', 6],
  ['{"url":"http://127.0.0.1:1/${SECRET_VALUE}/mcp"}', 6],
])('toolcrib doctor shows no value of the environment of %s', async (entry, code) => {
  const from = join(folderWith({ 'mcp.json': `{"mcpServers":{"x":${entry}}}` }), 'mcp.json');
  const run = await runCommandLine(['doctor', 'x', '--from', from, '--yes'], { SECRET_VALUE: 'do-not-show' });
  expect(run.code).toBe(code);
  expect(run.output).toContain('${...}');
  expect(run.output + run.complaints).not.toContain('do-not-show');
});

test.each([
  ['{"servers":{"x":{"url":"http://a/","headers":{"A":"${input:token}"}}}}', 'which only an editor can'],
  ['{"mcpServers":{"x":{"url":"http://a/","headers":{"A":"${NOT_SET_HERE}"}}}}', 'variable NOT_SET_HERE'],
  ['{"mcpServers":{"x":{"url":"http://a/${file:/etc/hostname}"}}}', 'only in toolcrib.yaml'],
  ['{"mcpServers":{"x":{}}}', 'neither a command nor an address'],
  ['{"mcpServers":{"x":{"url":"http://a/","disabled":true}}}', 'is disabled in'],
  ['{"mcpServers":{"y":{"url":"http://a/"}}}', 'No file names a server "x"; there are: y.'],
  ['{"mcpServers":', 'mcp.json:1:15: The file is not JSON from here on'],
])('%s says what to change', async (text, complaint) => {
  const from = join(folderWith({ 'mcp.json': text }), 'mcp.json');
  const run = await runCommandLine(['list', 'x', '--from', from, '--json']);
  expect(run.code).toBe(1);
  expect(run.complaints).toContain(complaint);
  expect(JSON.parse(run.output)).toMatchObject({ error: { code: 'invalid_setup' } });
});

const yaml = (text: string): readonly [string, string] => ['toolcrib.yaml', `mcpServers:\n  x:\n${text}`];

/** Entries that cannot be used, and how they are named: file, line, column, setting, and what to do. */
const broken: readonly (readonly [file: string, text: string, complaint: string])[] = [
  [...yaml('    url: 5\n'), 'toolcrib.yaml:3:10: mcpServers.x.url must be text, not a number.'],
  [
    ...yaml('    url: https://a.example/\n    header: {}\n'),
    'toolcrib.yaml:4:5: mcpServers.x.header is not a key here; did you mean "headers"?',
  ],
  [...yaml('    comand: node\n'), 'toolcrib.yaml:3:5: mcpServers.x.comand is not a key here'],
  [
    ...yaml('    url: ${NOT_SET_HERE}\n'),
    'toolcrib.yaml:3:10: mcpServers.x.url needs the environment variable',
  ],
  [
    'toolcrib.yaml',
    'mcpServers: [x]\n',
    'toolcrib.yaml:1:13: mcpServers must be a group of servers by name.',
  ],
  ['toolcrib.yaml', 'mcpServers:\n  x: 5\n', 'toolcrib.yaml:2:6: mcpServers.x must be a group of keys.'],
  ['toolcrib.yaml', 'mcpServers:\n\tx: 5\n', 'toolcrib.yaml:2:1: A tab is used to indent; use spaces.'],
  [
    '.mcp.json',
    '{\n  "mcpServers": {\n    "x": { "url": 5 }\n  }\n}',
    '.mcp.json:3:19: mcpServers.x.url must be text.',
  ],
  [
    '.mcp.json',
    '{ // ours\n  "mcpServers": { "x": {"command": "node", /* all */ "args": "-v",}, },\n}',
    '.mcp.json:2:62: mcpServers.x.args must be a list of texts.',
  ],
  [
    '.mcp.json',
    '{"mcpServers":{"x":{"url":"ftp://a"}}}',
    '.mcp.json:1:27: mcpServers.x.url must be an http or',
  ],
  ['.mcp.json', '{"mcpServers":{"x":7}}', '.mcp.json:1:20: mcpServers.x must be a group of keys.'],
  [
    '.mcp.json',
    '{"mcpServers":{\n"x":{"env":{"A":{}},"command":"a"}}}',
    '.mcp.json:2:12: mcpServers.x.env must be',
  ],
  [
    '.mcp.json',
    '{"mcpServers":\n  {"x" 5}}',
    '.mcp.json:2:8: The file is not JSON from here on; correct it.',
  ],
  [
    'config.toml',
    'model = "x"\n\n[mcp_servers.x]\ncommand = "node"\nargs = "-v"\n',
    'config.toml:5:1: mcp_servers.x.args must be a list of texts.',
  ],
  [
    'config.toml',
    '[mcp_servers.x]\nurl = \n',
    'config.toml:2:7: The file is not TOML from here on; correct it.',
  ],
];

test.each(broken)(
  '%s is reported with line and column where it is broken: %j',
  async (file, text, complaint) => {
    const folder = folderWith({ [file]: text });
    const from = ['--from', join(folder, file)];
    const place = `${folder}/${complaint}`;
    const [listed, called] = await Promise.all([
      runCommandLine(['servers', '--json', ...from]),
      runCommandLine(['call', 'x', 'echo', ...from]),
    ]);
    const { servers } = JSON.parse(listed.output) as { servers: { state: string }[] };
    expect(servers[0]!.state).toContain(place);
    expect([called.code, called.complaints]).toEqual([1, expect.stringContaining(place)]);
  },
);

test('the connection settings of an entry in toolcrib.yaml are used', async () => {
  const made = await makeUp(({ body }) => body['method'] === 'tools/call');
  const text = `mcpServers:\n  x:\n    url: ${made.url}\n    protocol: 2026-07-28\n    timeoutSeconds: 0.1\n`;
  const from = join(folderWith({ 'toolcrib.yaml': text }), 'toolcrib.yaml');
  const { code } = await runCommandLine(['call', 'x', 'echo', '--from', from]);
  expect(code).toBe(4);
  expect(made.methods()).not.toContain('server/discover');
});

test('a program of toolcrib.yaml is started in its sandbox and within its limits', async () => {
  const entry = `command: ${program}\n    args: [${script}]\n    sandbox: [/usr/bin/env, TEAM=boxed]\n`;
  const from = join(folderWith({ 'toolcrib.yaml': `mcpServers:\n  x:\n    ${entry}` }), 'toolcrib.yaml');
  const run = await runCommandLine(['call', 'x', 'environment', '--from', from, '--yes']);
  expect(run).toMatchObject({ code: 0, output: 'boxed undefined undefined\n' });
  const bounded = `mcpServers:\n  x:\n    ${entry}    limits: { openFiles: 8 }\n`;
  const tight = join(folderWith({ 'toolcrib.yaml': bounded }), 'toolcrib.yaml');
  expect((await runCommandLine(['servers', '--from', tight])).output).toContain('prlimit --nofile=8 --');
});

test('a pipe or a huge file in place of a configuration is reported at once', async () => {
  const entry = (path: string): string =>
    `mcpServers:\n  x:\n    url: "https://a.example/\${file:${path}}"\n`;
  const folder = folderWith({ 'a.yaml': entry('pipe'), 'b.yaml': entry('huge'), huge: 'x'.repeat(70_000) });
  execFileSync('mkfifo', [join(folder, 'pipe'), join(folder, '.mcp.json')]);
  const states = ['a.yaml', 'b.yaml', '.mcp.json'].map(async (file) => {
    const { output } = await runCommandLine(['servers', '--json', '--from', join(folder, file)]);
    return (JSON.parse(output) as { servers: { state: string }[] }).servers[0]!.state;
  });
  expect(await Promise.all(states)).toEqual([
    expect.stringContaining(
      'a.yaml:3:10: mcpServers.x.url needs the file pipe, which cannot be read (not a regular',
    ),
    expect.stringContaining('needs the file huge, which cannot be read (too large)'),
    expect.stringContaining('.mcp.json cannot be read (not a regular file).'),
  ]);
});

test('toolcrib servers lists the servers it found, their files and states, without values from outside', async () => {
  const home = folderWith({
    '.claude.json': '{"mcpServers":{"mine":{"url":"https://a.example/${PLACE_NAME}"}}}',
    '.codex/config.toml': '[mcp_servers.off]\ncommand = "x"\nenabled = false\n',
    '.cursor/mcp.json': '{broken',
    '.lmstudio/mcp.json': ' \n',
    '.gemini/settings.json': '// nothing yet\n',
  });
  const folder = folderWith({
    '.mcp.json': '{"mcpServers":{"mine":{"command":"x"},"ours":{"command":"run","args":["it\\u001b[2J"]}}}',
    '.vscode/mcp.json': '{"servers":{"ask":{"url":"https://b.example/${input:id}"}}}',
  });
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), PLACE_NAME: 'hidden-place' };
  const { output } = await runIn(folder, ['servers'], env);
  const rows = output.split('\n').map((line) => line.replaceAll(home, '~').split(/ {2,}/));
  expect(rows).toEqual([
    ['SERVER', 'STATE', 'FILE', 'REACHED AT'],
    ['mine', 'ready', '~/.claude.json', 'https://a.example/${...}'],
    ['-', expect.stringMatching(/^unreadable: .*mcp\.json:1:2: The file is not JSON/), '~/.cursor/mcp.json'],
    ['off', 'disabled', '~/.codex/config.toml', 'x'],
    ['mine', 'hidden by the one above', '.mcp.json', 'x'],
    ['ours', 'ready, asks first', '.mcp.json', String.raw`run it\u001b[2J`],
    [
      'ask',
      expect.stringMatching(/^unusable: \S+mcp\.json:1:26: servers\.ask\.url asks for \$\{input:id\}/),
      '.vscode/mcp.json',
    ],
    [''],
  ]);
  const json = await runIn(folder, ['servers', '--json'], env);
  expect(JSON.parse(json.output)).toMatchObject({
    servers: [{ name: 'mine', owner: 'user' }, {}, {}, {}, {}, {}],
  });
});

test('an address without http:// is not taken for a name', async () => {
  const folder = folderWith({ '.mcp.json': '{"mcpServers":{"y":{"url":"http://a/"}}}' });
  const { code, complaints } = await runIn(folder, ['list', '127.0.0.1:1/mcp'], { HOME: folder });
  expect(code).toBe(1);
  expect(complaints).toBe('toolcrib: An address begins with http:// or https://: http://127.0.0.1:1/mcp\n');
});

test('a server without MCP at this path is reported with what to look at', async () => {
  const web = createServer((_, response) => void response.writeHead(404).end('Not found'));
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void web.close());
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/`;
  const { code, complaints } = await runCommandLine(['list', url]);
  expect(code).toBe(6);
  expect(complaints).toContain(
    'answered with status 404; see whether the path of its address is that of its MCP',
  );
});
