import { spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { connect as openSocket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connect, type Client, type HttpOptions } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { within } from '../within.ts';
import { measureFootprint } from './footprint.ts';
import { makeUp, said, standard, type Got, type MadeUp } from './peers.ts';

const PROGRAM = `
  const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined || params.name === 'endless') return;
    const lists = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, tools: [], ttlMs: 0, cacheScope: 'private' };
    const content = [{ type: 'text', text: 'hi' }];
    write({ id, result: { resultType: 'complete', ...(method === 'tools/call' ? { content } : lists) } });
  });
`;

/** Answers what is called, but never a call of `endless`. */
function modern(got: Got): boolean | void {
  if (got.body['method'] === 'subscriptions/listen') {
    const subscription = { _meta: { 'io.modelcontextprotocol/subscriptionId': String(got.body['id']) } };
    const params = { ...subscription, notifications: {} };
    return got.stream()({ method: 'notifications/subscriptions/acknowledged', params });
  }
  if (got.body['method'] !== 'tools/call') return false;
  if (nameIn(got) !== 'endless') got.reply(said('hi'));
}

/** The same with a session, and a stream of its own. */
function withSession(got: Got): void {
  if (got.request.method === 'GET') return got.stream()({ method: 'notifications/nothing' });
  if (got.request.method === 'DELETE') return void got.response.writeHead(204).end();
  if (got.body['method'] === 'initialize') got.response.setHeader('mcp-session-id', 'one');
  if (got.body['id'] === undefined) return void got.response.writeHead(202).end();
  const result = oldResult(got);
  if (result) got.reply(result);
}

/** The same with HTTP and SSE, where answers come on the one stream. */
function withEvents(): (got: Got) => void {
  let send: ((message: object) => void) | undefined;
  return (got) => {
    if (got.request.method === 'GET') {
      got.response.writeHead(200, { 'content-type': 'text/event-stream' });
      got.response.write('event: endpoint\ndata: /messages\n\n');
      send = (message) =>
        void got.response.write(
          `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`,
        );
      return;
    }
    got.response.writeHead(202).end();
    const result = got.body['id'] === undefined ? undefined : oldResult(got);
    if (result) send?.({ id: got.body['id'], result });
  };
}

function oldResult(got: Got): object | undefined {
  switch (got.body['method']) {
    case 'initialize': {
      const { protocolVersion } = got.body['params'] as { protocolVersion: string };
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } };
    }
    case 'tools/list':
      return { tools: [] };
    case 'tools/call':
      return nameIn(got) === 'endless' ? undefined : said('hi');
    default:
      return {};
  }
}

function nameIn({ body }: Got): unknown {
  return (body['params'] as { name?: unknown }).name;
}

const ways: readonly (readonly [string, (got: Got) => boolean | void, HttpOptions])[] = [
  ['HTTP', modern, {}],
  ['HTTP with a session', withSession, { protocol: '2025-11-25' }],
  ['HTTP and SSE', withEvents(), { transport: 'sse' }],
];

/** Uses a client in every way that could leave something behind, and closes it. */
async function useAndClose(client: Client): Promise<AbortSignal> {
  const { signal } = new AbortController();
  const stopping = new AbortController();
  client.on('toolsChanged', () => {});
  await client.listTools();
  expect(await client.callTool('echo', {}, { signal }).text()).toBe('hi');
  const stopped = client.callTool('endless', {}, { signal: stopping.signal }).catch(String);
  const failing = client.callTool('endless', {}, { signal, onProgress: () => {} }).catch(String);
  stopping.abort();
  expect(await stopped).toContain('cancelled');
  expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(0);
  await within(10_000, 'the client to close', client.close());
  expect(await failing).toContain('closed');
  expect(client.underWay).toBe(0);
  return signal;
}

for (const [name, answer, options] of ways)
  test(`over ${name} a closed client leaves no socket, timer or listener behind`, async () => {
    const server: MadeUp = await makeUp(answer);
    const footprint = measureFootprint();
    const client = await connect(server.url, options);
    expect(footprint.left().join('\n')).toContain('TCPWRAP');
    const signal = await useAndClose(client);
    expect(await footprint.leftInTheEnd()).toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

test('over stdio a closed client leaves no process, pipe, timer or listener behind', async () => {
  const footprint = measureFootprint();
  const client = await connectStdio(process.execPath, ['-e', PROGRAM]);
  expect(footprint.left().join('\n')).toMatch(/PIPEWRAP[^]*PROCESSWRAP/);
  const signal = await useAndClose(client);
  expect(await footprint.leftInTheEnd()).toEqual([]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a program that does not answer while connecting is given up, and nothing is left behind', async () => {
  const footprint = measureFootprint();
  const silent = connectStdio(process.execPath, ['-e', 'process.stdin.resume()'], {
    timeouts: { connectMs: 300 },
  });
  await expect(silent).rejects.toMatchObject({ code: 'timed_out' });
  expect(await footprint.leftInTheEnd()).toEqual([]);
});

test('what is left behind would be noticed, whatever it is', async () => {
  const server = await makeUp(standard);
  const footprint = measureFootprint();
  const timer = setTimeout(() => {}, 60_000).unref();
  const socket = openSocket(Number(new URL(server.url).port), '127.0.0.1');
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)']);
  const listener = (): void => {};
  process.on('SIGUSR2', listener);
  onTestFinished(() => void process.off('SIGUSR2', listener));
  await Promise.all([once(socket, 'connect'), once(child, 'spawn')]);
  const kinds = footprint.left().map((each) => each.split(' made')[0]);
  for (const kind of ['Timeout', 'TCPWRAP', 'PROCESSWRAP', 'PIPEWRAP', 'listener of SIGUSR2'])
    expect(kinds).toContain(kind);
  clearTimeout(timer);
  process.off('SIGUSR2', listener);
  socket.destroy();
  child.kill('SIGKILL');
  expect(await footprint.leftInTheEnd()).toEqual([]);
});
