import { expect, onTestFinished, test } from 'vitest';
import { defineTool, ToolRegistry } from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { postedLimits } from '../../src/server/caller-limit.ts';
import { KEEP_ALIVE_MS } from '../../src/server/sessions/keep-alive.ts';
import { sourceTest } from '../source-test.ts';
import { deferred } from './deferred.ts';
import type { Setup } from './matrix.ts';
import type { Answer, Json } from './peer.ts';
import { EventReader, openHttpDoor, postHeaders, type Door, type Person } from './session-client.ts';

const echo = defineTool(
  { name: 'echo', description: 'Repeats.', input: { properties: { text: { type: 'string' } } } },
  ({ text = '' }, { progress }) => {
    progress(1);
    return text;
  },
);

const openDoor = (setup: Setup = { tools: [echo] }) => openHttpDoor({ ...setup, sse: true });

/** Opens the stream of a client of 2024-11-05, and tells where to post. */
async function openStream(door: Door, as: Person = 'ada') {
  const headers = { authorization: `Bearer ${as}`, accept: 'text/event-stream' };
  const stream = new EventReader(await door.send({ method: 'GET', path: '/sse', headers }));
  const endpoint = (await stream.next())!;
  const post = (body: unknown, by: Person = as) =>
    door.send({ path: endpoint.data!, headers: postHeaders(by), body });
  const answer = async (id: number, method: string, params: Json = {}): Promise<Json & Partial<Answer>> => {
    expect((await post({ jsonrpc: '2.0', id, method, params })).status).toBe(202);
    return (await stream.message()).message;
  };
  return { stream, endpoint, post, answer };
}

/** The same, handshake complete. */
async function openClient(door: Door, capabilities: Json = {}) {
  const client = await openStream(door);
  const params = { protocolVersion: '2024-11-05', capabilities, clientInfo: { name: 'old', version: '1' } };
  const introduction = await client.answer(1, 'initialize', params);
  await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return { ...client, introduction };
}

test('a stream begins with the address to post to, which cannot be guessed', async () => {
  const door = await openDoor();
  const addresses = new Set<string>();
  for (let count = 0; count < 5; count++) {
    const { endpoint } = await openStream(door);
    expect(endpoint.event).toBe('endpoint');
    expect(endpoint.data).toMatch(/^\/messages\?sessionId=[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/);
    addresses.add(endpoint.data!);
  }
  expect(addresses.size).toBe(5);
});

test('posted messages get an empty response; answers, progress and refusals come on the stream', async () => {
  const { introduction, stream, post, answer } = await openClient(await openDoor());
  expect(introduction).toMatchObject({ id: 1, result: { protocolVersion: '2024-11-05' } });
  const params = { name: 'echo', arguments: { text: 'hi' }, _meta: { progressToken: 'p' } };
  const response = await post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
  expect(response.status).toBe(202);
  expect(await response.text()).toBe('');
  const report = (await stream.next())!;
  expect(report.event).toBe('message');
  expect(JSON.parse(report.data!)).toMatchObject({ params: { progressToken: 'p', progress: 1 } });
  expect((await stream.message()).message).toMatchObject({ id: 2, result: { content: [{ text: 'hi' }] } });
  expect(await answer(3, 'no/such')).toMatchObject({ id: 3, error: { code: -32601 } });
  await post('{"jsonrpc":"2.0",');
  expect((await stream.message()).message).toMatchObject({ error: { code: -32700 } });
});

test('changes are announced on the stream once the handshake is complete (000-35)', async () => {
  const source = new ToolRegistry();
  const door = await openDoor({ source });
  const early = await openStream(door);
  source.registerTool(echo);
  const { stream } = await openClient(door);
  source.remove('echo');
  expect((await stream.message()).message).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
  });
  expect(await early.answer(1, 'ping')).toMatchObject({ id: 1, result: {} });
});

test("the server's questions come on the stream, and the answers are posted", async () => {
  const ask = defineTool({ name: 'ask', description: 'Asks the model.' }, async (_args, { sample }) => {
    const { content } = await sample({
      messages: [{ role: 'user', content: { type: 'text', text: 'Capital of France?' } }],
      maxTokens: 10,
    });
    return (content as { text: string }).text;
  });
  const { stream, post } = await openClient(await openDoor({ tools: [ask] }), { sampling: {} });
  await post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'ask' } });
  const question = (await stream.message()).message;
  expect(question).toMatchObject({ method: 'sampling/createMessage', params: { maxTokens: 10 } });
  const result = { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'test' };
  expect((await post({ jsonrpc: '2.0', id: question['id'], result })).status).toBe(202);
  expect((await stream.message()).message).toMatchObject({ id: 2, result: { content: [{ text: 'Paris' }] } });
});

test('A9 a stream accepts messages of its own caller alone: foreign, ended and invented streams are all unknown', async () => {
  const door = await openDoor();
  const { post, answer, endpoint } = await openClient(door);
  const ended = await openClient(door);
  await ended.stream.hangUp();
  const ping = { jsonrpc: '2.0', id: 7, method: 'ping' };
  const unknown = (path: string) => door.send({ path, headers: postHeaders('ada'), body: ping });
  let over = await ended.post(ping);
  // The hang-up has to arrive first.
  while (over.status === 202) over = await ended.post(ping);
  const attempts = [
    await post(ping, 'bob'),
    await post(ping, 'eve'),
    over,
    await unknown(`${endpoint.data}0`),
    await unknown('/messages?sessionId=made-up'),
    await unknown('/messages'),
  ];
  const bodies = new Set<string>();
  for (const response of attempts) {
    expect(response.status).toBe(404);
    bodies.add(await response.text());
  }
  expect(bodies.size).toBe(1);
  expect(await answer(8, 'ping')).toMatchObject({ id: 8, result: {} });
});

sourceTest('A8 only so many messages of one caller may be under way beside its streams', async () => {
  const { perCaller } = postedLimits;
  onTestFinished(() => void (postedLimits.perCaller = perCaller));
  postedLimits.perCaller = 2;
  const release = deferred();
  const wait = defineTool({ name: 'wait', description: 'Waits.' }, async () => {
    await release.promise;
  });
  const door = await openDoor({ tools: [wait] });
  const [first, second] = [await openClient(door), await openClient(door)];
  const others = await openStream(door, 'bob');
  const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'wait' } });
  expect((await first.post(call(2))).status).toBe(202);
  expect((await second.post(call(2))).status).toBe(202);
  for (const client of [first, second]) expect((await client.post(call(3))).status).toBe(429);
  expect(await others.answer(1, 'ping')).toMatchObject({ id: 1, result: {} });
  release.resolve();
  for (const { stream } of [first, second]) expect((await stream.message()).message).toMatchObject({ id: 2 });
  expect(await first.answer(4, 'ping')).toMatchObject({ id: 4, result: {} });
});

test('a client that closes its stream stops its running calls', async () => {
  const started = deferred<AbortSignal>();
  const wait = defineTool({ name: 'wait', description: 'Waits.' }, async (_args, { signal }) => {
    started.resolve(signal);
    await new Promise(() => {});
  });
  const { stream, post } = await openClient(await openDoor({ tools: [wait] }));
  await post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'wait' } });
  const signal = await started.promise;
  const stopped = new Promise((resolve) => {
    signal.addEventListener('abort', resolve);
  });
  await stream.hangUp();
  await stopped;
  expect(signal.aborted).toBe(true);
});

test('notifications/cancelled stops a request, and no more messages come about it', async () => {
  const started = deferred<AbortSignal>();
  const wait = defineTool({ name: 'wait', description: 'Waits.' }, async (_args, { signal }) => {
    started.resolve(signal);
    await new Promise(() => {});
  });
  const { post, answer } = await openClient(await openDoor({ tools: [wait] }));
  await post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'wait' } });
  const signal = await started.promise;
  await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
  expect(signal.aborted).toBe(true);
  expect(await answer(3, 'ping')).toMatchObject({ id: 3 });
});

test('the SSE transport is off by default', async () => {
  const door = await openHttpDoor({ tools: [echo] });
  const headers = { authorization: 'Bearer ada', accept: 'text/event-stream' };
  expect((await door.send({ method: 'GET', path: '/sse', headers })).status).toBe(404);
  const posted = await door.send({ path: '/messages?sessionId=x', headers: postHeaders('ada'), body: {} });
  expect(posted.status).toBe(404);
});

test('the endpoint of the newer revisions stays at its address', async () => {
  const door = await openDoor();
  const response = await door.send({
    headers: postHeaders('ada'),
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  });
  expect(await response.json()).toMatchObject({ result: { tools: [{ name: 'echo' }] } });
});

test('a stream is opened with GET and messages are posted; an unauthenticated request gets neither', async () => {
  const door = await openDoor();
  const posted = await door.send({ path: '/sse', headers: postHeaders('ada'), body: {} });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  const got = await door.send({ method: 'GET', path: '/messages', headers: postHeaders('ada') });
  expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  const headers = { authorization: 'Bearer nobody' };
  expect((await door.send({ method: 'GET', path: '/sse', headers })).status).toBe(401);
  const { endpoint } = await openStream(door);
  const stranger = { ...postHeaders('ada'), authorization: 'Bearer nobody' };
  expect((await door.send({ path: endpoint.data!, headers: stranger, body: {} })).status).toBe(401);
});

test('A8 a quiet stream is kept alive with comments', async () => {
  const clock = createFakeClock();
  const { stream, answer } = await openClient(await openDoor({ tools: [echo], clock }));
  clock.advance(KEEP_ALIVE_MS);
  expect((await stream.next())!.comment).toBe('keep-alive');
  expect(await answer(2, 'ping')).toMatchObject({ id: 2 });
});

test('closing the server ends the stream', async () => {
  const door = await openDoor();
  const { stream } = await openClient(door);
  await door.listening!.close(60_000);
  expect(await stream.rest()).toEqual([]);
});

const app = 'https://app.example';

test.each(['/sse', '/messages?sessionId=x'])(
  'a preflight request of an allowed page for %s is answered without credentials',
  async (path) => {
    const door = await openDoor({ tools: [echo], allowedOrigins: [app] });
    const asking = {
      origin: app,
      'access-control-request-method': path === '/sse' ? 'GET' : 'POST',
      'access-control-request-headers': 'authorization,content-type',
    };
    const allowed = await door.send({ method: 'OPTIONS', path, headers: asking });
    expect({ status: allowed.status, origin: allowed.headers.get('access-control-allow-origin') }).toEqual({
      status: 204,
      origin: app,
    });
    expect(allowed.headers.get('access-control-allow-headers')).toContain('authorization');
    const elsewhere = { ...asking, origin: 'https://elsewhere.example' };
    const refused = await door.send({ method: 'OPTIONS', path, headers: elsewhere });
    expect({ status: refused.status, origin: refused.headers.get('access-control-allow-origin') }).toEqual({
      status: 403,
      origin: null,
    });
  },
);

test('an allowed page can read the stream and the responses to its posts', async () => {
  const door = await openDoor({ tools: [echo], allowedOrigins: [app] });
  const headers = { authorization: 'Bearer ada', accept: 'text/event-stream', origin: app };
  const opened = await door.send({ method: 'GET', path: '/sse', headers });
  const path = (await new EventReader(opened).next())!.data!;
  const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const posted = await door.send({ path, headers: { ...postHeaders('ada'), origin: app }, body });
  const unknown = await door.send({
    path: '/messages?sessionId=x',
    headers: { ...postHeaders('ada'), origin: app },
    body,
  });
  expect([opened, posted, unknown].map(({ status }) => status)).toEqual([200, 202, 404]);
  for (const response of [opened, posted, unknown]) {
    expect(response.headers.get('access-control-allow-origin')).toBe(app);
    expect(response.headers.get('vary')).toBe('Origin');
  }
});
