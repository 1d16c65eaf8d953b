import * as fc from 'fast-check';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { propertyRuns } from '../property-runs.ts';
import { handshakeVersions, measured } from '../security/attack.ts';
import { Client, Events, type RequestOptions } from '../security/client.ts';
import { leaksIn } from '../security/leaks.ts';
import { ada, tokenOf } from '../security/people.ts';
import { leakedAnswers, shown, toBytes, type RawAnswer, type RawRequest } from '../security/raw-http.ts';
import { richTarget } from '../security/rich-target.ts';
import { careless } from '../security/target.ts';
import { within } from '../within.ts';
import { headPieces, jsonPieces, mutate, mutations, problemsOf } from './mutations.ts';

const RUNS = propertyRuns(2_000);
// Stands for a stream that was opened, which is no answer yet.
const OPENED = 202;
const pieces = [
  ...jsonPieces,
  '"taskIds":[],',
  '"cursor":1,',
  '"_meta":{},',
  '[[',
  ']]',
  '{"jsonrpc":"2.0"},',
];

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => void process.off('unhandledRejection', note));

for (const version of handshakeVersions) {
  test(`A4 broken bodies on a session of ${version} each get a response or 202, and a good call works afterwards`, async () => {
    const client = new Client(await richTarget());
    const session = await client.startSession(version);
    const call = client.old(
      'tools/call',
      { name: 'danger', arguments: { a: ['x', 1] }, _meta: { progressToken: 1 } },
      { session },
    );
    await fuzzBodies(client, [call], RUNS / handshakeVersions.length);
    expect((await client.send(call)).json?.result).toBeDefined();
  });
}

test('A5 broken batches on a session of 2025-03-26 each get a response or 202, and a good batch works afterwards', async () => {
  const client = new Client(await richTarget());
  const session = await client.startSession('2025-03-26');
  const messages = [
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger"}}',
    '{"jsonrpc":"2.0","id":"2","method":"ping"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    '{"jsonrpc":"2.0","id":"ask-1","result":{}}',
    '{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"note://shared"}}',
  ];
  const list: RequestOptions = { headers: { 'mcp-session-id': session }, body: `[${messages.join(',')}]` };
  await fuzzBodies(client, [list], RUNS);
  expect(JSON.parse((await client.send(list)).body)).toHaveLength(3);
});

test('A9 broken subscriptions are each opened or refused, and a good one works afterwards', async () => {
  const target = await richTarget();
  const client = new Client(target);
  const notifications = {
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['note://shared', 'x'],
    taskIds: ['abc'],
  };
  const listen = client.modern('subscriptions/listen', { notifications });
  await fuzzBodies(client, [listen], RUNS);
  await expect.poll(async () => (await glance(client, toRaw(client, listen))).status).toBe(OPENED);
});

test('A9 broken requests about tasks and request states each get a response, and good ones work afterwards', async () => {
  const client = new Client(await richTarget());
  const created = await client.ask('tools/call', { name: 'detach-and-ask' });
  const taskId = String(created.json?.result?.['taskId']);
  const { json } = await client.ask('tools/call', { name: 'ask' });
  const requestState = json?.result?.['requestState'];
  const inputResponses = { sure: { action: 'decline', content: { yes: false } } };
  const get = client.modern('tasks/get', { taskId });
  const requests = [
    get,
    client.modern('tasks/update', { taskId, inputResponses: { other: inputResponses.sure } }),
    client.modern('tasks/cancel', { taskId: `${taskId}x` }),
    client.modern('tools/call', { name: 'ask', inputResponses, requestState }),
    client.modern('completion/complete', {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: '' },
    }),
    client.modern('prompts/get', { name: 'greet', arguments: { who: 'x' } }),
  ];
  await fuzzBodies(client, requests, RUNS);
  expect((await client.send(get)).json?.result).toMatchObject({ taskId });
});

test('A4 broken bodies on the SSE transport are each accepted or refused, and the stream stays well-formed', async () => {
  const client = new Client(await richTarget());
  const events = new Events(await client.open({ method: 'GET', path: '/sse' }));
  const path = (await events.nextData())!;
  const call = client.old('tools/call', { name: 'danger', arguments: { a: 1 } });
  await fuzzBodies(client, [{ ...call, path }], RUNS);
  await client.send({ path, body: '{"jsonrpc":"2.0","id":"last","method":"ping"}' });
  for (let message = await events.next(); message?.id !== 'last'; message = await events.next()) {
    expect(message).toMatchObject({ jsonrpc: '2.0' });
    expect(message?.error?.code).not.toBe(-32603);
  }
});

test('A13 broken headers of GET and DELETE get a response or a closed connection, and good ones work afterwards', async () => {
  const client = new Client(await richTarget());
  const session = await client.startSession('2025-11-25');
  const headers = { 'mcp-session-id': session, 'last-event-id': 'abc.1' };
  const heads = [
    toRaw(client, { method: 'GET', headers }),
    toRaw(client, { method: 'DELETE', headers: { 'mcp-session-id': `${session}x` } }),
    toRaw(client, { method: 'GET', path: '/sse' }),
    toRaw(client, { method: 'DELETE', path: '/messages?sessionId=1' }),
  ];
  const property = fc.asyncProperty(
    fc.constantFrom(...heads),
    mutations(headPieces),
    async (head, changes) => {
      const answer = await glance(client, changes.reduce(mutate, toBytes(measured(head))), { end: true });
      expect(answer.status === 0 ? [] : problemsOf(answer)).toEqual([]);
    },
  );
  await fc.assert(property, { numRuns: RUNS });
  const own = await client.startSession('2025-11-25');
  expect((await client.send({ method: 'DELETE', headers: { 'mcp-session-id': own } })).status).toBe(204);
});

test('A4 control: a server that reveals its internal errors is detected', async () => {
  const target = await careless(
    () => ({}),
    () => new Error('x').stack!,
  );
  const client = new Client(target);
  await expect(fuzzBodies(client, [client.modern('tools/list')], 1)).rejects.toThrow();
  leakedAnswers.length = 0;
});

test('A4 none of these requests caused an unexpected error in the server', () => {
  expect(unhandled).toEqual([]);
  expect(leakedAnswers).toEqual([]);
});

async function fuzzBodies(
  client: Client,
  requests: readonly RequestOptions[],
  numRuns: number,
): Promise<void> {
  const property = fc.asyncProperty(
    fc.constantFrom(...requests),
    mutations(pieces),
    async (request, changes) => {
      const raw = toRaw(client, request);
      const body = changes.reduce(mutate, Buffer.from(raw.body as string));
      const answer = await glance(client, toBytes(measured({ ...raw, body })));
      expect(problemsOf(answer)).toEqual([]);
      expect(answer.json?.error?.code).not.toBe(-32603);
    },
  );
  await fc.assert(property, { numRuns });
}

function toRaw(
  { port, caller }: Client,
  { method = 'POST', path = '/mcp', headers = {}, body }: RequestOptions,
): RawRequest {
  return {
    line: `${method} ${path} HTTP/1.1`,
    headers: [
      ['Host', `127.0.0.1:${port}`],
      ['Authorization', tokenOf(caller ?? ada)],
      ...(body === undefined
        ? []
        : ([
            ['Content-Type', 'application/json'],
            ['Content-Length', 'auto'],
          ] as const)),
      ...Object.entries(headers),
      ['Connection', 'close'],
    ],
    body: body ?? '',
  };
}

// Reads an answer to its end, or of a stream no more than its first event; status 0 when the server said nothing.
async function glance(
  { port }: Client,
  request: Uint8Array | RawRequest,
  { end = false } = {},
): Promise<RawAnswer> {
  const bytes = request instanceof Uint8Array ? request : toBytes(measured(request));
  const over = new Promise<string>((resolve) => {
    let received = '';
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () =>
      end ? socket.end(bytes) : socket.write(bytes),
    );
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString();
      if (
        /^content-type: text\/event-stream\r$/im.test(received) &&
        received.split('\r\n\r\n')[1]?.includes('\n\n')
      )
        socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(received));
  });
  const text = await within(15_000, `an answer to ${shown(bytes)}`, over);
  if (leaksIn(text).length > 0) leakedAnswers.push(text);
  return readFirst(text);
}

function readFirst(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const isStream = /^content-type: text\/event-stream\r?$/im.test(head);
  const raw = rest.join('\r\n\r\n');
  const length = /^content-length: (\d+)\r?$/im.exec(head)?.[1];
  const whole = length === undefined ? '' : Buffer.from(raw).subarray(0, Number(length)).toString();
  const data = /^data: (\{.*\})$/m.exec(raw)?.[1];
  const body = isStream ? (data ?? '') : whole;
  const messages = toMessages(body);
  const isOpened = isStream && (messages[0]?.['method'] !== undefined || data === undefined);
  return {
    status: isOpened ? OPENED : Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0),
    headers: new Map(),
    // A list is well formed when each of its answers is, and an event that begins a stream is no answer.
    body: isOpened ? '' : body,
    json: isOpened ? undefined : (messages.find((message) => !isAnswer(message)) ?? messages[0]),
  };
}

function toMessages(body: string): Record<string, unknown>[] {
  try {
    const value = JSON.parse(body) as Record<string, unknown> | Record<string, unknown>[];
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
}

function isAnswer({ jsonrpc, result, error }: Record<string, unknown>): boolean {
  return jsonrpc === '2.0' && (result === undefined) !== (error === undefined);
}
