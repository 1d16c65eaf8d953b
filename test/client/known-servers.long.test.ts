import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Cancelled, connect, type Client, type HttpOptions } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { startNode } from '../behaviour/child.ts';
import { INSTALL_MS, installInto } from '../interop/install.ts';
import { folder, packages, QUIET } from '../interop/known-servers.ts';
import { within } from '../within.ts';

const LONG_MS = 90_000;

let missing: string | undefined;
beforeAll(async () => {
  missing = await installInto(folder, packages);
  if (missing !== undefined) return;
  copyFileSync(
    join(import.meta.dirname, '../interop/outsiders/fastmcp-server.mjs'),
    join(folder, 'fastmcp-server.mjs'),
  );
}, INSTALL_MS + 10_000);
beforeEach(({ skip }) => skip(missing !== undefined, missing));

const questions: Pick<HttpOptions, 'handlers'> = {
  handlers: {
    form: () => ({ action: 'accept', content: { name: 'Ada', check: true } }),
    sample: () => ({ role: 'assistant', model: 'parrot-1', content: { type: 'text', text: 'forty-two' } }),
    roots: () => [{ uri: 'file:///home/ada', name: 'home' }],
  },
};

for (const transport of ['stdio', 'HTTP', 'SSE'] as const)
  test(
    `every feature of server-everything can be used over ${transport}`,
    async () => {
      const client = await openEverything(transport);
      const tools = (await client.listTools()).map(({ name }) => name);
      expect(tools).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image']));
      expect(await client.callTool('echo', { message: 'hello' }).text()).toBe('Echo: hello');
      expect(await client.callTool('get-sum', { a: 1, b: 2 }).text()).toContain('3');
      const weather = await client.callTool('get-structured-content', { location: 'Chicago' });
      expect(weather.data()).toMatchObject({ temperature: expect.any(Number) });
      expect(await client.callTool('get-tiny-image').images()).toHaveLength(1);
      await expect(client.callTool('get-sum', { a: 'one' })).rejects.toMatchObject({
        code: 'invalid_arguments',
      });
      expect(await client.callTool('trigger-elicitation-request').text()).toContain('Ada');
      expect(await client.callTool('trigger-sampling-request', { prompt: 'what?' }).text()).toContain(
        'forty-two',
      );
      expect(await client.callTool('get-roots-list').text()).toContain('file:///home/ada');
      expect((await client.listResources()).length).toBeGreaterThan(0);
      expect((await client.listPrompts()).length).toBeGreaterThan(0);
      await cancelSlowly(client);
    },
    LONG_MS,
  );

test(
  'server-filesystem lists and reads files, also in the folders that the client names',
  async () => {
    const files = emptyFolder();
    writeFileSync(join(files, 'note.txt'), 'remember me');
    const client = await open('server-filesystem', [files], {
      handlers: { roots: () => [{ uri: `file://${files}` }] },
    });
    expect((await client.listTools()).map(({ name }) => name)).toContain('read_text_file');
    const path = join(files, 'note.txt');
    expect(await client.callTool('read_text_file', { path }).text()).toContain('remember me');
    const outside = await client.callTool('read_text_file', { path: '/etc/hostname' });
    expect(outside.isError).toBe(true);
  },
  LONG_MS,
);

test(
  'server-memory stores and returns entities',
  async () => {
    const file = join(emptyFolder(), 'memory.json');
    const client = await open('server-memory', [], { env: { MEMORY_FILE_PATH: file } });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];
    await client.callTool('create_entities', { entities }).unwrap();
    expect(await client.callTool('read_graph').data()).toMatchObject({ entities });
  },
  LONG_MS,
);

test(
  'server-sequential-thinking accepts a thought',
  async () => {
    const client = await open('server-sequential-thinking');
    const thought = { thought: 'first', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
    expect(await client.callTool('sequentialthinking', thought).data()).toMatchObject({ thoughtNumber: 1 });
  },
  LONG_MS,
);

test.each(['stdio', 'HTTP'] as const)(
  'context7 is discovered and its tools listed over %s',
  async (transport) => {
    const main = join(folder, 'node_modules/@upstash/context7-mcp/dist/index.js');
    const port = await freePort();
    const client =
      transport === 'stdio'
        ? await openProgram([main])
        : await openAddress([main, '--transport', 'http', '--port', String(port)], { port });
    expect(client.server.era).toBe('modern');
    expect((await client.listTools()).map(({ name }) => name)).toContain('resolve-library-id');
  },
  LONG_MS,
);

test.each(['stdio', 'HTTP'] as const)(
  'an MCP App says over %s which page shows its results, and the page can be read',
  async (transport) => {
    const main = join(folder, 'node_modules/@modelcontextprotocol/server-basic-vanillajs/dist/index.js');
    const port = await freePort();
    const client =
      transport === 'stdio' ? await openProgram([main, '--stdio']) : await openAddress([main], { port });
    const [tool] = await client.listTools();
    const { ui } = (tool as unknown as { _meta: { ui: { resourceUri: string } } })._meta;
    const { contents } = (await client.readResource(ui.resourceUri)) as { contents: { text: string }[] };
    expect(contents[0]?.text).toContain('<html');
    expect((await client.callTool(tool!.name).unwrap()).content.length).toBeGreaterThan(0);
  },
  LONG_MS,
);

test.each(['stdio', 'HTTP'] as const)(
  'a server made with FastMCP can be used over %s',
  async (transport) => {
    const main = join(folder, 'fastmcp-server.mjs');
    const client =
      transport === 'stdio'
        ? await openProgram([main])
        : await openAddress([main], { port: await freePort() });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['add', 'fail', 'count']);
    expect(await client.callTool('add', { a: 1, b: 2 }).text()).toBe('3');
    await expect(client.callTool('fail').unwrap()).rejects.toThrow('no luck');
    const seen: number[] = [];
    await client.callTool('count', {}, { onProgress: ({ progress }) => seen.push(progress) });
    expect(seen).toEqual([1, 2]);
  },
  LONG_MS,
);

async function openEverything(transport: 'stdio' | 'HTTP' | 'SSE'): Promise<Client> {
  if (transport === 'stdio') return open('server-everything', ['stdio'], questions);
  const main = join(folder, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
  const port = await freePort();
  const [kind, path] = transport === 'HTTP' ? ['streamableHttp', '/mcp'] : ['sse', '/sse'];
  return openAddress([main, kind], { port, path, ...questions });
}

async function cancelSlowly(client: Client): Promise<void> {
  const caller = new AbortController();
  const call = client.callTool(
    'trigger-long-running-operation',
    { duration: 60, steps: 600 },
    { signal: caller.signal, onProgress: () => caller.abort() },
  );
  await expect(within(20_000, 'the call to be cancelled', call)).rejects.toBeInstanceOf(Cancelled);
  expect(await client.callTool('echo', { message: 'still there' }).text()).toContain('still there');
}

/** Runs one of the official example servers. */
function open(
  name: string,
  args: readonly string[] = [],
  options: Parameters<typeof connectStdio>[2] = {},
): Promise<Client> {
  const main = join(folder, `node_modules/@modelcontextprotocol/${name}/dist/index.js`);
  return openProgram([main, ...args], options);
}

/** Connects to a program, and checks at the end of the test that closing ended it. */
async function openProgram(
  args: readonly string[],
  options: Parameters<typeof connectStdio>[2] = {},
): Promise<Client> {
  const mark = randomUUID();
  const env = { ...QUIET, ...options.env, TOOLCRIB_MARK: mark };
  const client = await connectStdio(process.execPath, args, { ...options, env });
  onTestFinished(async () => {
    expect(processesWith(mark)).not.toEqual([]);
    await within(15_000, 'the connection to close', client.close());
    expect(processesWith(mark)).toEqual([]);
  });
  return client;
}

interface Place extends HttpOptions {
  readonly port: number;
  readonly path?: string | undefined;
}

/** Starts a server that listens, and connects to it once it does. */
async function openAddress(
  args: readonly string[],
  { port, path = '/mcp', ...options }: Place,
): Promise<Client> {
  startNode(args, { ...QUIET, PORT: String(port) });
  const url = `http://127.0.0.1:${port}${path}`;
  await within(30_000, `something to listen at ${url}`, untilListening(url));
  const client = await connect(url, options);
  onTestFinished(() => within(15_000, 'the connection to close', client.close()));
  return client;
}

async function untilListening(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(url, { method: 'OPTIONS' }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer) return;
    await pause(50);
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function emptyFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'toolcrib-known-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function processesWith(mark: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/environ`, 'utf8').includes(mark);
    } catch {
      return false;
    }
  });
}
