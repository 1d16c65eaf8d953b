import { deepEqual, equal } from 'node:assert/strict';
import { afterEach, describe, expect, test } from 'vitest';
import { handshakeVersions } from './attack.ts';
import { Client, Events, type RequestOptions } from './client.ts';
import { leakedAnswers } from './raw-http.ts';
import { richTarget } from './rich-target.ts';

const names = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'prototype',
  'valueOf',
  '__defineGetter__',
];
const membersBefore = Object.getOwnPropertyNames(Object.prototype).toSorted();

afterEach(() => {
  deepEqual(Object.getOwnPropertyNames(Object.prototype).toSorted(), membersBefore);
  equal('polluted' in {}, false);
});

/** Looks something up by a name of the client's choosing. */
type Lookup = (client: Client, name: string) => RequestOptions;

const lookups: readonly [what: string, look: Lookup, code: number][] = [
  ['a prompt', (client, name) => client.modern('prompts/get', { name }), -32602],
  ['a resource', (client, uri) => client.modern('resources/read', { uri }), -32602],
  ['a task', (client, taskId) => client.modern('tasks/get', { taskId }), -32602],
  ['a task to cancel', (client, taskId) => client.modern('tasks/cancel', { taskId }), -32602],
  [
    'a task to answer',
    (client, taskId) => client.modern('tasks/update', { taskId, inputResponses: {} }),
    -32602,
  ],
  ['a state', (client, requestState) => client.modern('tools/call', { name: 'ask', requestState }), -32602],
  [
    'a key of a state',
    (client, name) => client.modern('tools/call', { name: 'ask', requestState: `${name}.AAAA` }),
    -32602,
  ],
  [
    'a prompt to complete',
    (client, name) =>
      client.modern('completion/complete', { ref: { type: 'ref/prompt', name }, argument: ARGUMENT }),
    -32602,
  ],
  [
    'a template to complete',
    (client, uri) =>
      client.modern('completion/complete', { ref: { type: 'ref/resource', uri }, argument: ARGUMENT }),
    -32602,
  ],
  [
    'a kind of reference',
    (client, type) =>
      client.modern('completion/complete', { ref: { type, name: 'greet' }, argument: ARGUMENT }),
    -32602,
  ],
  [
    'a cursor of prompts',
    (client, name) => client.modern('prompts/list', { cursor: base64url(name) }),
    -32602,
  ],
  [
    'a cursor of resources',
    (client, name) => client.modern('resources/list', { cursor: base64url(name) }),
    -32602,
  ],
  ['a session', (_client, id) => ({ headers: { 'mcp-session-id': id }, body: PING }), -32600],
  ['a session stream', (_client, id) => ({ method: 'GET', headers: { 'mcp-session-id': id } }), -32600],
  ['a session to end', (_client, id) => ({ method: 'DELETE', headers: { 'mcp-session-id': id } }), -32600],
  ['an old stream', (_client, id) => ({ path: `/messages?sessionId=${id}`, body: PING }), -32600],
  ['an old stream by its key', (_client, key) => ({ path: `/messages?${key}=1`, body: PING }), -32600],
];

const ARGUMENT = { name: 'who', value: '' };
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

for (const [what, look, code] of lookups) {
  test.each(names)(`A14 ${what} named %s is not found`, async (name) => {
    const client = new Client(await richTarget());
    const { json } = await client.send(look(client, name));
    expect(json?.error?.code).toBe(code);
  });
}

describe('names inside a request', () => {
  test.each(names)('A14 an argument to complete named %s has no suggestions', async (name) => {
    const client = new Client(await richTarget());
    for (const ref of [
      { type: 'ref/prompt', name: 'greet' },
      { type: 'ref/resource', uri: 'page://{id}' },
    ]) {
      const { json } = await client.ask('completion/complete', { ref, argument: { name, value: '' } });
      expect(json?.result?.['completion']).toMatchObject({ values: [] });
    }
  });

  test.each(names)('A14 a chosen argument named %s is refused or ignored', async (name) => {
    const client = new Client(await richTarget());
    const ref = { type: 'ref/prompt', name: 'greet' };
    const context = { arguments: { NAME: 'x' } };
    const request = client.modern('completion/complete', { ref, argument: ARGUMENT, context });
    const { status, json } = await client.send({
      ...request,
      body: request.body!.replace('"NAME"', `"${name}"`),
    });
    if (name === '__proto__') expect(status).toBe(400);
    else expect(json?.result?.['completion']).toMatchObject({ values: ['you'] });
  });

  test.each(names)('A14 a prompt argument named %s is refused or ignored', async (name) => {
    const client = new Client(await richTarget());
    const request = client.modern('prompts/get', { name: 'greet', arguments: { NAME: 'x', who: 'you' } });
    const { status, body } = await client.send({
      ...request,
      body: request.body!.replace('"NAME"', `"${name}"`),
    });
    if (name === '__proto__') expect(status).toBe(400);
    else expect(body).toContain('Hello you');
    const missing = client.modern('prompts/get', { name: 'greet', arguments: { NAME: 'x' } });
    const { json } = await client.send({ ...missing, body: missing.body!.replace('"NAME"', `"${name}"`) });
    expect(json?.error?.code).toBeLessThan(0);
  });

  test.each(names)('A14 an answer named %s is refused or ignored, in a retry and in a task', async (name) => {
    const target = await richTarget();
    const client = new Client(target);
    const answers = { NAME: { action: 'accept', content: { yes: true, polluted: true } } };
    const named = ({ body, ...request }: RequestOptions): RequestOptions => ({
      ...request,
      body: body!.replace('"NAME"', `"${name}"`),
    });
    const retry = await client.send(
      named(client.modern('tools/call', { name: 'ask', inputResponses: answers })),
    );
    const isRefused = name === '__proto__';
    if (isRefused) expect(retry.status).toBe(400);
    else expect(retry.json?.result?.['resultType']).toBe('input_required');
    const taskId = String(
      (await client.ask('tools/call', { name: 'detach-and-ask' })).json?.result?.['taskId'],
    );
    const update = await client.send(
      named(client.modern('tasks/update', { taskId, inputResponses: answers })),
    );
    expect(update.status).toBe(isRefused ? 400 : 200);
    expect((await client.ask('tasks/get', { taskId })).json?.result?.['status']).toBe('input_required');
    expect(target.ran).toEqual([]);
  });

  test.each(names)('A14 a template variable can have the value %s', async (name) => {
    const client = new Client(await richTarget());
    const { body } = await client.ask('resources/read', { uri: `page://${name}` });
    expect(body).toContain(`page ${name}`);
  });

  test.each(names)(
    'A14 a subscription to a task or a resource named %s gets no notification',
    async (name) => {
      const target = await richTarget();
      const client = new Client(target);
      const notifications = { taskIds: [name], resourceSubscriptions: [name, 'note://shared'] };
      const events = new Events(await client.open(client.modern('subscriptions/listen', { notifications })));
      expect(await events.next()).toMatchObject({
        params: { notifications: { taskIds: [name], resourceSubscriptions: ['note://shared'] } },
      });
      target.registry.resourceUpdated(name);
      target.registry.resourceUpdated('note://shared');
      expect(await events.next()).toMatchObject({ params: { uri: 'note://shared' } });
    },
  );

  test.each(names)('A14 a capability named %s is ignored', async (name) => {
    const target = await richTarget();
    const client = new Client(target);
    const request = client.modern('tools/call', { name: 'ask' });
    const message = JSON.parse(request.body!) as { params: { _meta: Record<string, unknown> } };
    message.params._meta['io.modelcontextprotocol/clientCapabilities'] = {
      NAME: {},
      extensions: { NAME: {} },
    };
    const body = JSON.stringify(message).replaceAll('"NAME"', `"${name}"`);
    const { json } = await client.send({ ...request, body });
    expect(json?.error?.code).toBe(name === '__proto__' ? -32600 : -32021);
  });
});

for (const version of handshakeVersions) {
  test(`A14 on a session of ${version} such ids, tokens, events and cancellations are taken literally`, async () => {
    const client = new Client(await richTarget());
    const session = await client.startSession(version);
    for (const name of names) {
      const call = client.old(
        'tools/call',
        { name: 'danger', _meta: { progressToken: name } },
        { session, id: name },
      );
      expect((await client.send(call)).json?.id).toBe(name);
      const headers = { 'mcp-session-id': session };
      const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"${name}"}}`;
      expect((await client.send({ headers, body: cancelled })).status).toBe(202);
      expect(
        (await client.send({ headers, body: `{"jsonrpc":"2.0","id":"${name}","result":{}}` })).status,
      ).toBe(202);
      const stream = await client.send({ method: 'GET', headers: { ...headers, 'last-event-id': name } });
      expect(stream.status).toBe(404);
      const unsubscribe = client.old('resources/unsubscribe', { uri: name }, { session });
      expect((await client.send(unsubscribe)).json?.result).toEqual({});
      const level = client.old('logging/setLevel', { level: name }, { session });
      expect((await client.send(level)).json?.error?.code).toBe(-32602);
    }
  });
}

test('A14 control: a lookup in a plain object finds all of these names but one', () => {
  const plain: Record<string, unknown> = {};
  expect(names.filter((name) => plain[name] === undefined)).toEqual(['prototype']);
});

test('A14 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
