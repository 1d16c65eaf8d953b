import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { INSPECTOR } from '../../src/cli/connect/inspector.ts';
import { startNode } from '../behaviour/child.ts';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import { open } from '../client/peers.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { agentOf, serverOf } from '../host/agents.ts';
import { kinds } from '../interop/cells.ts';
import { cache, INSTALL_MS, installInto } from '../interop/install.ts';
import { folder, packages, QUIET } from '../interop/known-servers.ts';

let missing: string | undefined;
beforeAll(async () => {
  missing = await installInto(folder, packages);
}, INSTALL_MS + 10_000);
beforeEach(({ skip }) => skip(missing !== undefined, missing));

const program = (name: string, ...args: string[]): { command: string; args: string[]; env: object } => ({
  command: process.execPath,
  args: [join(folder, 'node_modules', name, 'dist/index.js'), ...args],
  env: QUIET,
});

/** Servers that people use, behind one endpoint. */
async function openKnown(): Promise<Crib & { files: string }> {
  const files = mkdtempSync(join(tmpdir(), 'toolcrib-known-'));
  onTestFinished(() => rmSync(files, { recursive: true, force: true }));
  writeFileSync(join(files, 'note.txt'), 'remember me');
  const own = '@modelcontextprotocol/server';
  const mcpServers = {
    everything: program(`${own}-everything`, 'stdio'),
    files: program(`${own}-filesystem`, files),
    memory: {
      ...program(`${own}-memory`),
      env: { ...QUIET, MEMORY_FILE_PATH: join(files, 'memory.jsonl') },
    },
    docs: program('@upstash/context7-mcp'),
    app: program(`${own}-basic-vanillajs`, '--stdio'),
  };
  const crib = await openCrib({ open: true, config: { mcpServers: mcpServers as never } });
  return Object.assign(crib, { files });
}

test('popular servers are one server to every official client', { timeout: 180_000 }, async () => {
  const crib = await openKnown();
  for (const { kind, connect } of kinds) {
    const client = await connect({ url: crib.url });
    onTestFinished(() => client.close());
    const tools = await client.listTools();
    const names = tools.map(({ name }) => String(name));
    expect([kind, names]).toEqual([
      kind,
      expect.arrayContaining(['echo', 'read_text_file', 'create_entities', 'resolve-library-id', 'get-time']),
    ]);
    expect((await client.callTool('echo', { message: 'hello' })).content).toMatchObject([
      { text: 'Echo: hello' },
    ]);
    const read = await client.callTool('read_text_file', { path: join(crib.files, 'note.txt') });
    expect(read.content).toMatchObject([{ text: 'remember me' }]);
    const entities = [{ name: `of ${kind}`, entityType: 'client', observations: ['is here'] }];
    expect((await client.callTool('create_entities', { entities })).isError).not.toBe(true);
    expect(JSON.stringify(await client.callTool('read_graph'))).toContain(`of ${kind}`);
    const { ui } = tools.find(({ name }) => name === 'get-time')!['_meta'] as { ui: { resourceUri: string } };
    expect(JSON.stringify(await client.readResource(ui.resourceUri))).toContain('<html');
  }
});

test(
  'toolcrib add shows the tools of server-everything that the gateway will serve',
  { timeout: 120_000 },
  async () => {
    const place = mkdtempSync(join(tmpdir(), 'toolcrib-known-'));
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    const { command, args } = program('@modelcontextprotocol/server-everything', 'stdio');
    const config = join(place, 'toolcrib.yaml');
    const { output } = await runCommandLine(
      ['add', '--yes', '--config', config, '--name', 'everything', '--', command, ...args],
      QUIET,
    );
    const shown = [...output.matchAll(/^([\w-]+) +yes /gm)].map(([, name]) => String(name));
    expect(shown).toContain('trigger-elicitation-request');
    const crib = await openCrib({ open: true, config: { mcpServers: { everything: { command, args } } } });
    const client = await open(crib.url);
    expect((await client.listTools()).map(({ name }) => name).toSorted()).toEqual(shown.toSorted());
  },
);

test(
  'the questions of server-everything reach the person behind our own client',
  { timeout: 120_000 },
  async () => {
    const crib = await openKnown();
    const client = await open(crib.url, {
      handlers: {
        form: () => ({ action: 'accept', content: { name: 'Ada', check: true } }),
        sample: () => ({
          role: 'assistant',
          model: 'parrot-1',
          content: { type: 'text', text: 'forty-two' },
        }),
      },
    });
    expect(await client.callTool('trigger-elicitation-request').text()).toContain('Ada');
    expect(await client.callTool('trigger-sampling-request', { prompt: 'what?' }).text()).toContain(
      'forty-two',
    );
  },
);

test('an agent of our own host uses all of these servers as one', { timeout: 120_000 }, async () => {
  const crib = await openKnown();
  const agent = await agentOf({ crib: serverOf({ url: crib.url }) }, { mode: 'autonomous' });
  const names = agent.availableTools.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(['echo', 'read_text_file', 'create_entities', 'resolve-library-id', 'get-time']),
  );
  const path = join(crib.files, 'note.txt');
  expect(await agent.executeToolCall('read_text_file', { path })).toMatchObject({
    content: [{ text: 'remember me' }],
  });
  const sum = await agent.executeToolCall('get-sum', { a: 2, b: 3 });
  expect(JSON.stringify(sum.content)).toContain('5');
  expect((await agent.listPrompts()).length).toBeGreaterThan(0);
  const pages = await agent.listResources();
  const page = pages.find(({ uri }) => String(uri).startsWith('ui://'))!;
  expect(JSON.stringify(await agent.readResource(String(page['uri'])))).toContain('<html');
});

test(
  'the Inspector lists and calls the tools of all of them, in both eras',
  { timeout: INSTALL_MS + 120_000 },
  async ({ skip }) => {
    const { name, version } = INSPECTOR;
    const place = join(cache, 'inspector');
    const lacking = await installInto(place, { [name]: version });
    skip(lacking !== undefined, lacking);
    const crib = await openKnown();
    const launcher = join(place, 'node_modules', name, 'clients/launcher/build/index.js');
    for (const era of ['legacy', 'modern']) {
      const inspect = async (...options: string[]): Promise<{ readonly result: object }> => {
        const args = ['--cli', '--protocol-era', era, '--format', 'json', crib.url, '--transport', 'http'];
        // It keeps a catalogue in its user's home.
        const home = { HOME: crib.files, USERPROFILE: crib.files };
        const child = startNode([launcher, ...args, ...options], home);
        const [output] = await Promise.all([text(child.process.stdout), child.exit]);
        return JSON.parse(output);
      };
      const { result } = await inspect('--method', 'tools/list');
      const { tools } = result as { tools: { name: string }[] };
      expect(tools.map((tool) => tool.name)).toEqual(
        expect.arrayContaining([
          'echo',
          'read_text_file',
          'create_entities',
          'resolve-library-id',
          'get-time',
        ]),
      );
      const called = ['--tool-name', 'echo', '--tool-arg', 'message=hello'];
      expect(await inspect('--method', 'tools/call', ...called)).toMatchObject({
        result: { content: [{ text: 'Echo: hello' }] },
      });
    }
  },
);
