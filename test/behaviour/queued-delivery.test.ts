import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { deferred } from './deferred.ts';
import {
  describeDoors,
  initialize,
  openSession,
  sendModern,
  SessionClient,
  type Door,
} from './session-client.ts';

const greet = defineTool(
  { name: 'greet', description: 'Greets.', input: { properties: { name: { type: 'string' } } } },
  ({ name }, { progress }) => {
    progress(1);
    return `Hello, ${name ?? 'stranger'}!`;
  },
);
const queued = { tools: [greet], delivery: 'queued' } as const;

describeDoors((open) => {
  test('a request is answered 202 {"status":"queued"}, and its result comes on the stream with an event id (001-60)', async () => {
    const session = await openSession(await open(queued));
    const stream = await session.stream();
    const response = await session.call('greet', { name: 'Ada' }, 7);
    expect(response.status).toBe(202);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.text()).toBe('{"status":"queued"}');

    expect((await stream.message()).message).toMatchObject({
      method: 'notifications/progress',
      params: { progressToken: 7, progress: 1 },
    });
    const { id, message } = await stream.message();
    expect(message).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: { content: [{ type: 'text', text: 'Hello, Ada!' }], isError: false },
    });
    expect(id).toMatch(/^[\w-]{12}\.\d+$/);
  });

  test('a queued result waits for a client that opens its stream later (001-60)', async () => {
    const session = await openSession(await open(queued));
    await session.request('tools/call', { name: 'greet' }, 1);
    await session.request('tools/list', {}, 2);
    await session.request('no/such', {}, 3);
    const stream = await session.stream();
    const answers = [];
    for (let count = 0; count < 3; count++) answers.push((await stream.message()).message);
    expect(answers).toMatchObject([
      { id: 1, result: { content: [{ text: 'Hello, stranger!' }] } },
      { id: 2, result: { tools: [{ name: 'greet' }] } },
      { id: 3, error: { code: -32601 } },
    ]);
  });

  test('a client that reconnects with Last-Event-ID gets the results it missed, and then new ones (001-60)', async () => {
    const session = await openSession(await open(queued));
    const stream = await session.stream();
    await session.request('ping', {}, 1);
    const first = await stream.message();
    await session.request('ping', {}, 2);
    const second = await stream.message();
    await stream.hangUp();
    await session.request('ping', {}, 3);

    const resumed = await session.stream(first.id);
    expect(await resumed.message()).toEqual(second);
    expect((await resumed.message()).message).toMatchObject({ id: 3 });
    await session.request('ping', {}, 4);
    expect((await resumed.message()).message).toMatchObject({ id: 4 });
  });

  test('a call with a bearer token, a session id and a fractional id gets its result under the same id (001-59)', async () => {
    const door = await open(queued);
    const session = await openSession(door);
    const stream = await session.stream();
    const id = '0.8291734650198342';
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}`;
    const response = await session.post(body);
    expect(await response.json()).toEqual({ status: 'queued' });
    expect((await stream.next())!.data).toBe(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"Hello, Ada!"}],"isError":false}}`,
    );
    expect((await session.post(body, { authorization: 'Bearer nobody' })).status).toBe(401);
    expect((await session.post(body, { authorization: 'Bearer bob' })).status).toBe(404);
  });

  test('the handshake and modern requests are answered directly, not queued', async () => {
    const door = await open(queued);
    const response = await initialize(door);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: 1, result: { protocolVersion: '2025-11-25' } });
    const modern = await sendModern(door, ['tools/list']);
    expect(modern.status).toBe(200);
    expect(await modern.json()).toMatchObject({ result: { tools: [{ name: 'greet' }] } });
  });

  test('a queued request that is cancelled gets no response', async () => {
    const started = deferred<AbortSignal>();
    const wait = defineTool({ name: 'wait', description: 'Waits.' }, async (_args, { signal }) => {
      started.resolve(signal);
      await new Promise(() => {});
    });
    const session = await openSession(await open({ tools: [wait], delivery: 'queued' }));
    const stream = await session.stream();
    await session.call('wait', {}, 7);
    const signal = await started.promise;
    await session.notify('notifications/cancelled', { requestId: 7 });
    expect(signal.aborted).toBe(true);
    await session.request('ping', {}, 8);
    expect((await stream.message()).message).toMatchObject({ id: 8 });
  });

  test('a question of a queued call comes on the stream, and its answer is posted', async () => {
    const ask = defineTool({ name: 'ask', description: 'Asks.' }, async (_args, { elicit }) => {
      const answer = await elicit({ message: 'Sure?', schema: { properties: { ok: { type: 'boolean' } } } });
      return answer.action;
    });
    const door = await open({ tools: [ask], delivery: 'queued' });
    const session = await openSession(door, { capabilities: { elicitation: {} } });
    const stream = await session.stream();
    await session.call('ask', {}, 7);
    const question = (await stream.message()).message;
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Sure?' } });
    await session.post({ jsonrpc: '2.0', id: question['id'], result: { action: 'cancel' } });
    expect((await stream.message()).message).toMatchObject({
      id: 7,
      result: { content: [{ text: 'cancel' }] },
    });
  });

  test('a message of a batch whose session ended before it began is answered at once', async () => {
    const leave = defineTool({ name: 'leave', description: 'Leaves.' }, () => {
      door.server.dismiss(() => true);
    });
    const door: Door = await open({ tools: [leave, greet], delivery: 'queued' });
    const session = await openSession(door, { version: '2025-03-26' });
    const stream = await session.stream();
    const response = await session.post([
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'leave' } },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'greet' } },
    ]);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject([
      { id: 2, error: { message: expect.stringContaining('ended') as string } },
    ]);
    const events = await stream.rest();
    expect(events.map(({ data }) => JSON.parse(data ?? '{}'))).toMatchObject([{ id: 1 }]);
  });

  test('a batch is queued as a whole, and each of its results arrives by itself', async () => {
    const session = await openSession(await open(queued), { version: '2025-03-26' });
    const stream = await session.stream();
    const response = await session.post([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', id: 2, method: 'ping' },
    ]);
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('{"status":"queued"}');
    expect((await stream.message()).message).toMatchObject({ id: 1, result: {} });
    expect((await stream.message()).message).toMatchObject({ id: 2, result: {} });
  });
});

describeDoors((open) => {
  test('without queued delivery a result is the response to its request', async () => {
    const door = await open({ tools: [greet] });
    const session = await openSession(door);
    expect(await session.answer('ping')).toMatchObject({ result: {} });
    expect((await new SessionClient(door, session.id).request('ping')).status).toBe(200);
  });
});
