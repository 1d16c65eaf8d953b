import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openCrib, type Crib } from '../gateway.ts';
import { open } from '../client/peers.ts';
import { kinds } from '../interop/cells.ts';
import { INSTALL_MS, installInto } from '../interop/install.ts';
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

test('servers that people use are one server to every official client', { timeout: 180_000 }, async () => {
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
  'what server-everything asks reaches the person behind our own client',
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
