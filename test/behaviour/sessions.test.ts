import { expect, onTestFinished, test } from 'vitest';
import {
  createInMemory,
  defineResource,
  defineTool,
  ToolRegistry,
  type SessionRecord,
} from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { sessionLimits } from '../../src/server/sessions/sessions.ts';
import { sourceTest } from '../source-test.ts';
import { deferred } from './deferred.ts';
import {
  describeDoors,
  initialize,
  openHttpDoor,
  openSession,
  postHeaders,
  sendModern,
  serve,
  SessionClient,
  type Door,
} from './session-client.ts';

const named = (name: string) => defineTool({ name, description: 'One of several.' }, () => name);
const echo = named('echo');
const NEVER_ISSUED = '00000000-0000-4000-8000-000000000000';

/** What a client sees of a response it cannot use. */
async function seen(response: Response): Promise<{ status: number; body: string }> {
  return { status: response.status, body: await response.text() };
}

describeDoors((open) => {
  test('a handshake opens a session with an unguessable id, which later requests carry', async () => {
    const door = await open({ tools: [echo] });
    const ids = new Set<string>();
    for (let count = 0; count < 20; count++) {
      const response = await initialize(door);
      expect(response.status).toBe(200);
      ids.add(response.headers.get('mcp-session-id')!);
    }
    expect(ids.size).toBe(20);
    for (const id of ids)
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);

    const session = new SessionClient(door, [...ids][0]!);
    expect((await session.notify('notifications/initialized')).status).toBe(202);
    expect(await session.answer('tools/call', { name: 'echo' })).toMatchObject({
      result: { content: [{ text: 'echo' }] },
    });
  });

  test('A9 a session is for its caller alone: foreign, ended and unknown ids get the same response', async () => {
    const door = await open({ tools: [echo] });
    const mine = await openSession(door);
    const ended = await openSession(door);
    expect((await ended.end()).status).toBe(204);
    const attempts = [
      new SessionClient(door, mine.id, { as: 'bob' }),
      new SessionClient(door, mine.id, { as: 'eve' }),
      ended,
      new SessionClient(door, NEVER_ISSUED),
      new SessionClient(door, 'made up'),
    ];
    const answers = await Promise.all(
      attempts.map(async (client) => ({
        post: await seen(await client.request('tools/list', {}, 7)),
        note: await seen(await client.notify('notifications/cancelled', { requestId: 7 })),
        get: await seen(await client.get()),
        end: await seen(await client.end()),
      })),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    const { post, get, note, end } = answers[0]!;
    expect([post, get, note, end].map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(JSON.parse(post.body)).toMatchObject({ id: 7, error: { code: -32600 } });
    // Whose it is has noticed nothing.
    expect(await mine.answer('ping')).toMatchObject({ result: {} });
  });

  test('DELETE ends a session and stops its running calls', async () => {
    const started = deferred<AbortSignal>();
    const wait = defineTool({ name: 'wait', description: 'Waits.' }, async (_args, { signal }) => {
      started.resolve(signal);
      await new Promise(() => {});
    });
    const session = await openSession(await open({ tools: [wait] }));
    const underWay = session.call('wait');
    const signal = await started.promise;
    const stream = await session.stream();
    expect((await session.end()).status).toBe(204);
    expect(signal.aborted).toBe(true);
    expect(await (await underWay).json()).toMatchObject({ id: 101, error: { code: -32603 } });
    expect(await stream.rest()).toEqual([]);
    expect((await session.request('ping')).status).toBe(404);
    expect((await session.end()).status).toBe(404);
  });

  test('a handshake with the id of an ended session opens a new session', async () => {
    const door = await open({ tools: [echo] });
    for (const stale of [NEVER_ISSUED, (await openSession(door, { as: 'bob' })).id]) {
      const response = await initialize(door, { headers: { 'mcp-session-id': stale } });
      expect(response.status).toBe(200);
      const id = response.headers.get('mcp-session-id')!;
      expect(id).not.toBe(stale);
      expect(await new SessionClient(door, id).answer('ping')).toMatchObject({ result: {} });
    }
  });

  test('requests without a session can discover the server and list', async () => {
    const door = await open({ tools: [echo] });
    const discovered = await sendModern(door, ['server/discover']);
    expect(discovered.status).toBe(200);
    expect(await discovered.json()).toMatchObject({ result: { supportedVersions: ['2026-07-28'] } });
    expect(discovered.headers.get('mcp-session-id')).toBe(null);

    for (const version of [undefined, '2025-11-25', '2025-03-26']) {
      const headers = { ...postHeaders('ada'), 'mcp-protocol-version': version };
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const listed = await door.send({ headers, body });
      expect(listed.status).toBe(200);
      expect(await listed.json()).toMatchObject({ result: { tools: [{ name: 'echo' }] } });
    }
    const bare = await door.send({
      headers: postHeaders('ada'),
      body: { jsonrpc: '2.0', id: 1, method: 'server/discover' },
    });
    expect(bare.status).toBe(200);
    expect(await bare.json()).toMatchObject({ error: { code: -32601 } });
  });

  test('a modern request ignores a session id, even an unknown one', async () => {
    const door = await open({ tools: [echo] });
    const response = await sendModern(door, ['tools/list'], { headers: { 'mcp-session-id': NEVER_ISSUED } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ result: { resultType: 'complete' } });
  });

  test('an unknown method on a session has status 200, because 404 would mean that the session has ended', async () => {
    const session = await openSession(await open({ tools: [echo] }));
    for (const method of [
      'no/such',
      'resources/list',
      'server/discover',
      'tasks/get',
      'subscriptions/listen',
    ]) {
      const response = await session.request(method);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ error: { code: -32601 } });
    }
    const unknownTool = await session.call('no_such_tool');
    expect(unknownTool.status).toBe(200);
    expect(await unknownTool.json()).toMatchObject({ error: { code: -32602 } });
  });

  test('notifications/cancelled stops a request of the same session only', async () => {
    const starts = [deferred<AbortSignal>(), deferred<AbortSignal>()];
    const release = deferred();
    let calls = 0;
    const wait = defineTool({ name: 'wait', description: 'Waits.' }, async (_args, { signal }) => {
      starts[calls++]!.resolve(signal);
      await release.promise;
      return 'done';
    });
    const door = await open({ tools: [wait] });
    const session = await openSession(door);
    const other = await openSession(door);
    const first = session.call('wait', {}, 7);
    const stopped = await starts[0]!.promise;
    const second = other.call('wait', {}, 7);
    const goingOn = await starts[1]!.promise;

    await session.notify('notifications/cancelled', { requestId: '7' });
    expect(stopped.aborted).toBe(false);
    await session.notify('notifications/cancelled', { requestId: 7 });
    expect(stopped.aborted).toBe(true);
    expect(await seen(await first)).toEqual({ status: 202, body: '' });
    expect(goingOn.aborted).toBe(false);
    release.resolve();
    expect(await (await second).json()).toMatchObject({ id: 7, result: { content: [{ text: 'done' }] } });
  });

  test('the stream of a session announces tools that are added, changed and removed, and updates of subscribed resources (000-35, 003-09)', async () => {
    const source = new ToolRegistry().registerTool(echo).registerResource(
      defineResource({ uri: 'note://one', name: 'one' }, () => '1'),
      defineResource({ uri: 'note://two', name: 'two' }, () => '2'),
    );
    const session = await openSession(await open({ source }));
    const stream = await session.stream();
    const changed = { method: 'notifications/tools/list_changed' };

    source.registerTool(named('second'), named('third'));
    expect((await stream.message()).message).toMatchObject(changed);
    source.replace(defineTool({ name: 'second', description: 'Better described.' }, () => 2));
    expect((await stream.message()).message).toMatchObject(changed);
    source.remove('second');
    expect((await stream.message()).message).toMatchObject(changed);

    await session.request('resources/subscribe', { uri: 'note://one' });
    source.resourceUpdated('note://two');
    source.resourceUpdated('note://one');
    const update = { method: 'notifications/resources/updated', params: { uri: 'note://one' } };
    expect((await stream.message()).message).toMatchObject(update);
    await session.request('resources/unsubscribe', { uri: 'note://one' });
    source.resourceUpdated('note://one');
    source.removeResource('note://two');
    expect((await stream.message()).message).toMatchObject({
      method: 'notifications/resources/list_changed',
    });
  });

  test('a session gets no notifications before its handshake is complete', async () => {
    const source = new ToolRegistry();
    const door = await open({ source });
    const response = await initialize(door);
    const session = new SessionClient(door, response.headers.get('mcp-session-id')!);
    const stream = await session.stream();
    source.registerTool(echo);
    await session.notify('notifications/initialized');
    source.registerResource(defineResource({ uri: 'note://one', name: 'one' }, () => '1'));
    expect((await stream.message()).message).toMatchObject({
      method: 'notifications/resources/list_changed',
    });
  });

  test('A9 a second stream on a session is refused and does not affect the first', async () => {
    const source = new ToolRegistry();
    const session = await openSession(await open({ source }));
    const stream = await session.stream();
    expect((await session.get()).status).toBe(409);
    source.registerTool(echo);
    expect((await stream.message()).message).toMatchObject({ method: 'notifications/tools/list_changed' });
  });

  test('after a disconnect the stream of a session can be opened again, and has the missed messages', async () => {
    const source = new ToolRegistry();
    const session = await openSession(await open({ source }));
    const stream = await session.stream();
    await stream.hangUp();
    // The hang-up has to arrive before the next one can take its place.
    let response = await session.get();
    while (response.status === 409) response = await session.get();
    expect(response.status).toBe(200);
    await response.body!.cancel();
  });

  test('opening a stream needs a session and a client that accepts event streams', async () => {
    const door = await open();
    const session = await openSession(door);
    expect((await session.get({ accept: 'application/json' })).status).toBe(406);
    const without = await door.send({ method: 'GET', headers: { authorization: 'Bearer ada' } });
    expect(without.status).toBe(405);
    expect(without.headers.get('allow')).toContain('POST');
    const ending = await door.send({ method: 'DELETE', headers: { authorization: 'Bearer ada' } });
    expect(ending.status).toBe(405);
  });

  test('A8 an unused session ends after fifteen minutes, a used one after a day', async () => {
    const clock = createFakeClock();
    const door = await open({ tools: [echo], clock });
    const idle = await openSession(door);
    const used = await openSession(door);
    clock.advance(sessionLimits.idleMs - 1);
    expect((await used.request('ping')).status).toBe(200);
    clock.advance(2);
    expect((await idle.request('ping')).status).toBe(404);
    for (let age = sessionLimits.idleMs; age < sessionLimits.absoluteMs - 120_000; age += 60_000) {
      clock.advance(60_000);
      if (age % 600_000 === 0) expect((await used.request('ping')).status).toBe(200);
    }
    expect((await used.request('ping')).status).toBe(200);
    clock.advance(120_000);
    expect((await used.request('ping')).status).toBe(404);
  });

  test('a session with an open stream counts as used', async () => {
    const clock = createFakeClock();
    const session = await openSession(await open({ clock }));
    const stream = await session.stream();
    clock.advance(sessionLimits.idleMs * 2);
    expect((await session.request('ping')).status).toBe(200);
    await stream.hangUp();
  });

  sourceTest(
    'A8 there are never more sessions than the limit: the one unused for longest makes room',
    async () => {
      const { max } = sessionLimits;
      onTestFinished(() => void (sessionLimits.max = max));
      sessionLimits.max = 3;
      const door = await open({ tools: [echo] });
      const first = await openSession(door);
      const second = await openSession(door);
      const third = await openSession(door);
      expect((await first.request('ping')).status).toBe(200);
      const fourth = await openSession(door);
      const statuses = [];
      for (const session of [first, second, third, fourth])
        statuses.push((await session.request('ping')).status);
      expect(statuses).toEqual([200, 404, 200, 200]);
    },
  );
});

/** A memory that tells what was asked of its sessions, and answers later. */
function slowMemory() {
  const memory = createInMemory(createFakeClock());
  const asked: string[] = [];
  const records = new Map<string, SessionRecord>();
  const later = async (what: string): Promise<void> => {
    asked.push(what);
    await new Promise(setImmediate);
  };
  return {
    asked,
    records,
    memory: {
      ...memory,
      sessions: {
        async put(record: SessionRecord) {
          await later('put');
          records.set(record.id, record);
        },
        async get(id: string) {
          await later('get');
          return records.get(id);
        },
        async delete(id: string) {
          await later('delete');
          records.delete(id);
        },
      },
    },
  };
}

function doorOf(setup: Parameters<typeof serve>[0]): Door {
  const server = serve(setup);
  return {
    server,
    send: ({ method = 'POST', headers = {}, body }) =>
      server.fetch(
        new Request('http://localhost/mcp', {
          method,
          headers: JSON.parse(JSON.stringify(headers)) as Record<string, string>,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      ),
  };
}

test('sessions are stored in the memory that the server was given, under their owner', async () => {
  const { asked, records, memory } = slowMemory();
  const session = await openSession(doorOf({ memory }), { capabilities: { roots: {} } });
  expect([...records.values()]).toEqual([
    {
      id: session.id,
      owner: '4:acme/ada',
      protocolVersion: '2025-11-25',
      client: expect.objectContaining({ name: 'test', capabilities: { roots: {} } }) as object,
      createdAt: expect.any(Number) as number,
    },
  ]);
  await session.end();
  expect(records.size).toBe(0);
  expect(new Set(asked)).toEqual(new Set(['put', 'get', 'delete']));
});

test('another server with the same memory can continue a session, for its owner alone', async () => {
  const { memory } = slowMemory();
  const names = defineTool(
    { name: 'names', description: 'Tells what is known of the client.' },
    (_args, { client, caller }) => `${client.name} ${client.protocolVersion} ${caller.id}`,
  );
  const session = await openSession(doorOf({ memory, tools: [names] }), { version: '2025-06-18' });
  const source = new ToolRegistry().registerTool(names);
  const elsewhere = doorOf({ memory, source });
  const restored = new SessionClient(elsewhere, session.id, { version: '2025-06-18' });
  expect((await new SessionClient(elsewhere, session.id, { as: 'bob' }).request('ping')).status).toBe(404);
  expect(await restored.answer('tools/call', { name: 'names' })).toMatchObject({
    result: { content: [{ text: 'test 2025-06-18 ada' }] },
  });

  const stream = await restored.stream();
  source.registerTool(echo);
  expect((await stream.message()).message).toMatchObject({ method: 'notifications/tools/list_changed' });
  await stream.hangUp();

  await restored.end();
  expect((await session.request('ping')).status).toBe(404);
});

sourceTest('A8 sessions carried on from a shared memory count towards the limit', async () => {
  const { max } = sessionLimits;
  onTestFinished(() => void (sessionLimits.max = max));
  const { memory, records } = slowMemory();
  const first = doorOf({ memory });
  const ids = [];
  for (let count = 0; count < 4; count++) ids.push((await openSession(first)).id);
  sessionLimits.max = 2;
  const elsewhere = doorOf({ memory });
  for (const id of ids) expect((await new SessionClient(elsewhere, id).request('ping')).status).toBe(200);
  expect(records.size).toBe(2);
});

test('A8 a client that disconnects while its session is looked up does not occupy the stream', async () => {
  const { memory } = slowMemory();
  const looking = deferred();
  const found = deferred();
  const waits: typeof memory = {
    ...memory,
    sessions: {
      ...memory.sessions,
      async get(id) {
        const record = await memory.sessions.get(id);
        if (holding) {
          looking.resolve();
          await found.promise;
        }
        return record;
      },
    },
  };
  let holding = false;
  const server = serve({ memory: waits });
  const door: Door = { ...doorOf({}), server, send: (request) => sendAborted(request) };
  let abort = new AbortController();
  const sendAborted: Door['send'] = ({ method = 'POST', headers = {}, body }) =>
    server.fetch(
      new Request('http://localhost/mcp', {
        method,
        headers: JSON.parse(JSON.stringify(headers)) as Record<string, string>,
        signal: abort.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  const session = await openSession(door);
  holding = true;
  void session.get();
  await looking.promise;
  abort.abort();
  holding = false;
  found.resolve();
  abort = new AbortController();
  await session.request('ping');
  expect((await session.get()).status).toBe(200);
});

test('closing the server ends the streams of all sessions', async () => {
  const door = await openHttpDoor();
  const session = await openSession(door);
  const stream = await session.stream();
  await door.listening!.close();
  expect(await stream.rest()).toEqual([]);
});
