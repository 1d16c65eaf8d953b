import { expect, test } from 'vitest';
import { Cancelled, connect, defineTool, ToolTimeout } from '../../src/index.ts';
import type { Authorizer } from '../../src/client/sign-in/authorizer.ts';
import { createFakeClock } from '../../src/testing.ts';
import { within } from '../within.ts';
import { makeUp, open, said, serve, standard, type Got } from './peers.ts';

const MODERN = '2026-07-28';
const OLD = '2025-11-25';

/** A tool that never ends by itself, and tells when it was told to stop. */
function endless() {
  let stop = (): void => {};
  let start = (): void => {};
  const stopped = new Promise<void>((resolve) => (stop = resolve));
  const started = new Promise<void>((resolve) => (start = resolve));
  const tool = defineTool({ name: 'endless', description: 'Never ends.' }, (_args, { signal }) => {
    start();
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        stop();
        reject(new Error('stopped'));
      });
    });
  });
  return { tool, started, stopped };
}

for (const protocol of [MODERN, OLD, '2024-11-05']) {
  test(`on ${protocol} a call that times out ends, is stopped at the server, and keeps the connection (002-26, 003-39, 004-24)`, async () => {
    const { tool, stopped } = endless();
    const client = await open(await serve([tool]), { protocol });
    const failure = client.callTool('endless', {}, { timeoutMs: 50 });
    await expect(failure).rejects.toBeInstanceOf(ToolTimeout);
    await within(5_000, 'the server to be told', stopped);
    expect((await client.listTools()).length).toBe(1);
    expect(client.state).toEqual({ kind: 'connected' });
  });

  test(`on ${protocol} a cancelled call is cancelled at the server`, async () => {
    const { tool, started, stopped } = endless();
    const client = await open(await serve([tool]), { protocol });
    const controller = new AbortController();
    const call = client.callTool('endless', {}, { signal: controller.signal });
    await within(5_000, 'the call to begin', started);
    controller.abort();
    await expect(call).rejects.toBeInstanceOf(Cancelled);
    await within(5_000, 'the server to be told', stopped);
  });
}

test('progress restarts the time limit of a call, up to its absolute limit', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    const send = got.stream();
    const { progressToken } = (got.body['params'] as { _meta: { progressToken: number } })._meta;
    let progress = 0;
    const timer = setInterval(() => {
      send({ method: 'notifications/progress', params: { progressToken, progress: ++progress } });
    }, 20);
    got.response.on('close', () => clearInterval(timer));
  });
  const client = await open(server.url, { timeouts: { callMs: 150, absoluteMs: 600 } });
  let seen = 0;
  const began = performance.now();
  await expect(client.callTool('echo', {}, { onProgress: () => seen++ })).rejects.toBeInstanceOf(ToolTimeout);
  expect(performance.now() - began).toBeGreaterThan(300);
  expect(seen).toBeGreaterThan(5);
});

test('a server that does not answer while connecting is given up, and nothing is left behind', async () => {
  const server = await makeUp(() => {});
  const failure = connect(server.url, { timeouts: { connectMs: 50 } });
  await expect(failure).rejects.toMatchObject({
    code: 'timed_out',
    message: expect.stringContaining('server/discover'),
  });
});

const STEPS = ['server/discover', 'initialize', 'notifications/initialized', 'logging/setLevel'];

test.each(STEPS)(
  'connecting has one limit of time for all steps together: %s comes too late',
  async (last) => {
    const clock = createFakeClock();
    const server = await makeUp((got) => {
      const method = String(got.body['method']);
      if (got.request.method !== 'POST') return void got.response.writeHead(405).end();
      if (method === last) return clock.advance(1_000 - 300 * STEPS.indexOf(last));
      clock.advance(300);
      if (method === 'server/discover') return got.refuse(-32601, 'No such method.', { status: 404 });
      return legacy(got, () => 'one', { logging: {} });
    });
    const failure = connect(server.url, { clock, logLevel: 'info', timeouts: { connectMs: 1_000 } });
    await expect(within(5_000, 'connecting to fail', failure)).rejects.toMatchObject({
      code: 'timed_out',
      message: `${server.url}: ${last} had no answer within the 1 s that connecting may take.`,
    });
  },
);

test('an attempt to connect that the caller gives up ends as cancelled', async () => {
  const server = await makeUp(() => {});
  const caller = new AbortController();
  const attempt = connect(server.url, { signal: caller.signal });
  await expect.poll(() => server.got.length).toBe(1);
  caller.abort();
  await expect(within(5_000, 'the attempt', attempt)).rejects.toBeInstanceOf(Cancelled);
  await expect(connect(server.url, { signal: caller.signal })).rejects.toBeInstanceOf(Cancelled);
});

test('the transport of 2024-11-05 is tried within the same limit of time', async () => {
  const clock = createFakeClock();
  const server = await makeUp(({ request, response }) => {
    if (request.method === 'GET') return clock.advance(400);
    clock.advance(300);
    response.writeHead(404).end();
  });
  const failure = connect(server.url, { clock, timeouts: { connectMs: 1_000 } });
  await expect(within(5_000, 'connecting to fail', failure)).rejects.toMatchObject({ status: 404 });
  expect(server.got.map(({ request }) => request.method)).toEqual(['POST', 'POST', 'GET']);
});

test('a person who signs in while connecting has time, and after that the limit of time begins anew', async () => {
  const clock = createFakeClock();
  const token = { authorization: 'Bearer token' };
  const server = await makeUp((got) => {
    const { method } = got.body;
    if (got.request.headers.authorization === undefined) return void got.response.writeHead(401).end();
    clock.advance(400);
    if (method !== 'server/discover') return legacy(got, () => 'one');
    got.refuse(-32601, 'No such method.', { status: 404 });
  });
  let isSignedIn = false;
  const authorizer: Authorizer = {
    headers: () => (isSignedIn ? token : {}),
    challenged: async () => {
      clock.advance(200_000);
      isSignedIn = true;
      return 'retry';
    },
    close: async () => {},
  };
  const client = await open(server.url, { clock, authorizer, timeouts: { connectMs: 1_300 } });
  expect(client.state).toEqual({ kind: 'connected' });
});

test('a slow answer to discovery is waited for, and not mistaken for an old server', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'server/discover') return standard(got);
    setTimeout(() => standard(got), 200);
  });
  const client = await open(server.url);
  expect(client.server.era).toBe('modern');
  expect(server.methods()).toEqual(['server/discover']);
});

test('a lost session is opened again, calls that did not run are sent again, and the list is loaded again', async () => {
  let sessions = 0;
  const gone = new Set<string>();
  const server = await makeUp((got) => {
    const session = String(got.request.headers['mcp-session-id']);
    if (got.request.method !== 'POST') return got.response.writeHead(405).end() && undefined;
    if (gone.has(session)) return got.response.writeHead(404).end() && undefined;
    return legacy(got, () => `session-${++sessions}`);
  });
  const client = await open(server.url, { protocol: OLD });
  expect(await client.callTool('echo', {}).text()).toBe('echoed');
  gone.add('session-1');
  expect(await client.callTool('echo', {}).text()).toBe('echoed');
  expect(sessions).toBe(2);
  const before = server.methods().filter((method) => method === 'tools/list').length;
  await client.listTools();
  expect(server.methods().filter((method) => method === 'tools/list').length).toBe(before + 1);
});

test('calls that find the session lost at the same time, and after a renewal that failed, all get the new one', async () => {
  let sessions = 0;
  let isDown = false;
  const server = await makeUp((got) => {
    const { request, response, body } = got;
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const session = request.headers['mcp-session-id'];
    if (body['method'] === 'initialize')
      return isDown ? void response.writeHead(503).end() : legacy(got, () => `session-${++sessions}`);
    if (session === undefined) return void response.writeHead(400).end();
    return session === `session-${sessions}` ? legacy(got, () => '') : void response.writeHead(404).end();
  });
  const client = await open(server.url, { protocol: OLD, checkArguments: false });
  const callAll = (): Promise<unknown[]> =>
    Promise.all([1, 2, 3].map(() => client.callTool('echo').catch((error: unknown) => error)));
  sessions = 10;
  const echoed = { isError: false };
  expect(await callAll()).toMatchObject([echoed, echoed, echoed]);
  expect(sessions).toBe(11);
  sessions = 20;
  isDown = true;
  expect(await callAll()).toMatchObject([{ status: 503 }, { status: 503 }, { status: 503 }]);
  isDown = false;
  expect(await callAll()).toMatchObject([echoed, echoed, echoed]);
  expect(sessions).toBe(21);
});

test('a call whose stream broke and cannot be resumed is not sent again', async () => {
  let calls = 0;
  const server = await makeUp((got) => {
    if (got.request.method !== 'POST') return got.response.writeHead(405).end() && undefined;
    if (got.body['method'] !== 'tools/call') return legacy(got, () => 'one');
    calls++;
    got.stream();
    got.response.end(': nothing\n\n');
  });
  const client = await open(server.url, { protocol: OLD });
  await expect(client.callTool('echo', {})).rejects.toThrow(
    'whether the request was carried out is not known',
  );
  expect(calls).toBe(1);
});

test('a stream that ends early is resumed from its last event, after the time that it asked for', async () => {
  const server = await makeUp((got) => {
    if (got.request.method === 'GET' && got.request.headers['last-event-id'] === 'e-1') {
      got.stream()({ id: 3, result: said('worth it') }, 'e-2');
      return;
    }
    if (got.request.method !== 'POST') return got.response.writeHead(405).end() && undefined;
    if (got.body['method'] !== 'tools/call') return legacy(got, () => 'one');
    expect(got.body['id']).toBe(3);
    got.response.writeHead(200, { 'content-type': 'text/event-stream' });
    got.response.end('id: e-1\nretry: 30\ndata: \n\n');
  });
  const client = await open(server.url, { protocol: OLD });
  expect(await client.callTool('echo', {}).text()).toBe('worth it');
});

test('closing ends the session and fails running calls', async () => {
  const server = await makeUp((got) => {
    if (got.request.method === 'DELETE') return got.response.writeHead(204).end() && undefined;
    if (got.request.method !== 'POST') return got.response.writeHead(405).end() && undefined;
    if (got.body['method'] === 'tools/call') return;
    return legacy(got, () => 'one');
  });
  const client = await connect(server.url, { protocol: OLD });
  await client.listTools();
  const call = client.callTool('echo', {});
  const failure = call.catch((error: unknown) => error);
  await client.close();
  expect(await failure).toMatchObject({ code: 'upstream_unavailable' });
  expect(client.state.kind).toBe('disabled');
  expect(server.got.some(({ request }) => request.method === 'DELETE')).toBe(true);
  await expect(client.request('ping')).rejects.toThrow('The connection is closed.');
});

/** Answers like a server with sessions. */
function legacy(got: Got, session: () => string, more: object = {}): void {
  switch (got.body['method']) {
    case 'initialize':
      got.response.setHeader('mcp-session-id', session());
      return got.reply({
        protocolVersion: OLD,
        capabilities: { tools: {}, ...more },
        serverInfo: { name: 'old', version: '1' },
      });
    case 'tools/call':
      return got.reply(said('echoed'));
    case 'tools/list':
      return standard(got);
    default:
      got.response.writeHead(202).end();
  }
}
