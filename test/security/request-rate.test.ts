import { describe, expect, test } from 'vitest';
import {
  defineResource,
  defineTool,
  localCaller,
  ToolRegistry,
  type Tool,
  type ToolSource,
} from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import {
  describeDoors,
  EventReader,
  initialize,
  openHttpDoor,
  openSession,
  postHeaders,
  sendModern,
  serve,
  SessionClient,
  type Door,
} from '../behaviour/session-client.ts';
import { openCrib } from '../gateway.ts';
import type { Json } from '../behaviour/peer.ts';

const LIMIT = 30;
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

const QUESTION = {
  kind: 'form',
  message: 'Sure?',
  schema: { type: 'object', properties: {} },
} as const;

function setUp() {
  const clock = createFakeClock(Date.now());
  const source = new ToolRegistry()
    .registerTool(defineTool({ name: 'echo', description: 'Says it again.' }, () => 'echo'))
    .registerResource(defineResource({ uri: 'note://one', name: 'one' }, () => 'one'));
  return { clock, source, requestsPerMinute: LIMIT };
}

interface Told {
  readonly status: number;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { retryAfterMs?: number };
  };
}

async function told(response: Response): Promise<Told> {
  if (response.headers.get('content-type') === 'text/event-stream') {
    await new EventReader(response).hangUp();
    return { status: response.status };
  }
  const text = await response.text();
  return { status: response.status, ...(text !== '' && (JSON.parse(text) as object)) };
}

const isLimited = ({ error }: Told): boolean => error?.message.startsWith('Too many requests') ?? false;

const legacy = (method: string, params: object = {}) => ({
  name: `${method} of 2025-11-25`,
  send: (_door: Door, session: SessionClient) => session.request(method, { ...params }),
});
const modern = (method: string, params: object = {}) => ({
  name: `${method} of 2026-07-28`,
  send: (door: Door) => sendModern(door, [method, { ...params }], { capabilities: TASKS }),
});
const raw = (name: string, body: string) => ({
  name,
  send: (_door: Door, session: SessionClient) => session.post(body),
});
const completion = {
  ref: { type: 'ref/resource', uri: 'note://{id}' },
  argument: { name: 'id', value: '' },
};

const requests: readonly { name: string; send: (door: Door, session: SessionClient) => Promise<Response> }[] =
  [
    legacy('ping'),
    legacy('tools/list'),
    legacy('resources/list'),
    legacy('resources/templates/list'),
    legacy('prompts/list'),
    legacy('completion/complete', completion),
    legacy('logging/setLevel', { level: 'info' }),
    legacy('resources/subscribe', { uri: 'note://one' }),
    legacy('resources/unsubscribe', { uri: 'note://one' }),
    legacy('no/such/method'),
    modern('server/discover'),
    modern('tools/list'),
    modern('subscriptions/listen', { notifications: {} }),
    modern('completion/complete', completion),
    modern('tasks/get', { taskId: 'none' }),
    modern('tasks/update', { taskId: 'none' }),
    modern('tasks/cancel', { taskId: 'none' }),
    { name: 'a notification', send: (_door, session) => session.notify('notifications/cancelled', {}) },
    {
      name: 'an answer nobody asked for',
      send: (_door, session) => session.post({ jsonrpc: '2.0', id: 1, result: {} }),
    },
    raw('a text that is no message', '{"jsonrpc":'),
    raw('a message with an unknown member', '{"jsonrpc":"2.0","id":1,"method":"tools/call","more":1}'),
    raw('a call whose parameters are a list', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}'),
    legacy('tools/call'),
    legacy('resources/read'),
    legacy('prompts/get', { name: 7 }),
    modern('tools/call', { arguments: {} }),
    modern('tools/call', { name: 'echo', requestState: 'made up' }),
    {
      name: 'a call whose headers say something else',
      send: (door) =>
        sendModern(door, ['tools/call', { name: 'echo' }], { headers: { 'mcp-name': 'other' } }),
    },
    {
      name: 'a call of an unknown revision',
      send: (door) =>
        sendModern(door, ['tools/call', { name: 'echo' }], {
          headers: { 'mcp-protocol-version': '2099-01-01' },
        }),
    },
    { name: 'GET of a stream', send: (_door, session) => session.get() },
    { name: 'DELETE of a session', send: (door) => new SessionClient(door, 'made up').end() },
    {
      name: 'a call of a session that is not there',
      send: (door) => new SessionClient(door, 'made up').call('echo'),
    },
  ];

describeDoors((open) => {
  describe('B13 the rate limit of requests that are not calls counts', () => {
    test.each(requests)('$name', async ({ send }) => {
      const setup = setUp();
      const door = await open(setup);
      const session = await openSession(door);
      const replies: Told[] = [];
      for (let count = 0; count <= LIMIT; count++) replies.push(await told(await send(door, session)));
      const firstLimited = replies.findIndex(isLimited);
      // The handshake was counted too, and several times over.
      expect(firstLimited).toBeGreaterThan(10);
      expect(replies.slice(firstLimited).every(isLimited)).toBe(true);
      const { error, status } = replies.at(-1)!;
      expect([status, error?.code]).toEqual([replies.at(-1)!.status === 429 ? 429 : 200, -32603]);
      const { retryAfterMs } = error!.data!;

      // Nobody else is held up, and neither are calls.
      expect(await told(await sendModern(door, ['tools/list'], { as: 'bob' }))).not.toSatisfy(isLimited);
      expect(await told(await sendModern(door, ['tools/call', { name: 'echo' }]))).toMatchObject({
        status: 200,
        result: { content: [{ text: 'echo' }] },
      });
      setup.clock.advance(retryAfterMs!);
      expect(await told(await sendModern(door, ['tools/list']))).not.toSatisfy(isLimited);
    });
  });

  test('B13 a handshake counts as ten requests, because it leaves a session behind', async () => {
    const door = await open(setUp());
    const statuses: Told[] = [];
    for (let count = 0; count < 4; count++) statuses.push(await told(await initialize(door)));
    expect(statuses.map(isLimited)).toEqual([false, false, false, true]);
  });

  test('B13 calls are counted by their own limits only', async () => {
    const door = await open(setUp());
    for (let count = 0; count < 2 * LIMIT; count++) {
      const { status, error } = await told(await sendModern(door, ['tools/call', { name: 'echo' }]));
      expect([status, error]).toEqual([200, undefined]);
    }
    expect(await told(await sendModern(door, ['tools/list']))).not.toSatisfy(isLimited);
  });

  test('B13 a malformed message is answered with what is wrong with it, as long as it is allowed', async () => {
    const door = await open(setUp());
    const headers = postHeaders('ada');
    for (let count = 0; count < 10; count++)
      expect(await told(await door.send({ headers, body: '{' }))).toMatchObject({ error: { code: -32700 } });
  });

  test('B13 calls that the stages or a tool refuse are counted by their own limits only', async () => {
    const door = await open(setUp());
    for (let count = 0; count < 2 * LIMIT; count++) {
      const answer = await told(await sendModern(door, ['tools/call', { name: 'unknown' }]));
      expect([answer.error?.code, isLimited(answer)]).toEqual([-32602, false]);
    }
    expect(await told(await sendModern(door, ['tools/list']))).not.toSatisfy(isLimited);
  });

  test('B13 a call that no longer waits for answers is counted each time that it is continued', async () => {
    const { clock } = setUp();
    const tool: Tool = {
      ...defineTool(
        { name: 'wait', description: 'Waits.', annotations: { readOnlyHint: true } },
        () => 'done',
      ),
      asksLive: true,
    };
    const source: ToolSource = {
      list: () => [tool],
      find: () => tool,
      async call(call) {
        call.voice.park?.();
        await call.interview.relay(new Map([['sure', QUESTION]]));
        return { kind: 'done', content: [{ type: 'text', text: 'done' }] };
      },
    };
    const door = await open({ clock, source, requestsPerMinute: LIMIT });
    const send = async (more: object = {}): Promise<Told & { readonly result?: Json }> =>
      told(
        await sendModern(door, ['tools/call', { name: 'wait', ...more }], {
          capabilities: { elicitation: { form: {} } },
        }),
      );
    const { result } = await send();
    const answered = {
      requestState: result?.['requestState'],
      inputResponses: { sure: { action: 'accept', content: {} } },
    };
    expect(await send(answered)).toMatchObject({ result: { content: [{ text: 'done' }] } });
    const replies: Told[] = [];
    for (let count = 0; count <= LIMIT; count++) replies.push(await send(answered));
    expect(replies[0]).toMatchObject({ error: { code: -32602 } });
    expect(replies.at(-1)).toSatisfy(isLimited);
  });

  test('B13 a refused message without a response has status 429 and Retry-After', async () => {
    const door = await open(setUp());
    const client = new SessionClient(door, 'made up');
    let response = await client.end();
    for (let count = 0; count < LIMIT; count++) response = await client.end();
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

test('B13 the streams and messages of the SSE transport are counted too', async () => {
  const door = await openHttpDoor({ ...setUp(), sse: true });
  const open = (): Promise<Response> =>
    door.send({ method: 'GET', path: '/sse', headers: { ...postHeaders('ada'), 'content-type': undefined } });
  const reader = new EventReader(await open());
  const { data: path } = (await reader.next())!;
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  let message: object = {};
  for (let count = 0; count < LIMIT && !('error' in message); count++) {
    await door.send({ path: path!, headers: postHeaders('ada'), body: ping });
    ({ message } = await reader.message());
  }
  expect(message).toMatchObject({
    error: { message: expect.stringContaining('Too many requests') as string },
  });
  expect((await open()).status).toBe(429);
});

test('a client that has a process of its own is not limited', async () => {
  const server = serve(setUp());
  for (let count = 0; count < 2 * LIMIT; count++) {
    const message = { jsonrpc: '2.0', id: count, method: 'ping' } as const;
    expect(await server.handle(message, { caller: localCaller })).toMatchObject({ result: {} });
    const broken = { ...message, method: 'tools/call', params: {} };
    expect(await server.handle(broken, { caller: localCaller })).toMatchObject({ error: { code: -32602 } });
  }
});

test('B13 a gateway records such refusals once a second', async () => {
  const crib = await openCrib({ config: { server: { listen: '127.0.0.1:0', requestsPerMinute: 60 } } });
  const peer = await crib.connect('ada');
  const answers = [];
  for (let count = 0; count < 80; count++) answers.push(await peer.request('tools/list'));
  expect(answers.filter((answer) => answer?.error !== undefined).length).toBeGreaterThan(10);
  await crib.gateway.close();
  const rows = crib.rows().filter(({ outcome }) => outcome === 'rate_limited');
  expect(rows).toMatchObject([{ method: 'tools/list', caller: 'ada' }]);
  expect(rows[0]!['count']).toBeGreaterThan(10);
});
