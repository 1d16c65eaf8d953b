import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { createServer, defineResourceTemplate, defineTool, localCaller, ToolRegistry } from 'toolcrib';
import { listen } from 'toolcrib/node';

/** Prints how many bytes this process keeps for each of the things a client makes it hold that it was asked for. */
async function measure(): Promise<void> {
  const listening = await listen(await createTarget(), { port: 0 });
  const kept: Record<string, number> = {};
  for (const name of process.argv.slice(2)) {
    const { count, hold } = ways[name]!;
    // Memory that is used once, such as for compiled code, does not count.
    await hold(listening.url);
    const before = await held();
    for (let index = 0; index < count; index++) await hold(listening.url);
    kept[name] = Math.round(((await held()) - before) / count);
  }
  process.stdout.write(`${JSON.stringify(kept)}\n`, () => process.exit());
}

async function createTarget() {
  const template = { name: 'notes', uriTemplate: 'note://{+id}' };
  const registry = new ToolRegistry()
    .registerTool(
      defineTool(
        { name: 'detach', description: 'Becomes a task and ends.', input: { additionalProperties: true } },
        (_args, context) => {
          context.detach();
          return 'done';
        },
      ),
    )
    .registerResource(defineResourceTemplate(template, () => 'text'));
  return createServer({
    source: registry,
    authenticate: () => localCaller,
    requestsPerMinute: 1_000_000,
    log: () => {},
  });
}

// As much as a message may hold, in the form that takes the most room.
const JUNK = Array.from({ length: 45 }, () => Array.from({ length: 1_000 }, (_, n) => `${n} is text`));
const LONG = 'x'.repeat(100_000);
const TASKS = { 'io.modelcontextprotocol/tasks': {} };

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let lastId = 0;

interface Way {
  readonly count: number;
  readonly hold: (url: string) => Promise<unknown>;
}

const ways: Readonly<Record<string, Way>> = {
  'a stream of changes': {
    count: 20,
    hold: (url) => stream(url, modern('subscriptions/listen', { notifications: {}, junk: JUNK })),
  },
  'a stream of a talkative client': {
    count: 20,
    hold: (url) => stream(url, modern('subscriptions/listen', { notifications: {} }, { [LONG]: JUNK })),
  },
  'a session': { count: 20, hold: (url) => openSession(url) },
  'a task that has ended': {
    count: 20,
    hold: (url) => send(url, modern('tools/call', { name: 'detach', arguments: { junk: JUNK } })),
  },
  'a stream that has ended': { count: 400, hold: (url) => streamOnce(url) },
  'a session that has ended': {
    count: 800,
    async hold(url) {
      const id = await openSession(url, {});
      await send(url, { method: 'DELETE', headers: { 'mcp-session-id': id } });
    },
  },
};

// A connection that is kept for the next stream.
const streams = new Agent({ keepAlive: true, maxSockets: 1 });

/** Opens a session and its stream, and ends both. */
async function streamOnce(url: string): Promise<void> {
  const headers = { 'mcp-session-id': await openSession(url, {}) };
  const response = await open(url, { method: 'GET', headers }, streams);
  if (response.statusCode !== 200) throw new Error(await readText(response));
  await Promise.all([readText(response), send(url, { method: 'DELETE', headers })]);
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

function modern(method: string, params: object, capabilities: object = {}): Sent {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'client', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: TASKS, ...capabilities },
  };
  return {
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...('name' in params && { 'mcp-name': String(params.name) }),
    },
    body: { jsonrpc: '2.0', id: ++lastId, method, params: { ...params, _meta } },
  };
}

async function openSession(url: string, capabilities: object = { junk: JUNK }): Promise<string> {
  const clientInfo = 'junk' in capabilities ? { name: LONG, version: LONG } : { name: 'a', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo };
  const response = await send(url, { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params } });
  return String(response.headers['mcp-session-id']);
}

async function send(url: string, sent: Sent): Promise<IncomingMessage> {
  const response = await open(url, sent, agent);
  const text = await readText(response);
  if (response.statusCode! >= 300 || text.includes('"error"')) throw new Error(text);
  return response;
}

/** Opens a stream, which stays open. */
async function stream(url: string, sent: Sent): Promise<void> {
  const response = await open(url, sent, new Agent());
  const [chunk] = (await once(response, 'data')) as [Buffer];
  if (!chunk.includes('acknowledged')) throw new Error(chunk.toString());
}

function open(
  url: string,
  { method = 'POST', headers, body }: Sent,
  through: Agent,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const accept = 'application/json, text/event-stream';
    const all = { accept, ...(body && { 'content-type': 'application/json' }), ...headers };
    request(url, { method, agent: through, headers: all }, resolve)
      .on('error', reject)
      .end(body && JSON.stringify(body));
  });
}

/** The memory in use after a full collection. */
async function held(): Promise<number> {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    globalThis.gc!();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

await measure();
