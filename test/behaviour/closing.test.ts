import { connect as connectSocket } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Agent, request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import {
  createInMemory,
  createServer,
  defineTool,
  ToolRegistry,
  type Memory,
  type ServerOptions,
} from '../../src/index.ts';
import { listen, serveStdio, type Listening } from '../../src/node.ts';
import { deferred } from './deferred.ts';
import {
  EventReader,
  openSession,
  sendOverSocket,
  SessionClient,
  type DoorRequest,
} from './session-client.ts';
import { legacyPost, modernPost, sendTo } from './web.ts';

/** A server whose one tool ends when the test says so. */
function holding(options: Partial<ServerOptions> = {}) {
  const started = deferred();
  const release = deferred();
  const stopped = deferred();
  const hold = defineTool({ name: 'hold', description: 'Holds on.' }, async (_args, { progress, signal }) => {
    signal.addEventListener('abort', () => stopped.resolve(), { once: true });
    progress(1);
    started.resolve();
    await release.promise;
    return 'held';
  });
  const server = createServer({ source: new ToolRegistry().registerTool(hold), ...options });
  return { server, started: started.promise, release: release.resolve, stopped: stopped.promise };
}

function doorTo({ url }: Listening) {
  return { send: (request: DoorRequest) => sendOverSocket(url, request) };
}

test.each([
  ['one answer', modernPost('tools/call', { name: 'hold' })],
  ['one answer of the older revision', legacyPost('tools/call', { name: 'hold' })],
  ['a stream', modernPost('tools/call', { name: 'hold', _meta: { progressToken: 1 } })],
])('a server that is closed lets running calls finish: %s', async (_what, call) => {
  const { server, started, release } = holding();
  const listening = await listen(server, { port: 0 });
  const send = sendTo(listening.url);
  const answer = send(call).then((response) => response.text());
  await started;

  const closed = listening.close();
  await expect(send(call)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  release();
  expect(await answer).toContain('"held"');
  await closed;
});

test('idle keep-alive connections do not keep a closing server open', async () => {
  const { server } = holding();
  const listening = await listen(server, { port: 0 });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const { headers, body } = legacyPost('ping');
  const request = httpRequest(listening.url, {
    method: 'POST',
    headers,
    agent,
  });
  request.end(body);
  const [response] = await once(request, 'response');
  expect(await text(response)).toContain('"result":{}');
  await listening.close();
});

test('a connection without any request does not keep a closing server open', async () => {
  const { server } = holding();
  const listening = await listen(server, { port: 0 });
  const silent = connectSocket(Number(new URL(listening.url).port), '127.0.0.1');
  await once(silent, 'connect');
  // One answered request later, the server has surely seen the connection before it.
  await sendTo(listening.url)(legacyPost('ping'));
  const gone = once(silent, 'close');
  await listening.close(60_000);
  await gone;
  expect(silent.bytesRead).toBe(0);
});

test.each([
  ['one answer', modernPost('tools/call', { name: 'hold' })],
  ['one answer of the older revision', legacyPost('tools/call', { name: 'hold' })],
  ['a stream', modernPost('tools/call', { name: 'hold', _meta: { progressToken: 1 } })],
])(
  'a call that takes longer than the drain time is stopped, and answered with an error: %s',
  async (_what, call) => {
    const { server, started } = holding();
    const listening = await listen(server, { port: 0 });
    const answer = sendTo(listening.url)(call).then((response) => response.text());
    await started;
    await listening.close(0);
    expect(await answer).toContain('"error":{"code":-32603,"message":"The server is stopping."');
  },
);

test('over the SSE transport such a call is answered with an error on its stream', async () => {
  const { server, started } = holding();
  const listening = await listen(server, { port: 0, sse: true });
  const stream = await fetch(new URL('/sse', listening.url));
  const reader = new EventReader(stream);
  const { data } = (await reader.next())!;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'hold' } });
  const headers = { 'content-type': 'application/json' };
  await fetch(new URL(data!, listening.url), { method: 'POST', headers, body });
  await started;
  await listening.close(0);
  expect((await reader.rest()).at(-1)!.data).toContain('"id":7,"error":{"code":-32603');
});

test('the calls of a batch are answered in the same way', async () => {
  const { server, started } = holding();
  const listening = await listen(server, { port: 0 });
  const session = await openSession(doorTo(listening), { version: '2025-03-26' });
  const batch = session.post([
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'hold' } },
  ]);
  await started;
  await listening.close(0);
  expect(await (await batch).json()).toMatchObject([
    { id: 1, result: {} },
    { id: 2, error: { code: -32603 } },
  ]);
});

test.each([
  ['a batch', 'direct', true],
  ['a queued call', 'queued', false],
  ['a queued batch', 'queued', true],
] as const)('%s that is stopped before it begins is not run', async (_what, delivery, isBatch) => {
  const [started, looked, found] = [deferred(), deferred(), deferred()];
  const wait = defineTool({ name: 'wait', description: 'Waits.' }, async (_args, { signal }) => {
    // Every connection has been stopped before what waits for this goes on.
    signal.addEventListener('abort', () => found.resolve(), { once: true });
    started.resolve();
    await found.promise;
  });
  let runs = 0;
  const note = defineTool({ name: 'note', description: 'Notes.' }, () => void runs++);
  const memory = createInMemory();
  let isSlow = false;
  const sessions: Memory['sessions'] = {
    ...memory.sessions,
    async get(id) {
      if (isSlow) {
        looked.resolve();
        await found.promise;
      }
      return memory.sessions.get(id);
    },
  };
  const server = createServer({
    source: new ToolRegistry().registerTool(wait, note),
    memory: { ...memory, sessions },
    delivery,
    log: () => {},
  });
  const listening = await listen(server, { port: 0 });
  const session = await openSession(doorTo(listening), { version: '2025-03-26' });
  const running = sendTo(listening.url)(modernPost('tools/call', { name: 'wait' }));
  await started.promise;
  isSlow = true;
  const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'note' } });
  const answered = session.post(isBatch ? [call(1), call(2)] : call(1));
  await looked.promise;
  await listening.close(0);
  await running;
  const response = await answered;
  if (delivery === 'queued') expect(response.status).toBe(202);
  else
    expect(await response.json()).toMatchObject([
      { id: 1, error: { code: -32603 } },
      { id: 2, error: { code: -32603 } },
    ]);
  expect(runs).toBe(0);
});

test('a server that is closed lets queued calls finish, and their results come on the stream', async () => {
  const { server, started, release } = holding({ delivery: 'queued' });
  const listening = await listen(server, { port: 0 });
  const session = await openSession(doorTo(listening));
  const stream = await session.stream();
  await session.request('tools/call', { name: 'hold' }, 7);
  await started;
  const closed = listening.close();
  release();
  expect((await stream.rest()).at(-1)!.data).toContain('"held"');
  await closed;
});

test('a queued call that takes longer than the drain time is stopped, and answered with an error', async () => {
  const { server, started, stopped } = holding({ delivery: 'queued' });
  const listening = await listen(server, { port: 0 });
  const session = await openSession(doorTo(listening));
  const stream = await session.stream();
  await session.request('tools/call', { name: 'hold' }, 7);
  await started;
  await listening.close(0);
  await expect(stopped).resolves.toBeUndefined();
  expect((await stream.rest()).at(-1)!.data).toContain('"id":7,"error":{"code":-32603');
});

test('the result of a queued call whose client is not there is kept, for when it comes back', async () => {
  const memory = createInMemory();
  const { server, started, release } = holding({ delivery: 'queued', memory });
  const listening = await listen(server, { port: 0 });
  const session = await openSession(doorTo(listening));
  const stream = await session.stream();
  await session.request('ping', {}, 1);
  const { id } = await stream.message();
  await stream.hangUp();
  await session.request('tools/call', { name: 'hold' }, 7);
  await started;
  const closed = listening.close(60_000);
  release();
  await closed;

  const restarted = await listen(holding({ delivery: 'queued', memory }).server, { port: 0 });
  onTestFinished(() => restarted.close(0));
  const resumed = await new SessionClient(doorTo(restarted), session.id).stream(id);
  expect((await resumed.message()).message).toMatchObject({
    id: 7,
    result: { content: [{ text: 'held' }] },
  });
  await resumed.hangUp();
});

test.each(['direct', 'queued'] as const)(
  'a call whose client is not there is stopped after the drain time, too: %s',
  async (delivery) => {
    const { server, started, stopped } = holding({ delivery });
    const listening = await listen(server, { port: 0 });
    const session = await openSession(doorTo(listening));
    const answered = session.call('hold');
    await started;
    // With direct delivery the stream of the call has begun.
    await (await answered).body?.cancel();
    await listening.close(0);
    await expect(stopped).resolves.toBeUndefined();
  },
);

test('a connection whose request is not complete does not keep a closing server open', async () => {
  const { server } = holding();
  const listening = await listen(server, { port: 0 });
  const slow = connectSocket(Number(new URL(listening.url).port), '127.0.0.1');
  slow.write(
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  );
  await sendTo(listening.url)(legacyPost('ping'));
  const gone = once(slow, 'close');
  slow.resume();
  await listening.close(0);
  await gone;
  expect(slow.destroyed).toBe(true);
});

test('serveStdio answers running calls when its input ends, and then ends itself', async () => {
  const { server, started, release } = holding();
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(server, { input, output });
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
  // The last line has no line feed: the end of the input ends it too.
  input.end(`${call}\n{"jsonrpc":"2.0","id":2,"method":"ping"}`);
  let ended = false;
  void served.then(() => {
    ended = true;
  });
  await started;
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  expect(ended).toBe(false);
  release();
  await served;
  output.end();
  const answers = (await text(output))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(answers.toSorted((a, b) => a.id - b.id)).toMatchObject([
    { id: 1, result: { content: [{ text: 'held' }] } },
    { id: 2, result: {} },
  ]);
});

test('serveStdio stops listening to its source when it has ended', async () => {
  const source = new ToolRegistry();
  const watching = new Set<unknown>();
  const { watch } = source;
  source.watch = (listener) => {
    watching.add(listener);
    const unwatch = watch.call(source, listener);
    return () => {
      watching.delete(listener);
      unwatch();
    };
  };
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(createServer({ source }), { input, output });
  const params = '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}';
  const handshake = `"id":1,"method":"initialize","params":${params}`;
  for (const message of [handshake, '"method":"notifications/initialized"'])
    input.write(`{"jsonrpc":"2.0",${message}}\n`);
  await once(output, 'data');
  expect(watching.size).toBe(1);
  input.end();
  await served;
  expect(watching.size).toBe(0);
});

test('serveStdio ends when its output is closed', async () => {
  const { server } = holding();
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(server, { input, output });
  output.destroy(new Error('EPIPE'));
  input.end('{"jsonrpc":"2.0","id":2,"method":"ping"}\n');
  await served;
  expect(output.destroyed).toBe(true);
});
