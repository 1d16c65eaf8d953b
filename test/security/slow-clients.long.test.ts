import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server as HttpServer, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Memory, SessionRecord } from '../../src/core/memory/memory.ts';
import { defineResource } from '../../src/core/resources/resource.ts';
import type { Change, ToolSource } from '../../src/core/source.ts';
import { defineTool } from '../../src/core/tool.ts';
import { createServer } from '../../src/server/create-server.ts';
import { createInMemory } from '../../src/core/memory/in-memory.ts';
import { createLink } from '../../src/server/link.ts';
import { serveStdio } from '../../src/server/stdio.ts';
import { createFakeClock, recordingSource } from '../../src/testing.ts';
import { PassThrough } from 'node:stream';
import { Client, Events, type RequestOptions } from './client.ts';
import { ada, bob, signsIn, tokenOf } from './people.ts';
import { leakedAnswers } from './raw-http.ts';
import { danger, product, type Product } from './target.ts';

const CAP = 262_144;
const PIECE = 65_536;
const MANY = 10_000;

describe('a client that never reads', () => {
  test('A8 is disconnected when 256 KiB of its call are unread, and its call is stopped', async () => {
    const seen = watchResponses();
    const stopped = deferred<number>();
    const target = await product(signsIn, [chatty(seen, stopped.resolve)]);
    openAndNeverRead(
      target.port,
      new Client(target).modern('tools/call', { name: 'chatty', _meta: { progressToken: 1 } }),
    );
    expect(await stopped.promise).toBeLessThan(MANY);
    expect(seen.most()).toBeLessThanOrEqual(CAP + 2 * PIECE);
    expect(seen.most()).toBeGreaterThan(PIECE);
  });

  test('A8 control: a client that reads late gets everything', async () => {
    const seen = watchResponses();
    const stopped = deferred<number>();
    const target = await product(signsIn, [chatty(seen, stopped.resolve, 500)]);
    const client = new Client(target);
    const reply = await client.send(
      client.modern('tools/call', { name: 'chatty', _meta: { progressToken: 1 } }),
    );
    expect(await stopped.promise).toBe(500);
    expect(reply.body.length).toBeGreaterThan(500 * PIECE);
  });

  test('A8 is disconnected when 256 KiB of its subscription are unread, and the subscription ends', async () => {
    const seen = watchResponses();
    const changing = changingSource();
    const target = await product({ ...signsIn, source: changing.source });
    const notifications = { resourceSubscriptions: [changing.uri] };
    openAndNeverRead(target.port, new Client(target).modern('subscriptions/listen', { notifications }));
    await until(() => changing.watched() > 0);
    await until(
      () => changing.watched() === 0,
      () => changing.change(seen),
    );
    expect(seen.most()).toBeLessThanOrEqual(CAP + 2 * PIECE);
  });

  test('A8 is disconnected when 256 KiB of its session stream are unread, and its session may open another', async () => {
    const changing = changingSource();
    const target = await product({ ...signsIn, source: changing.source });
    const client = new Client(target);
    const session = await client.startSession('2025-06-18');
    await client.send(client.old('resources/subscribe', { uri: changing.uri }, { session }));
    const seen = watchResponses();
    const get: RequestOptions = { method: 'GET', headers: { 'mcp-session-id': session } };
    openAndNeverRead(target.port, get);
    await until(() => seen.open() === 1);
    expect((await client.send(get)).status).toBe(409);
    await until(
      () => seen.open() === 0,
      () => changing.change(seen),
    );
    expect(seen.most()).toBeLessThanOrEqual(CAP + 2 * PIECE);
    const again = new Events(await client.open(get));
    changing.change(seen);
    expect(await again.next()).toMatchObject({ method: 'notifications/resources/updated' });
  });

  test('A8 is disconnected when 256 KiB of its SSE stream are unread, and its session ends', async () => {
    const changing = changingSource();
    const target = await product({ ...signsIn, source: changing.source, sse: true });
    const client = new Client(target);
    const seen = watchResponses();
    const socket = openAndNeverRead(target.port, { method: 'GET', path: '/sse' });
    const path = await messagesPath(socket);
    const post = (body: string): Promise<{ status: number }> => client.send({ path, body });
    await post(
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
    );
    await post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    await post(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"${changing.uri}"}}`);
    await until(() => changing.watched() > 0);
    await until(
      () => changing.watched() === 0,
      () => changing.change(seen),
    );
    expect(seen.most()).toBeLessThanOrEqual(CAP + 2 * PIECE);
    expect((await post('{"jsonrpc":"2.0","id":3,"method":"ping"}')).status).toBe(404);
  });

  test('A8 of server.fetch is disconnected as well, and its call is stopped', async () => {
    const stopped = deferred<number>();
    const source = recordingSource(chatty(undefined, stopped.resolve));
    const server = createServer({ source, log: () => {}, ...signsIn });
    const { headers = {}, body } = new Client({ port: 0 }).modern('tools/call', {
      name: 'chatty',
      _meta: { progressToken: 1 },
    });
    const response = await server.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { ...headers, authorization: tokenOf(ada), 'content-type': 'application/json' },
        body: body!,
      }),
    );
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await stopped.promise).toBeLessThanOrEqual(CAP / PIECE + 4);
    await expect(response.text()).rejects.toThrow();
  });

  test('A8 over stdio whose input has ended is served to its last line without an error', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = serveStdio(createServer({ source: recordingSource(danger), log: () => {} }), {
      input,
      output,
    });
    output.destroy();
    input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.repeat(1_000));
    input.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await expect(served).resolves.toBeUndefined();
  });
});

test('A8 one large result does not disconnect a client that reads', async () => {
  const large = 'x'.repeat(24 * 1_048_576);
  const tool = defineTool({ name: 'large', description: 'Says much.' }, (_args, { progress }) => {
    progress(1);
    return large;
  });
  const target = await product(signsIn, [tool]);
  const client = new Client(target);
  const { body } = await client.send(
    client.modern('tools/call', { name: 'large', _meta: { progressToken: 1 } }),
  );
  expect(body.length).toBeGreaterThan(large.length);
});

test('A8 messages that wait for a session stream are limited by size as well as by number', async () => {
  const large = 'x'.repeat(500_000);
  const tool = defineTool({ name: 'large', description: 'Says much.' }, () => large);
  const target = await product({ ...signsIn, delivery: 'queued' }, [tool]);
  const client = new Client(target);
  const session = await client.startSession('2025-06-18');
  for (let i = 0; i < 20; i++)
    await client.send(client.old('tools/call', { name: 'large' }, { session, id: `call-${i}` }));
  const events = new Events(await client.open({ method: 'GET', headers: { 'mcp-session-id': session } }));
  const ids = [(await events.next())?.id, (await events.next())?.id];
  expect(ids).toEqual(['call-18', 'call-19']);
});

describe('endless new sessions', () => {
  const initialize =
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}';

  test('A8 a caller keeps the sessions it used last, and takes none from others', async () => {
    const { kept, send } = sessionServer();
    const others = (await send(bob, initialize)).session;
    const ids: string[] = [];
    for (let i = 0; i < 1_300; i++) ids.push((await send(ada, initialize)).session);
    expect(kept.size).toBe(1_001);
    const statuses = await Promise.all(
      [ids[0], ids[299], ids[300], ids.at(-1)].map(async (id) => (await ping(send, ada, id)).status),
    );
    expect(statuses).toEqual([404, 404, 200, 200]);
    expect((await ping(send, bob, others)).status).toBe(200);
  });

  test('A8 all callers together have at most ten thousand sessions', async () => {
    const { kept, send } = sessionServer();
    for (let i = 0; i < 10_300; i++) await send({ ...ada, id: `caller-${i % 103}` }, initialize);
    expect(kept.size).toBe(10_000);
  });

  test('A8 an ended session is removed at once', async () => {
    const kept = new Map<string, SessionRecord>();
    const target = await product({ ...signsIn, memory: rememberedIn(kept) });
    const client = new Client(target);
    const session = await client.startSession('2025-06-18');
    expect(kept.size).toBe(1);
    await client.send({ method: 'DELETE', headers: { 'mcp-session-id': session } });
    expect(kept.size).toBe(0);
  });

  test('A8 a session is removed after fifteen minutes without use, or after a day', async () => {
    const kept = new Map<string, SessionRecord>();
    const clock = createFakeClock();
    const { send } = sessionServer(kept, clock);
    const { session } = await send(ada, initialize);
    for (let minutes = 0; minutes < 16; minutes++) {
      clock.advance(60_000);
      await turn();
    }
    expect([kept.size, (await ping(send, ada, session)).status]).toEqual([0, 404]);
    const { session: used } = await send(ada, initialize);
    for (let minutes = 0; minutes < 24 * 60; minutes += 10) {
      expect((await ping(send, ada, used)).status).toBe(200);
      clock.advance(10 * 60_000);
    }
    clock.advance(60_000);
    expect((await ping(send, ada, used)).status).toBe(404);
  });
});

test('A8 a caller may hold a hundred subscriptions, and does not affect other callers', async () => {
  const target = await product(signsIn);
  const listenAs = (client: Client): Promise<Response> =>
    client.open(client.modern('subscriptions/listen', { notifications: { toolsListChanged: true } }));
  const client = new Client(target, ada);
  const open = await Promise.all(Array.from({ length: 100 }, () => listenAs(client)));
  expect(open.map(({ status }) => status)).toEqual(Array(100).fill(200));
  expect((await listenAs(client)).status).toBe(429);
  const others = await listenAs(new Client(target, bob));
  expect(others.status).toBe(200);
  await open[0]!.body!.cancel();
  await expect.poll(async () => (await listenAs(client)).status).toBe(200);
});

test('A8 a caller may hold a hundred SSE streams, and does not affect other callers', async () => {
  const target = await product({ ...signsIn, sse: true });
  const open = (client: Client): Promise<Response> => client.open({ method: 'GET', path: '/sse' });
  const client = new Client(target, ada);
  const held = await Promise.all(Array.from({ length: 100 }, () => open(client)));
  expect(held.map(({ status }) => status)).toEqual(Array(100).fill(200));
  expect((await open(client)).status).toBe(429);
  expect((await open(new Client(target, bob))).status).toBe(200);
  await held[0]!.body!.cancel();
  await expect.poll(async () => (await open(client)).status).toBe(200);
});

describe('a client that sends one byte at a time', () => {
  test('A8 has ten seconds for its headers and thirty for its whole request, checked every second', async () => {
    const { http } = await slowTarget();
    expect(http).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 5_000,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 16_384,
    });
    expect((http as { insecureHTTPParser?: boolean }).insecureHTTPParser ?? false).toBe(false);
  });

  test('A8 is disconnected in its headers, with many others like it, while good clients are served', async () => {
    const { target, http, head, body } = await slowTarget();
    http.headersTimeout = 300;
    const slow = Array.from({ length: 50 }, () => drip(target.port, { slowly: head + body }));
    expect((await new Client(target, bob).ask('tools/list')).status).toBe(200);
    for (const { answer, sent } of await Promise.all(slow)) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(sent).toBeLessThan(head.length);
    }
    expect(target.runs()).toBe(0);
    expect((await new Client(target).ask('tools/list')).status).toBe(200);
  });

  test('A8 is disconnected in its body, even if its headers were fast, while good clients are served', async () => {
    const { target, http, head, body } = await slowTarget();
    // Node.js takes the longer of the two for the request.
    http.headersTimeout = http.requestTimeout = 300;
    const slow = Array.from({ length: 50 }, () => drip(target.port, { atOnce: head, slowly: body }));
    expect((await new Client(target, bob).ask('tools/list')).status).toBe(200);
    for (const { answer, sent } of await Promise.all(slow)) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(sent).toBeLessThan(body.length);
    }
    expect(target.runs()).toBe(0);
    expect((await new Client(target).ask('tools/list')).status).toBe(200);
  });

  test('A8 control: the client is served where those limits are off', async () => {
    const { target, http, head, body } = await slowTarget();
    http.headersTimeout = http.requestTimeout = 0;
    const answers = await Promise.all([
      drip(target.port, { slowly: head + body }),
      drip(target.port, { atOnce: head, slowly: body }),
    ]);
    for (const { answer } of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(target.runs()).toBe(2);
  });
});

test('A8 no response reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

interface SlowTarget {
  readonly target: Product;
  /** The server of the product, which sets its own limits and has no option for them. */
  readonly http: HttpServer;
  /** A call that would run a tool: each of its halves takes longer to drip than any limit that is set here. */
  readonly head: string;
  readonly body: string;
}

async function slowTarget(): Promise<SlowTarget> {
  const servers = new Set<HttpServer>();
  const note = (message: unknown): void => void servers.add((message as { server: HttpServer }).server);
  subscribe('http.server.request.start', note);
  onTestFinished(() => void unsubscribe('http.server.request.start', note));
  const target = await product(signsIn);
  const client = new Client(target);
  await client.ask('tools/list');
  const [http] = servers;
  const { headers = {}, body = '' } = client.modern('tools/call', {
    name: 'danger',
    arguments: { text: 'x'.repeat(200) },
  });
  const fields = Object.entries({
    host: `127.0.0.1:${target.port}`,
    connection: 'close',
    authorization: tokenOf(ada),
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  return { target, http: http!, head: ['POST /mcp HTTP/1.1', ...fields, '', ''].join('\r\n'), body };
}

const DRIP_MS = 5;

// Ends when the server has closed the connection.
function drip(
  port: number,
  { atOnce = '', slowly }: { readonly atOnce?: string; readonly slowly: string },
): Promise<{ answer: string; sent: number }> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  onTestFinished(() => void socket.destroy());
  return new Promise((resolve) => {
    let answer = '';
    let sent = 0;
    socket.write(atOnce);
    const timer = setInterval(() => {
      if (sent < slowly.length) socket.write(slowly[sent++]!);
      else clearInterval(timer);
    }, DRIP_MS);
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
    });
    // What is sent to a connection that was cut is answered with a reset.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve({ answer, sent });
    });
  });
}

type Send = (caller: Caller, body: string, headers?: object) => Promise<{ status: number; session: string }>;

function sessionServer(
  kept = new Map<string, SessionRecord>(),
  clock = createFakeClock(),
): { kept: Map<string, SessionRecord>; send: Send } {
  const server = createServer({
    requestsPerMinute: 1_000_000,
    source: recordingSource(danger),
    log: () => {},
    memory: rememberedIn(kept),
    clock,
  });
  const send: Send = async (caller, body, headers = {}) => {
    const link = { ...createLink(caller, () => {}), headers: { ...headers } };
    const answer = await server.exchange.answer(Buffer.from(body), link);
    return { status: answer.status, session: answer.headers?.['mcp-session-id'] ?? '' };
  };
  return { kept, send };
}

function rememberedIn(kept: Map<string, SessionRecord>): Memory {
  return {
    ...createInMemory(systemClock),
    sessions: {
      put: (record) => void kept.set(record.id, record),
      get: (id) => kept.get(id),
      delete: (id) => void kept.delete(id),
    },
  };
}

function ping(send: Send, caller: Caller, session: string | undefined): Promise<{ status: number }> {
  return send(caller, '{"jsonrpc":"2.0","id":1,"method":"ping"}', { 'mcp-session-id': session });
}

interface Responses {
  /** The most that lay unread in one of them. */
  most(): number;
  /** How many streams are open. */
  open(): number;
  sample(): void;
}

// Sees every response of this process, from any server.
function watchResponses(): Responses {
  const responses = new Set<ServerResponse>();
  let most = 0;
  const note = (message: unknown): void => {
    responses.add((message as { response: ServerResponse }).response);
  };
  subscribe('http.server.request.start', note);
  onTestFinished(() => void unsubscribe('http.server.request.start', note));
  const isStream = (response: ServerResponse): boolean =>
    response.headersSent && response.getHeader('content-type') === undefined && !response.writableEnded;
  return {
    most: () => most,
    open: () => [...responses].filter((response) => isStream(response) && !response.destroyed).length,
    sample() {
      for (const response of responses) most = Math.max(most, response.writableLength);
    },
  };
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function chatty(
  seen: Responses | undefined,
  onStop: (said: number) => void,
  end = MANY,
): ReturnType<typeof defineTool> {
  return defineTool(
    { name: 'chatty', description: 'Reports without end.' },
    async (_args, { progress, signal }) => {
      let said = 0;
      while (!signal.aborted && said < end) {
        progress(++said, undefined, 'x'.repeat(PIECE));
        seen?.sample();
        await turn();
      }
      onStop(said);
      return 'done';
    },
  );
}

// A source with one resource, whose address is long enough to fill a pipe with.
function changingSource(): {
  source: ToolSource;
  uri: string;
  change: (seen: Responses) => void;
  watched: () => number;
} {
  const uri = `note://${'x'.repeat(PIECE)}`;
  const resource = defineResource({ uri, name: 'long' }, () => '');
  const listeners = new Set<(change: Change) => void>();
  const { list, find, call } = recordingSource(danger);
  return {
    uri,
    source: {
      list,
      find,
      call,
      resources: {
        list: () => [resource],
        templates: () => [],
        find: (address) => (address === uri ? { resource, variables: {} } : undefined),
      },
      watch(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    change(seen) {
      for (const listener of listeners) listener({ kind: 'resource', uri });
      seen.sample();
    },
    watched: () => listeners.size,
  };
}

async function until(done: () => boolean, step: () => void = () => {}): Promise<void> {
  for (let i = 0; i < MANY; i++) {
    if (done()) return;
    step();
    await turn();
  }
  throw new Error('It did not happen.');
}

function openAndNeverRead(
  port: number,
  { method = 'POST', path = '/mcp', headers = {}, body = '' }: RequestOptions,
): Socket {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    authorization: tokenOf(ada),
    accept: 'application/json, text/event-stream',
    ...(body !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  socket.write([`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\r\n'));
  onTestFinished(() => void socket.destroy());
  return socket;
}

// Reads only where its messages go, and then no more.
function messagesPath(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const path = /data: (.*)\n/.exec(text)?.[1];
      if (path === undefined) return;
      socket.pause().removeAllListeners('data');
      resolve(path);
    });
  });
}
