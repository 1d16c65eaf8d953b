import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../../../test/behaviour/child.ts';
import { atTerminal } from '../../../test/host/terminal.ts';
import type { Run } from '../../../test/behaviour/run-command-line.ts';

interface Home {
  readonly project: string;
  readonly run: (...args: readonly string[]) => Promise<Run>;
}

// A project and a home folder of their own, so that no agent of this machine is found.
function home(files: Readonly<Record<string, string>>): Home {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-agents-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const project = join(folder, 'project');
  mkdirSync(project);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const env = { PATH: process.env['PATH'], HOME: join(folder, 'home'), TOKEN: 'canary-secret' };
  const run = (...args: readonly string[]): Promise<Run> =>
    new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [cli, ...args],
        { cwd: project, env, timeout: 30_000 },
        (_, output, complaints) => resolve({ code: child.exitCode, output, complaints }),
      );
      child.stdin?.end();
    });
  return { project, run };
}

const claude = [
  '---',
  'name: triage',
  'description: Sorts issues.',
  'tools: mcp__github__get_*, Read',
  'permissionMode: bypassPermissions',
  'color: red',
  '---',
  'Sort.',
].join('\n');
const servers = JSON.stringify({
  mcpServers: { github: { url: 'https://g.example/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } } },
});
const files = {
  'project/.mcp.json': servers,
  'project/.claude/agents/triage.md': claude,
  'project/agent.yaml':
    'name: mine\nmcpServers: { shop: { command: shop, tools: "*", env: { KEY: "${TOKEN}" } } }\n',
  'project/.opencode/agents/bad.md': '---\ntools: 5\n---\n',
  'project/team.agent.yaml': 'agents: { writer: {}, triage: {} }\n',
  'project/code.agent.ts': 'globalThis.process.stdout.write("it ran"); export default {};\n',
  'home/.claude/agents/README.md': '# How these are written\n',
  'home/.claude/agents/deep/own.md': '---\nname: own\n---\nMine.\n',
};

test('agents list shows the agents of all usual places, and which of them cannot be used', async () => {
  const { run } = home(files);
  const { code, output } = await run('agents', 'list', '--json');
  const { agents } = JSON.parse(output) as { agents: Record<string, unknown>[] };
  expect(code).toBe(0);
  expect(agents.map(({ name, state, owner }) => [name, owner, state])).toEqual([
    ['own', 'user', expect.stringContaining('ready')],
    ['mine', 'project', 'ready, asks first'],
    ['code', 'project', 'a module: read when it is used'],
    ['writer', 'project', 'ready'],
    ['triage', 'project', 'ready'],
    ['triage', 'project', 'hidden by the one above'],
    ['bad', 'project', 'unusable: 2:8: tools must be text, a list or a group of keys, not a number.'],
  ]);
  expect(agents.find(({ name }) => name === 'writer')).toMatchObject({ file: 'team.agent.yaml#writer' });
  expect((await run('agents', 'list', 'agent.yaml')).output).toMatch(
    /^AGENT .*\nmine +Toolcrib +ready, asks first +shop +agent.yaml\n$/,
  );
});

test('agents show explains an agent, and which settings of its file have no effect', async () => {
  const { run } = home(files);
  const file = '.claude/agents/triage.md';
  expect((await run('agents', 'show', file)).output).toBe(
    [
      'triage: Sorts issues.',
      `File: ${file}`,
      'Model: left open; say which with --model',
      'Instructions: 5 characters, about 2 tokens',
      'Limits: 50 turns',
      'triage (Claude Code) may use:',
      '  github: tool get_* (at g.example)',
      'Note: permissionMode: not honoured. Only the person who runs the agent decides what is allowed without asking.',
      'Note: Read: no tool of a known server; tools of other programs do not exist here.',
      'Not read here: color (--explain shows their values)',
      '',
    ].join('\n'),
  );
  expect((await run('agents', 'show', file, '--explain')).output).toContain('  color: "red"\n');
});

test('agents show finds an agent by its name, and shows no value of the environment', async () => {
  const { run } = home(files);
  const { output } = await run('agents', 'show', 'mine', '--json');
  expect(JSON.parse(output)).toMatchObject({
    name: 'mine',
    servers: { shop: { entry: { env: { KEY: '${...}' } } } },
  });
  expect(output).not.toContain('canary');
  const team = await run('agents', 'show', 'team.agent.yaml');
  expect(team).toMatchObject({
    code: 1,
    output: '',
    complaints: expect.stringContaining('several agents: writer, triage'),
  });
});

test('agents show reports what is wrong with a file, and which agents there are', async () => {
  const { run } = home(files);
  const bad = await run('agents', 'show', 'bad');
  expect(bad).toMatchObject({
    code: 1,
    complaints: expect.stringContaining('.opencode/agents/bad.md:2:8: tools must be'),
  });
  const none = await run('agents', 'show', 'nobody');
  expect(none).toMatchObject({
    code: 1,
    complaints: expect.stringContaining('there are: own, mine, code, writer, triage, bad.'),
  });
});

test('a module is run only after a person agreed to it', async () => {
  const { run } = home(files);
  const refused = await run('agents', 'show', 'code');
  expect(refused).toMatchObject({ code: 1, output: '', complaints: expect.stringContaining('--yes') });
  expect((await run('agents', 'show', 'code', '--yes')).output).toContain('it ran');
});

test('agents tools connects and says what the model can see and why; it starts programs only with consent', async () => {
  const server = { command: process.execPath, args: [cli, 'serve', '--stdio'], tools: ['get_time'] };
  const { run } = home({
    'project/agent.yaml': JSON.stringify({ name: 'clock', mcpServers: { local: server } }),
  });
  const refused = await run('agents', 'tools', 'clock');
  expect(refused).toMatchObject({
    code: 1,
    output: '',
    complaints: expect.stringContaining('starts local: '),
  });
  const { output, code } = await run('agents', 'tools', 'clock', '--yes');
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/^clock: 1 tool, about \d+ tokens\./),
  });
  const json = JSON.parse((await run('agents', 'tools', 'clock', '--yes', '--json')).output) as {
    readonly tokens: number;
    readonly tools: readonly { readonly name: string; readonly shownAs?: string }[];
  };
  expect(json.tokens).toBeGreaterThan(20);
  expect(json.tools.map(({ name, shownAs }) => [name, shownAs])).toEqual([
    ['get_time', 'get_time'],
    ['ping', undefined],
    ['server_info', undefined],
  ]);
});

test('consent to a module is asked for again when a file that it imports has changed', async () => {
  const { project, run } = home({
    'project/m.agent.ts': "import { name } from './lib/name.ts';\nexport default { name };\n",
    'project/lib/name.ts': "export { name } from './deep';\n",
    'project/lib/deep.ts': "export const name: string = 'first';\n",
  });
  const show = (): Promise<Run> => run('agents', 'show', './m.agent.ts');
  const terminal = atTerminal([cli, 'agents', 'show', join(project, 'm.agent.ts')], {
    HOME: join(project, '../home'),
    XDG_CONFIG_HOME: '',
  });
  await terminal.until('is a module, with 2 more that it imports: reading it runs it');
  await terminal.until('[y/N] ');
  terminal.type('y\n');
  await terminal.until('first');
  expect(await terminal.exit).toBe(0);
  // The yes is remembered while nothing changes.
  expect(await show()).toMatchObject({ code: 0, output: expect.stringContaining('first') });
  writeFileSync(join(project, 'lib/deep.ts'), "export const name: string = 'second';\n");
  const changed = await show();
  expect(changed).toMatchObject({ code: 1, complaints: expect.stringContaining('Nobody can be asked') });
  expect(changed.output).not.toContain('second');
});

test('consent to a module with computed imports is asked for each time', async () => {
  const { run } = home({
    'project/m.agent.mjs': 'const name = "./" + "x.mjs";\nexport default await import(name);\n',
  });
  expect((await run('agents', 'show', './m.agent.mjs')).complaints).toContain('you are asked each time');
});
