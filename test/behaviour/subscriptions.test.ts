import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import {
  definePrompt,
  defineResource,
  defineTool,
  ToolRegistry,
  withStages,
  type ResourceFace,
  type Stage,
  type ToolSource,
} from '../../src/index.ts';
import { serveStdio } from '../../src/node.ts';
import { createFakeClock } from '../../src/testing.ts';
import { KEEP_ALIVE_MS } from '../../src/server/sessions/keep-alive.ts';
import { addressLimits } from '../../src/server/sessions/listen.ts';
import { openLimits } from '../../src/server/caller-limit.ts';
import { sourceTest } from '../source-test.ts';
import type { Json } from './peer.ts';
import {
  askModern,
  describeDoors,
  EventReader,
  modernBody,
  openSession,
  people,
  sendModern,
  serve,
  type Door,
  type ModernOptions,
} from './session-client.ts';

const ID = 'io.modelcontextprotocol/subscriptionId';
const named = (name: string, description = 'One of several.') =>
  defineTool({ name, description }, () => name);
const note = (name: string) => defineResource({ uri: `note://${name}`, name }, () => name);
const ALL = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

/** A source with one of everything. */
function stocked(): ToolRegistry {
  return new ToolRegistry()
    .registerTool(named('first'))
    .registerResource(note('one'), note('two'))
    .registerPrompt(definePrompt({ name: 'greeting' }, () => 'Hello!'));
}

/** The same source as a plain object, with some of it replaced. */
function plainly(source: ToolRegistry, change: Partial<ToolSource>): ToolSource {
  return {
    list: () => source.list(),
    find: (name) => source.find(name),
    call: (call) => source.call(call),
    watch: (listener) => source.watch(listener),
    ...change,
  };
}

/** Its resources, each of which takes some time to be found. */
function slowToFind(registry: ToolRegistry, ms: number, onLook = (): void => {}): ResourceFace {
  const resources = registry.resources!;
  return {
    list: () => resources.list(),
    templates: () => resources.templates(),
    find(uri) {
      onLook();
      for (const until = performance.now() + ms; performance.now() < until;);
      return resources.find(uri);
    },
  };
}

async function listen(door: Door, notifications: Json, options?: ModernOptions): Promise<EventReader> {
  return new EventReader(await sendModern(door, ['subscriptions/listen', { notifications }], options));
}

async function acknowledged(stream: EventReader): Promise<Json> {
  const { message } = await stream.message();
  expect(message).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
  return (message['params'] as { notifications: Json }).notifications;
}

async function nextMethod(stream: EventReader): Promise<unknown> {
  return (await stream.message()).message['method'];
}

describeDoors((open) => {
  test('a subscription is acknowledged first, with the parts of it that are accepted', async () => {
    const door = await open({ source: stocked() });
    const wanted = { ...ALL, resourceSubscriptions: ['note://one'], somethingElse: true };
    expect(await acknowledged(await listen(door, wanted))).toEqual({
      ...ALL,
      resourceSubscriptions: ['note://one'],
    });
    expect(
      await acknowledged(await listen(door, { toolsListChanged: true, promptsListChanged: false })),
    ).toEqual({ toolsListChanged: true });
    expect(await acknowledged(await listen(door, {}))).toEqual({});

    const tools = await open({ source: new ToolRegistry().registerTool(named('first')) });
    expect(await acknowledged(await listen(tools, wanted))).toEqual({ toolsListChanged: true });
    const still = new ToolRegistry().registerTool(named('first'));
    const { watch: _watch, ...unwatched } = plainly(still, {});
    const silent = await open({ source: unwatched });
    expect(await acknowledged(await listen(silent, wanted))).toEqual({});
  });

  test.each([7, '7', 0, 'listen-ünï', 1.5])(
    'every notification has the id of its subscription request, of the same type: %j',
    async (id) => {
      const source = stocked();
      const door = await open({ source });
      const stream = await listen(door, { ...ALL, resourceSubscriptions: ['note://one'] }, { id });
      source.registerTool(named('second'));
      await Promise.resolve();
      source.registerPrompt(definePrompt({ name: 'farewell' }, () => 'Bye!'));
      await Promise.resolve();
      source.removeResource('note://two');
      await Promise.resolve();
      source.resourceUpdated('note://one');
      const messages = await stream.until(({ method }) => method === 'notifications/resources/updated');
      expect(messages).toEqual([
        {
          jsonrpc: '2.0',
          method: 'notifications/subscriptions/acknowledged',
          params: { notifications: { ...ALL, resourceSubscriptions: ['note://one'] }, _meta: { [ID]: id } },
        },
        { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: { [ID]: id } } },
        { jsonrpc: '2.0', method: 'notifications/prompts/list_changed', params: { _meta: { [ID]: id } } },
        { jsonrpc: '2.0', method: 'notifications/resources/list_changed', params: { _meta: { [ID]: id } } },
        {
          jsonrpc: '2.0',
          method: 'notifications/resources/updated',
          params: { uri: 'note://one', _meta: { [ID]: id } },
        },
      ]);
      door.server.close();
      const [last, ...more] = await stream.rest();
      expect(JSON.parse(last!.data!)).toMatchObject({
        jsonrpc: '2.0',
        id,
        result: { resultType: 'complete', _meta: { [ID]: id } },
      });
      expect(more).toEqual([]);
    },
  );

  test('a subscription gets the notifications it asked for and no others', async () => {
    const source = stocked();
    const door = await open({ source });
    const tools = await listen(door, { toolsListChanged: true }, { id: 'tools' });
    const updates = await listen(door, { resourceSubscriptions: ['note://two'] }, { id: 'updates' });
    await acknowledged(tools);
    await acknowledged(updates);
    source.registerPrompt(definePrompt({ name: 'farewell' }, () => 'Bye!'));
    source.resourceUpdated('note://one');
    source.resourceUpdated('note://two');
    source.registerResource(note('three'));
    await Promise.resolve();
    source.registerTool(named('second'));
    expect((await tools.message()).message).toMatchObject({
      method: 'notifications/tools/list_changed',
      params: { _meta: { [ID]: 'tools' } },
    });
    expect((await updates.message()).message).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'note://two', _meta: { [ID]: 'updates' } },
    });
  });

  test('subscribers are notified when a tool is added, changed, hidden, shown or removed, once a turn (000-35, 003-09)', async () => {
    const source = stocked();
    const stream = await listen(await open({ source }), ALL);
    await acknowledged(stream);
    const changes = [
      () => source.registerTool(named('second'), named('third')),
      () => source.replace(named('second', 'Better described.')),
      () => source.disable('second'),
      () => source.enable('second'),
      () => source.remove('second'),
      () => {
        source.registerTool(named('fourth'));
        source.replace(named('first', 'Better described.'));
        source.remove('third');
      },
    ];
    for (const change of changes) {
      change();
      expect(await nextMethod(stream)).toBe('notifications/tools/list_changed');
    }
    // Whatever had been told twice would come before this.
    source.registerPrompt(definePrompt({ name: 'farewell' }, () => 'Bye!'));
    expect(await nextMethod(stream)).toBe('notifications/prompts/list_changed');
  });

  test('a change of a hidden tool is announced only to callers who can see the tool', async () => {
    const source = stocked().registerTool(named('secret'));
    const hide: Stage = {
      name: 'hide',
      expose: (tool, caller) => (tool.name.startsWith('secret') && caller.id !== 'bob' ? null : tool),
    };
    const door = await open({ source: withStages(source, [hide]) });
    const ada = await listen(door, ALL, { as: 'ada' });
    const bob = await listen(door, ALL, { as: 'bob' });
    await acknowledged(ada);
    await acknowledged(bob);
    const changes = [
      () => source.replace(named('secret', 'Better described.')),
      () => source.registerTool(named('secret_too')),
      () => source.remove('secret'),
    ];
    for (const change of changes) {
      change();
      expect(await nextMethod(bob)).toBe('notifications/tools/list_changed');
    }
    source.registerPrompt(definePrompt({ name: 'farewell' }, () => 'Bye!'));
    expect(await nextMethod(ada)).toBe('notifications/prompts/list_changed');
    source.registerTool(named('open_to_all'));
    expect(await nextMethod(ada)).toBe('notifications/tools/list_changed');
  });

  test('A9 a caller that subscribes to a resource it may not see gets no notification about it', async () => {
    const source = stocked();
    const mine = plainly(source, {
      resources: {
        list: () => source.resources!.list(),
        templates: () => source.resources!.templates(),
        find: (uri, caller) =>
          caller.id === 'bob' || uri !== 'note://one' ? source.resources!.find(uri) : undefined,
      },
    });
    const door = await open({ source: mine });
    const wanted = { resourceSubscriptions: ['note://one', 'note://two'] };
    const ada = await listen(door, wanted, { as: 'ada' });
    const bob = await listen(door, wanted, { as: 'bob' });
    await acknowledged(ada);
    await acknowledged(bob);
    source.resourceUpdated('note://one');
    source.resourceUpdated('note://two');
    expect((await ada.message()).message).toMatchObject({ params: { uri: 'note://two' } });
    expect((await bob.message()).message).toMatchObject({ params: { uri: 'note://one' } });
  });

  test('A8 quiet subscriptions are kept alive with comments', async () => {
    const clock = createFakeClock();
    const door = await open({ source: stocked(), clock });
    const stream = await listen(door, ALL);
    await acknowledged(stream);
    clock.advance(KEEP_ALIVE_MS);
    expect(await stream.next()).toEqual({ comment: 'keep-alive' });
    clock.advance(KEEP_ALIVE_MS * 2);
    expect([await stream.next(), await stream.next()]).toEqual([
      { comment: 'keep-alive' },
      { comment: 'keep-alive' },
    ]);
  });

  sourceTest(
    'A8 one caller can hold only so many subscriptions; a hang-up makes room, and others are not affected',
    async () => {
      const { perCaller } = openLimits;
      onTestFinished(() => void (openLimits.perCaller = perCaller));
      openLimits.perCaller = 2;
      const door = await open({ source: stocked() });
      const first = await listen(door, ALL, { id: 1 });
      const second = await listen(door, ALL, { id: 2 });
      await acknowledged(first);
      await acknowledged(second);
      const refused = await sendModern(door, ['subscriptions/listen', { notifications: ALL }], { id: 3 });
      expect(refused.status).toBe(429);
      expect(await refused.json()).toMatchObject({ id: 3, error: { code: -32600 } });
      await acknowledged(await listen(door, ALL, { as: 'bob' }));
      await acknowledged(await listen(door, ALL, { as: 'eve' }));

      await first.hangUp();
      let response = await sendModern(door, ['subscriptions/listen', { notifications: ALL }]);
      // The hang-up has to arrive first.
      while (response.status === 429)
        response = await sendModern(door, ['subscriptions/listen', { notifications: ALL }]);
      expect(response.status).toBe(200);
      await acknowledged(new EventReader(response));
    },
  );

  sourceTest(
    'A8 what one caller follows takes only so much room, on streams and in sessions together',
    async () => {
      const { perCaller } = addressLimits;
      onTestFinished(() => void (addressLimits.perCaller = perCaller));
      const uri = 'note://one';
      // Room for three.
      addressLimits.perCaller = 3 * (uri.length + 100);
      const door = await open({ source: stocked() });
      const follow = (uris: readonly string[], options?: ModernOptions): Promise<Response> =>
        sendModern(
          door,
          ['subscriptions/listen', { notifications: { resourceSubscriptions: uris } }],
          options,
        );
      const stream = await follow([uri, uri]);
      expect(stream.status).toBe(200);
      expect((await follow([uri, uri])).status).toBe(429);
      expect((await follow([uri, uri], { as: 'bob' })).status).toBe(200);

      const session = await openSession(door);
      const other = await openSession(door);
      const [done, refused] = [{ result: {} }, { error: { code: -32600 } }];
      expect(await session.answer('resources/subscribe', { uri })).toMatchObject(done);
      // Once is enough.
      expect(await session.answer('resources/subscribe', { uri })).toMatchObject(done);
      expect(await other.answer('resources/subscribe', { uri })).toMatchObject(refused);
      expect(await session.answer('resources/unsubscribe', { uri })).toMatchObject(done);
      expect(await other.answer('resources/subscribe', { uri })).toMatchObject(done);
      expect(await session.answer('resources/subscribe', { uri })).toMatchObject(refused);
      await other.end();
      expect(await session.answer('resources/subscribe', { uri })).toMatchObject(done);
    },
  );

  test('A8 the server stops watching its source once all subscribers have disconnected', async () => {
    const source = stocked();
    const watching = new Set<object>();
    const watched = plainly(source, {
      watch(listener) {
        watching.add(listener);
        const quit = source.watch(listener);
        return () => {
          watching.delete(listener);
          quit();
        };
      },
    });
    const door = await open({ source: watched });
    const streams = [await listen(door, ALL), await listen(door, ALL, { as: 'bob' })];
    for (const stream of streams) await acknowledged(stream);
    expect(watching.size).toBe(1);
    for (const stream of streams) await stream.hangUp();
    // A request later, the hang-up has been heard.
    while (watching.size > 0) await askModern(door, ['server/discover']);
    expect(watching.size).toBe(0);
  });

  test('A8 others have their turns while addresses that take long to look up are looked for', async () => {
    const registry = stocked();
    const resources = slowToFind(registry, 10);
    const door = await open({ source: plainly(registry, { resources }) });
    const resourceSubscriptions = Array<string>(20).fill('note://one');
    const opened = listen(door, { resourceSubscriptions });
    const turn = () => new Promise<'turn'>((resolve) => setImmediate(() => resolve('turn')));
    let turns = 0;
    while ((await Promise.race([opened, turn()])) === 'turn') turns++;
    expect((await (await opened).message()).message).toMatchObject({
      params: { notifications: { resourceSubscriptions } },
    });
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  test('A8 others have their turns while addresses of many subscriptions are looked for at once', async () => {
    const registry = stocked();
    let looks = 0;
    const resources = slowToFind(registry, 2, () => void looks++);
    const door = await open({ source: plainly(registry, { resources }) });
    const resourceSubscriptions = Array<string>(15).fill('note://one');
    const opened = Promise.all(
      Array.from({ length: 15 }, (_, id) => listen(door, { resourceSubscriptions }, { id })),
    );
    const turn = () => new Promise<'turn'>((resolve) => setImmediate(() => resolve('turn')));
    let most = 0;
    for (let before = 0; (await Promise.race([opened, turn()])) === 'turn'; before = looks)
      most = Math.max(most, looks - before);
    for (const stream of await opened) await acknowledged(stream);
    expect(looks).toBe(15 * 15);
    expect(most).toBeLessThan(10);
  });

  test('a client that does not accept event streams cannot subscribe', async () => {
    const door = await open({ source: stocked() });
    const request = ['subscriptions/listen', { notifications: ALL }] as const;
    const refused = await sendModern(door, request, { headers: { accept: 'application/json' } });
    expect(refused.status).toBe(406);
    expect(await refused.json()).toMatchObject({ id: 1, error: { code: -32600 } });
    const taken = await sendModern(door, request, { headers: { accept: 'text/event-stream' } });
    expect(taken.headers.get('content-type')).toBe('text/event-stream');
    await acknowledged(new EventReader(taken));
  });

  test('a subscription request must have the form of the protocol', async () => {
    const door = await open({ source: stocked() });
    const wrong = [
      {},
      { notifications: [] },
      { notifications: { resourceSubscriptions: 'note://one' } },
      { notifications: { resourceSubscriptions: [1] } },
      { notifications: { resourceSubscriptions: Array.from({ length: 1_001 }, () => 'note://one') } },
    ];
    for (const params of wrong) {
      const answer = await askModern(door, ['subscriptions/listen', params]);
      expect(answer).toMatchObject({ error: { code: -32602 } });
    }
    const undeclared = await sendModern(door, [
      'subscriptions/listen',
      { notifications: { taskIds: ['x'] } },
    ]);
    expect(undeclared.status).toBe(400);
    expect(await undeclared.json()).toMatchObject({ error: { code: -32021 } });
  });

  test('a server that closes sends every subscription its result and ends it', async () => {
    const door = await open({ source: stocked() });
    const streams = [
      await listen(door, ALL, { id: 1 }),
      await listen(door, { toolsListChanged: true }, { id: 'two', as: 'bob' }),
    ];
    for (const stream of streams) await acknowledged(stream);
    if (door.listening) await door.listening.close(60_000);
    else door.server.close();
    const ends = [];
    for (const stream of streams) ends.push(...(await stream.rest()));
    expect(ends.map(({ data }) => JSON.parse(data!) as Json)).toMatchObject([
      { id: 1, result: { resultType: 'complete', _meta: { [ID]: 1 } } },
      { id: 'two', result: { resultType: 'complete', _meta: { [ID]: 'two' } } },
    ]);
  });
});

/** A client over stdio that reads line by line. */
function openLines(source: ToolRegistry) {
  const input = new PassThrough();
  const output = new PassThrough();
  const server = serve({ source });
  const served = serveStdio(server, { input, output, caller: people.ada });
  onTestFinished(async () => {
    server.close();
    input.end();
    await served;
  });
  const lines = createInterface(output)[Symbol.asyncIterator]();
  return {
    server,
    send: (message: unknown) => void input.write(`${JSON.stringify(message)}\n`),
    read: async () => JSON.parse((await lines.next()).value as string) as Json,
  };
}

test('over stdio several subscriptions share the connection, and their ids tell them apart', async () => {
  const source = stocked();
  const { send, read, server } = openLines(source);
  send(modernBody('subscriptions/listen', { notifications: { toolsListChanged: true } }, { id: 7 }));
  expect(await read()).toMatchObject({
    params: { notifications: { toolsListChanged: true }, _meta: { [ID]: 7 } },
  });
  send(modernBody('subscriptions/listen', { notifications: ALL }, { id: '7' }));
  expect(await read()).toMatchObject({ params: { notifications: ALL, _meta: { [ID]: '7' } } });

  source.registerTool(named('second'));
  const told = [await read(), await read()];
  expect(told.map(({ params }) => (params as { _meta: Json })._meta[ID])).toEqual([7, '7']);

  send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
  send(modernBody('server/discover', {}, { id: 8 }));
  expect(await read()).toMatchObject({ id: 8 });
  source.registerTool(named('third'));
  expect(await read()).toMatchObject({ params: { _meta: { [ID]: '7' } } });

  server.close();
  expect(await read()).toMatchObject({ id: '7', result: { resultType: 'complete', _meta: { [ID]: '7' } } });
});
