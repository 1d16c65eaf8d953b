import { ServerResponse, type Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createInMemory,
  createServer,
  defineTool,
  localCaller,
  ToolcribError,
  ToolRegistry,
  withStages,
  type Memory,
  type Stage,
  type ToolSource,
} from '../../src/index.ts';
import { listen, serveStdio } from '../../src/node.ts';
import { createFakeClock } from '../../src/testing.ts';
import {
  bad,
  catchNothingLate,
  expectIncident,
  expectOthersServed,
  fail,
  fault,
  good,
  internal,
  logbook,
} from './breaking.ts';
import { deferred } from './deferred.ts';
import { talkInLines } from './lines.ts';
import { ada, describeMatrix, type Setup } from './matrix.ts';
import { openPeer, type Json } from './peer.ts';
import {
  askModern,
  describeDoors,
  initialize,
  openHttpDoor,
  openSession,
  sendModern,
  sendOverSocket,
  SessionClient,
} from './session-client.ts';

const talks = defineTool({ name: 'talks', description: 'Reports.' }, (_args, { progress }) => {
  progress(1);
  return 'talked';
});
catchNothingLate();

const registry = new ToolRegistry().registerTool(good, bad, talks);

/** The tools behind a source that fails for one of them. */
function sourceWith(find: ToolSource['find'], call: ToolSource['call'] = (each) => registry.call(each)) {
  return { list: () => registry.list(), call, find } satisfies ToolSource;
}

const stage = (wrap: NonNullable<Stage['wrap']>): ToolSource =>
  withStages(registry, [
    { name: 'breaks', wrap: (tool, next) => (tool.name === 'bad' ? wrap(tool, next) : next) },
  ]);

const broken: Readonly<Record<string, Setup>> = {
  'finding a tool': { source: sourceWith((name) => (name === 'bad' ? fail() : registry.find(name))) },
  'finding a tool, later': {
    source: sourceWith(async (name) => (name === 'bad' ? fail() : registry.find(name))),
  },
  'folding the stages': { source: stage(fail) },
  'a stage': { source: stage(() => fail) },
  'a stage, later': { source: stage(() => async () => fail()) },
  'a stage after the tool': {
    source: stage((_tool, next) => async (call) => {
      await next(call);
      return fail();
    }),
  },
};

describeMatrix(({ connect }) => {
  test.each(Object.entries(broken))(
    'when %s throws, one call fails with one log entry, and other calls are answered',
    async (_step, setup) => {
      const { entries, log } = logbook();
      const peer = await connect({ ...setup, log });
      const [before, failed, after] = await Promise.all([
        peer.call('good'),
        peer.error('tools/call', { name: 'bad' }),
        peer.call('good'),
      ]);
      expect([before.content[0]!.text, after.content[0]!.text]).toEqual(['good', 'good']);
      expectIncident(failed, entries);
    },
  );

  test('an error whose details are not JSON reaches the client without them', async () => {
    const refuse = (): never => {
      throw new ToolcribError('unknown_tool', 'Nothing here.', { data: { big: 1n } });
    };
    const peer = await connect({ source: stage(() => async () => refuse()) });
    const [failed, fine] = await Promise.all([peer.error('tools/call', { name: 'bad' }), peer.call('good')]);
    expect(failed).toEqual({ code: -32602, message: 'Nothing here.' });
    expect(fine.content[0]!.text).toBe('good');
  });

  test.each<[string, () => unknown]>([
    ['throws', fail],
    ['rejects', async () => fail()],
  ])('a log that %s changes no response', async (_how, log) => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const peer = await connect({ ...broken['a stage, later']!, log });
    const [failed, fine] = await Promise.all([peer.error('tools/call', { name: 'bad' }), peer.call('good')]);
    expect(failed.message).toMatch(internal);
    expect(fine.content[0]!.text).toBe('good');
    await expect
      .poll(() => written.mock.calls.map(([text]) => String(text)).join(''))
      .toContain(failed.message);
  });
});

/** Breaks a method of the responses to requests that ask for it in a header; `times` is how often it throws. */
function breakResponses(method: 'writeHead' | 'write' | 'end', times = Infinity): void {
  const original = ServerResponse.prototype[method] as (...args: unknown[]) => unknown;
  const thrown = new WeakMap<object, number>();
  vi.spyOn(ServerResponse.prototype, method).mockImplementation(function (
    this: ServerResponse,
    ...args: unknown[]
  ) {
    const count = thrown.get(this) ?? 0;
    if (this.req.headers['x-break'] === undefined || count >= times)
      return original.apply(this, args) as never;
    thrown.set(this, count + 1);
    throw fault;
  } as never);
}

const breaking = { headers: { 'x-break': 'yes' } };

describe('over HTTP, of several responses written in one turn', () => {
  test('a response whose headers cannot be written becomes an internal error, and the others are sent', async () => {
    const { entries, log } = logbook();
    const door = await openHttpDoor({ source: registry, log });
    breakResponses('writeHead', 1);
    const failing = askModern(door, ['tools/call', { name: 'good' }], { ...breaking, id: 'mine' });
    await expectOthersServed(door, failing);
    const { id, error } = await failing;
    expect(id).toBe('mine');
    expectIncident(error, entries);
  });

  test.each(['writeHead', 'end'] as const)(
    'a response that cannot be sent at all (%s) closes its connection, and the others are sent',
    async (method) => {
      const { entries, log } = logbook();
      const door = await openHttpDoor({ source: registry, log });
      breakResponses(method);
      const failing = sendModern(door, ['tools/call', { name: 'good' }], breaking).then((answer) =>
        answer.text(),
      );
      await expectOthersServed(door, failing);
      await expect(failing).rejects.toThrow();
      expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
    },
  );

  test.each(['writeHead', 'write', 'end'] as const)(
    'a stream that cannot be written to (%s) ends, and the others go on',
    async (method) => {
      const { entries, log } = logbook();
      const door = await openHttpDoor({ source: registry, log });
      breakResponses(method);
      const call = ['tools/call', { name: 'talks', _meta: { progressToken: 1 } }] as const;
      const failing = sendModern(door, call, breaking).then((answer) => answer.text());
      await expectOthersServed(door, failing);
      await expect(failing).rejects.toThrow();
      expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
    },
  );

  test.each(['GET', 'DELETE', 'OPTIONS', 'PUT'])(
    'a failure while answering %s does not affect other requests',
    async (method) => {
      const { entries, log } = logbook();
      const door = await openHttpDoor({ source: registry, log });
      const session = await openSession(door);
      breakResponses('writeHead');
      const failing = door.send({
        method,
        headers: {
          ...breaking.headers,
          authorization: 'Bearer ada',
          accept: 'text/event-stream',
          'mcp-session-id': session.id,
        },
      });
      await expectOthersServed(door, failing);
      await expect(failing).rejects.toThrow();
      expect(entries.length).toBeGreaterThan(0);
    },
  );

  test('every error of the listener itself is logged', async () => {
    const { entries, log } = logbook();
    const door = await openHttpDoor({ source: registry, log });
    let http: HttpServer | undefined;
    const original = ServerResponse.prototype.writeHead;
    vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementation(function (
      this: ServerResponse,
      ...args
    ) {
      http = (this.req.socket as Socket & { server: HttpServer }).server;
      return original.apply(this, args as never);
    } as typeof original);
    await askModern(door, ['tools/call', { name: 'good' }]);
    for (let count = 0; count < 3; count++) http!.emit('error', fault);
    expect(entries).toMatchObject([{ cause: fault }, { cause: fault }, { cause: fault }]);
    await expectOthersServed(door, Promise.resolve());
  });
});

test('when one step of revoking callers fails, their streams are closed all the same', async () => {
  const { entries, log } = logbook();
  const door = await openHttpDoor({ source: registry, log });
  const session = await openSession(door);
  const stream = await session.stream();
  const others = [...door.server.dismissals];
  door.server.dismissals.clear();
  for (const dismiss of [fail, ...others]) door.server.dismissals.add(dismiss);
  door.server.dismiss(() => true);
  expect(await stream.rest()).toEqual([]);
  expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
});

test.each([String.raw`{"jsonrpc":"2.0","id":1,"method":"tools/call","pme` + '\\', '{"a\\'])(
  'a body that ends in a backslash is refused, and others are answered: %s',
  async (body) => {
    const door = await openHttpDoor({ source: registry });
    const headers = { authorization: 'Bearer ada', 'content-type': 'application/json', accept: '*/*' };
    const failing = door.send({ headers, body });
    await expectOthersServed(door, failing);
    expect((await failing).status).toBe(400);
  },
);

test('a client that disconnects before a route has answered does not affect other requests', async () => {
  const asked = deferred();
  const release = deferred();
  const server = createServer({ source: registry, authenticate: () => ada });
  const answer = async () => {
    asked.resolve();
    await release.promise;
    return { status: 200, body: 'late' };
  };
  const listening = await listen(server, { port: 0, routes: [{ path: '/slow', access: 'public', answer }] });
  onTestFinished(() => listening.close(0));
  const controller = new AbortController();
  const gone = fetch(new URL('/slow', listening.url), { signal: controller.signal });
  await asked.promise;
  controller.abort();
  await expect(gone).rejects.toThrow();
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  release.resolve();
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  const door = { server, send: (request: object) => sendOverSocket(listening.url, request) };
  await expectOthersServed(door, Promise.resolve());
});

describe('event streams', () => {
  test('a stream that cannot be kept alive does not stop the keep-alive of the others', async () => {
    const clock = createFakeClock();
    const { entries, log } = logbook();
    const door = await openHttpDoor({ source: registry, log, clock });
    const sessions = [await openSession(door), await openSession(door), await openSession(door)];
    const [first, , last] = await Promise.all([
      sessions[0]!.stream(),
      sessions[1]!.get(breaking.headers),
      sessions[2]!.stream(),
    ]);
    breakResponses('write');
    for (let beat = 0; beat < 2; beat++) {
      clock.advance(15_000);
      expect([await first.next(), await last.next()]).toMatchObject([
        { comment: expect.anything() },
        { comment: expect.anything() },
      ]);
    }
    expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
  });

  test('a stream that cannot be notified of a change does not affect the change or other streams', async () => {
    const { entries, log } = logbook();
    const source = new ToolRegistry().registerTool(good);
    const door = await openHttpDoor({ source, log });
    const sessions = [await openSession(door), await openSession(door), await openSession(door)];
    const [first, , last] = await Promise.all([
      sessions[0]!.stream(),
      sessions[1]!.get(breaking.headers),
      sessions[2]!.stream(),
    ]);
    breakResponses('write');
    source.registerTool(bad);
    const changed = { method: 'notifications/tools/list_changed' };
    expect([(await first.message()).message, (await last.message()).message]).toMatchObject([
      changed,
      changed,
    ]);
    expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
  });

  test('a source that fails on subscribe or unsubscribe affects only the request that wanted to listen', async () => {
    const { entries, log } = logbook();
    const source = { ...sourceWith((name) => registry.find(name)), watch: () => fail };
    const door = await openHttpDoor({ source, log });
    const session = await openSession(door);
    expect((await session.end()).status).toBe(204);
    expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
    await expectOthersServed(door, Promise.resolve());
  });
});

/** A memory in which one thing fails. */
function memoryWith(change: (memory: Memory) => Partial<Memory>): Memory {
  const memory = createInMemory();
  return { ...memory, ...change(memory) };
}

describeDoors((open) => {
  test.each<[string, () => Promise<never>]>([
    ['throws', () => fail()],
    ['fails', async () => fail()],
  ])(
    'a session memory that %s causes an internal error for its request, and does not affect others',
    async (_how, get) => {
      const { entries, log } = logbook();
      let isBroken = false;
      const memory = memoryWith(({ sessions }) => ({
        sessions: { ...sessions, get: (id) => (isBroken ? get() : sessions.get(id)) },
      }));
      const door = await open({ source: registry, log, memory });
      const session = await openSession(door);
      isBroken = true;
      const failing = session.answer('tools/call', { name: 'good' });
      await expectOthersServed(door, failing);
      expectIncident((await failing).error, entries);
    },
  );

  test('an event memory that throws does not affect any response', async () => {
    const memory = memoryWith(({ events }) => ({ events: { ...events, keep: fail, forget: fail } }));
    for (const delivery of ['direct', 'queued'] as const) {
      const door = await open({ source: registry, memory, delivery });
      const session = await openSession(door);
      const stream = await session.stream();
      const answer = await session.call('talks', {}, 7);
      if (delivery === 'direct') expect(await answer.text()).toContain('talked');
      else expect(await stream.until(({ id }) => id === 7)).toHaveLength(2);
      expect((await session.end()).status).toBe(204);
    }
  });

  test('only the failed message of a batch is answered with an error', async () => {
    const { entries, log } = logbook();
    const door = await open({ ...broken['finding a tool']!, log });
    const session = await openSession(door, { version: '2025-03-26' });
    const names = ['good', 'bad', 'good'];
    const calls = names.map((name, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } }));
    const answers = (await (await session.post(calls)).json()) as Json[];
    expect(answers).toMatchObject([
      { id: 0, result: {} },
      { id: 1, error: {} },
      { id: 2, result: {} },
    ]);
    expectIncident(answers[1]!['error'] as never, entries);
  });

  test('with queued delivery only the failed message is answered with an error', async () => {
    const { entries, log } = logbook();
    const door = await open({ ...broken['a stage, later']!, log, delivery: 'queued' });
    const session = await openSession(door);
    const stream = await session.stream();
    const names = ['good', 'bad', 'good'];
    await Promise.all(names.map((name, id) => session.request('tools/call', { name }, id)));
    const answers = [];
    for (let count = 0; count < 3; count++) answers.push((await stream.message()).message);
    answers.sort((one, other) => Number(one['id']) - Number(other['id']));
    expect(answers).toMatchObject([
      { id: 0, result: {} },
      { id: 1, error: {} },
      { id: 2, result: {} },
    ]);
    expectIncident(answers[1]!.error!, entries);
  });

  test('a notification that fails is answered with an error status, and may be sent again', async () => {
    const { entries, log } = logbook();
    let isBroken = true;
    const source = new ToolRegistry().registerTool(good);
    const watch: ToolSource['watch'] = (listener) => (isBroken ? fail() : source.watch(listener));
    const face = { list: () => source.list(), find: (name: string) => source.find(name), watch };
    const door = await open({ source: { ...sourceWith(face.find), ...face }, log });
    const session = new SessionClient(door, (await initialize(door)).headers.get('mcp-session-id')!);
    const notify = async (): Promise<unknown[]> => {
      const response = await session.notify('notifications/initialized');
      return [response.status, await response.text()];
    };
    expect(await notify()).toEqual([500, '']);
    expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
    await expectOthersServed(door, Promise.resolve());
    isBroken = false;
    expect(await notify()).toEqual([202, '']);
    expect(entries.length).toBe(1);
    const stream = await session.stream();
    source.registerTool(bad);
    expect((await stream.message()).message).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
    });
  });

  test('an authentication challenge whose details are not JSON is still sent', async () => {
    const authenticate = ({ headers }: { headers: Readonly<Record<string, unknown>> }) => {
      if (headers['x-break'] === undefined) return ada;
      throw new ToolcribError('insufficient_scope', 'More.', { data: { scope: 'more', big: 1n } });
    };
    const door = await open({ source: registry, authenticate });
    const failing = sendModern(door, ['tools/call', { name: 'good' }], breaking);
    await expectOthersServed(door, failing);
    expect((await failing).status).toBe(403);
  });
});

test('over standard output only the line that cannot be written is replaced', async () => {
  const { entries, log } = logbook();
  const server = createServer({ source: registry, log });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const write = output.write.bind(output) as (chunk: unknown, ...more: unknown[]) => boolean;
  output.write = ((chunk: unknown, ...more: unknown[]) =>
    String(chunk).includes('talked') ? fail() : write(chunk, ...more)) as typeof output.write;
  const served = serveStdio(server, { input, output });
  onTestFinished(async () => {
    input.end();
    await served;
  });
  const wire = { ...talkInLines(input, output), close: async () => {} };
  const peer = await openPeer(wire, { version: '2025-11-25', era: 'legacy' });
  const [before, failed, after] = await Promise.all([
    peer.call('good'),
    peer.error('tools/call', { name: 'talks' }),
    peer.call('good'),
  ]);
  expect([before.content[0]!.text, after.content[0]!.text]).toEqual(['good', 'good']);
  expectIncident(failed, entries);
});

test('over fetch, a client that does not read its stream does not affect others when the call ends', async () => {
  const { entries, log } = logbook();
  const large = 'x'.repeat(300_000);
  const floods = defineTool({ name: 'floods', description: 'Floods.' }, async (_args, { log: say }) => {
    for (let count = 0; count < 3; count++) say('error', large);
    await setImmediate();
    return large;
  });
  const server = createServer({
    source: new ToolRegistry().registerTool(good, floods),
    authenticate: () => ada,
    log,
  });
  const door = {
    server,
    send: ({ headers = {}, body }: { headers?: object; body?: unknown }) =>
      server.fetch(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: { ...headers },
          body: JSON.stringify(body),
        }),
      ),
  };
  const meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
  const response = await sendModern(door, ['tools/call', { name: 'floods', _meta: meta }]);
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  await expectOthersServed(door, Promise.resolve());
  await expect(response.text()).rejects.toThrow();
  expect(entries).toEqual([]);
});

test('in process, a listener that throws changes no response', async () => {
  const { entries, log } = logbook();
  const server = createServer({ source: registry, log });
  const params = {
    name: 'talks',
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      progressToken: 1,
    },
  };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params } as const;
  const answer = await server.handle(message, { caller: localCaller, notify: fail });
  expect(answer?.['result']).toMatchObject({ content: [{ text: 'talked' }] });
  expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
});
