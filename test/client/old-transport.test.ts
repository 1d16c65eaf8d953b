import { expect, test } from 'vitest';
import { connect, type ConnectionState, type HttpOptions } from '../../src/index.ts';
import type { Authorizer } from '../../src/client/sign-in/authorizer.ts';
import { within } from '../within.ts';
import { oldPeer, type OldPeer } from './old-peer.ts';
import { open, type Got } from './peers.ts';

const sse: HttpOptions = { transport: 'sse' };
const patient = { timeout: 5_000 };

/** Ends a stream, and waits until the client has noticed. */
async function lose(server: OldPeer, states: readonly ConnectionState[]): Promise<void> {
  const before = states.length;
  server.streams.at(-1)!.end();
  await expect.poll(() => states.slice(before).map(({ kind }) => kind), patient).toEqual(['failed']);
}

test('on the transport of 2024-11-05 a lost stream is opened again with a handshake, before the next request', async () => {
  const server = await oldPeer();
  const client = await open(server.url, sse);
  const states: ConnectionState[] = [];
  client.on('state', (state) => states.push(state));
  expect(await client.callTool('echo').text()).toBe('echoed on 1');
  expect((await client.listTools())[0]?.description).toBe('Of stream 1.');
  await lose(server, states);
  expect(client.state).toMatchObject({ kind: 'failed', remedy: expect.any(String) });
  const calls = await Promise.all([1, 2].map(() => client.callTool('echo').text()));
  expect(calls).toEqual(['echoed on 2', 'echoed on 2']);
  expect(client.state).toEqual({ kind: 'connected' });
  expect(server.asked(2).slice(0, 2)).toEqual(['initialize', 'notifications/initialized']);
  expect(server.asked(2).filter((method) => method === 'initialize')).toHaveLength(1);
  expect((await client.listTools())[0]?.description).toBe('Of stream 2.');
});

test('a call whose stream was lost is not sent again, and the next call works', async () => {
  let calls = 0;
  const server = await oldPeer({
    onMessage: ({ body, response, line }) => {
      if (body['method'] !== 'tools/call' || line > 1) return false;
      calls++;
      response.writeHead(202).end(() => server.streams[0]!.end());
    },
  });
  const client = await open(server.url, { ...sse, checkArguments: false });
  const lost = client.callTool('echo').catch((error: unknown) => error);
  expect(await within(5_000, 'the call to end', lost)).toMatchObject({
    code: 'upstream_unavailable',
    message: expect.stringContaining('not known'),
  });
  expect(await client.callTool('echo').text()).toBe('echoed on 2');
  expect(calls).toBe(1);
});

test('a stream that was silent for too long is opened again, and the level of log entries is set again', async () => {
  const server = await oldPeer({ capabilities: { tools: {}, logging: {}, resources: { subscribe: true } } });
  const client = await open(server.url, { ...sse, logLevel: 'warning', timeouts: { idleMs: 400 } });
  await client.subscribe('note://today');
  await expect.poll(() => client.state.kind, patient).toBe('failed');
  expect(await client.callTool('echo').text()).toBe('echoed on 2');
  const wanted = ['logging/setLevel', 'resources/subscribe'];
  const repeated = (): string[] => server.asked(2).filter((method) => wanted.includes(method));
  await expect.poll(() => repeated().toSorted(), patient).toEqual(wanted);
});

test('a request that comes during the new handshake waits until it is complete', async () => {
  let complete = (): void => {};
  const server = await oldPeer({
    onMessage: ({ body, line, response }) => {
      if (line !== 2 || body['method'] !== 'notifications/initialized' || response.headersSent) return false;
      complete = () => server.accept(2, response);
    },
  });
  const client = await open(server.url, sse);
  const states: ConnectionState[] = [];
  client.on('state', (state) => states.push(state));
  await lose(server, states);
  const first = client.callTool('echo').text();
  await expect.poll(() => server.asked(2), patient).toContain('notifications/initialized');
  const second = client.callTool('echo').text();
  expect(await client.request('ping', {}, { timeoutMs: 50 }).catch((error: unknown) => error)).toMatchObject({
    code: 'timed_out',
  });
  expect(server.asked(2)).toEqual(['initialize', 'notifications/initialized']);
  complete();
  expect(await Promise.all([first, second])).toEqual(['echoed on 2', 'echoed on 2']);
});

test('a question of a lost stream is taken back, and its answer is not taken for that of a question on the new one', async () => {
  const asking: { readonly message: string; readonly signal: AbortSignal; answer(): void }[] = [];
  const server = await oldPeer();
  const client = await open(server.url, {
    ...sse,
    handlers: {
      form: ({ message: text }, { signal }) =>
        new Promise((resolve) => {
          asking.push({
            message: text,
            signal,
            answer: () => resolve({ action: 'accept', content: { text } }),
          });
        }),
    },
  });
  const states: ConnectionState[] = [];
  client.on('state', (state) => states.push(state));
  const ask = async (text: string): Promise<void> => {
    const params = JSON.stringify({ message: text, requestedSchema: { type: 'object', properties: {} } });
    const question = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":${params}}`;
    server.streams.at(-1)!.write(`event: message\ndata: ${question}\n\n`);
    await expect.poll(() => asking.at(-1)?.message, patient).toBe(text);
  };
  await ask('first');
  await lose(server, states);
  expect(asking[0]!.signal.aborted).toBe(true);
  await client.callTool('echo');
  await ask('second');
  asking[0]!.answer();
  await client.callTool('echo');
  asking[1]!.answer();
  const answers = (): unknown[] =>
    server.got.filter(({ body }) => body['id'] === 7).map(({ body }) => body['result']);
  await expect.poll(answers, patient).toEqual([{ action: 'accept', content: { text: 'second' } }]);
});

test('a server that no longer knows the stream gets a new handshake with the next request', async () => {
  let isForgotten = false;
  const server = await oldPeer({
    onMessage: ({ response, line }) => isForgotten && line === 1 && !!response.writeHead(404).end(),
  });
  const client = await open(server.url, sse);
  isForgotten = true;
  await expect(client.callTool('echo')).rejects.toMatchObject({ code: 'upstream_unavailable' });
  expect(await client.callTool('echo').text()).toBe('echoed on 2');
});

test('while an old server is away every request fails at once, and it is found again when it is back', async () => {
  let isAway = false;
  const server = await oldPeer({
    onStream: ({ response }) => isAway && !!response.writeHead(503).end(),
  });
  const client = await open(server.url, sse);
  const states: ConnectionState[] = [];
  client.on('state', (state) => states.push(state));
  isAway = true;
  await lose(server, states);
  for (let times = 0; times < 2; times++)
    await expect(within(5_000, 'the call to fail', client.listTools())).rejects.toThrow('status 503');
  expect(client.state).toMatchObject({ kind: 'failed', reason: expect.stringContaining('503') });
  isAway = false;
  expect(await client.callTool('echo').text()).toBe('echoed on 2');
  expect(client.state).toEqual({ kind: 'connected' });
});

/** Gives tokens one after the other: each challenge gets the next. */
function tokens(given: string[] = []): Authorizer & { readonly urls: string[] } {
  const urls: string[] = [];
  return {
    urls,
    headers: ({ url, method }) => {
      urls.push(`${method} ${new URL(url).pathname}`);
      return given.length === 0 ? {} : { authorization: `Bearer ${given.at(-1)!}` };
    },
    challenged: async ({ status }) => {
      given.push(`${status}-${given.length}`);
      return 'retry';
    },
    close: async () => {},
  };
}

/** Refuses what has no token at all, and calls without a stronger one. */
function guarded({ request, response, body }: Got): boolean {
  const { authorization } = request.headers;
  if (authorization === undefined) return !!response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
  if (body['method'] !== 'tools/call' || authorization.includes('403-')) return false;
  const challenge = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="more"' };
  return !!response.writeHead(403, challenge).end();
}

test('an old server that asks who is calling gets the token of a sign-in, and of a stronger one for a call', async () => {
  const server = await oldPeer({ onStream: guarded, onMessage: guarded });
  const authorizer = tokens();
  const client = await open(server.url, { ...sse, authorizer });
  expect(server.got.map(({ request }) => request.headers.authorization)).toEqual([
    undefined,
    'Bearer 401-0',
    'Bearer 401-0',
    'Bearer 401-0',
  ]);
  expect(await client.callTool('echo').text()).toBe('echoed on 1');
  expect(server.got.at(-1)!.request.headers.authorization).toBe('Bearer 403-1');
  // A proof of possession names the address that a message goes to.
  expect(new Set(authorizer.urls)).toEqual(new Set(['GET /mcp', 'POST /messages']));
});

test('without a way to sign in the state of an old server says so, until its answers come again', async () => {
  let isKnown = true;
  const refuse = ({ response }: Got): boolean => !isKnown && !!response.writeHead(401).end();
  const server = await oldPeer({ onStream: refuse, onMessage: refuse });
  const client = await open(server.url, sse);
  const states: ConnectionState[] = [];
  client.on('state', (state) => states.push(state));
  isKnown = false;
  await expect(client.callTool('echo')).rejects.toMatchObject({ code: 'needs_sign_in' });
  expect(client.state).toMatchObject({ kind: 'needs_sign_in', remedy: expect.stringMatching(/^Sign in/) });
  isKnown = true;
  expect(await client.callTool('echo').text()).toBe('echoed on 1');
  expect(client.state).toEqual({ kind: 'connected' });
  await lose(server, states);
  isKnown = false;
  await expect(client.callTool('echo')).rejects.toMatchObject({ code: 'needs_sign_in' });
  expect(client.state).toMatchObject({ kind: 'needs_sign_in' });
});

test('a server that is found to be old only then asks for a sign-in', async () => {
  const server = await oldPeer({ onStream: guarded, onMessage: guarded });
  await expect(connect(server.url)).rejects.toMatchObject({ code: 'needs_sign_in' });
  const client = await open(server.url, { authorizer: tokens() });
  expect(await client.callTool('echo').text()).toBe('echoed on 1');
});

test('a closed client of an old server leaves no socket or timer behind, however often its stream was lost', async () => {
  const server = await oldPeer({
    onMessage: ({ body, response }) => {
      if (body['method'] !== 'acme/slow') return false;
      // The message is never taken.
      response.writeHead(202).write(' ');
    },
  });
  const held = (): string[] =>
    process
      .getActiveResourcesInfo()
      .filter((kind) => /TCP|Timeout/.test(kind))
      .toSorted();
  const before = held();
  const client = await connect(server.url, sse);
  const states: ConnectionState[] = [];
  client.on('state', (state) => states.push(state));
  for (let times = 0; times < 3; times++) {
    await lose(server, states);
    await client.callTool('echo');
  }
  const slow = client.request('acme/slow').catch((error: unknown) => error);
  await client.close();
  expect(await slow).toMatchObject({ code: 'upstream_unavailable' });
  await expect.poll(() => held().filter((kind) => !before.includes(kind)), patient).toEqual([]);
  await expect.poll(() => server.streams.every((stream) => stream.destroyed), patient).toBe(true);
  expect(client.underWay).toBe(0);
});
