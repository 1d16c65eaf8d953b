import { expect, test } from 'vitest';
import { Cancelled, connect, defineTool, ToolTimeout } from '../../src/index.ts';
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
  test(`on ${protocol} a call that takes too long ends, the server stops it, and the connection goes on (002-26, 003-39, 004-24)`, async () => {
    const { tool, stopped } = endless();
    const client = await open(await serve([tool]), { protocol });
    const failure = client.callTool('endless', {}, { timeoutMs: 50 });
    await expect(failure).rejects.toBeInstanceOf(ToolTimeout);
    await within(5_000, 'the server to be told', stopped);
    expect((await client.listTools()).length).toBe(1);
    expect(client.state).toEqual({ kind: 'connected' });
  });

  test(`on ${protocol} a cancelled call reaches the server, with a reason that is ours`, async () => {
    const { tool, started, stopped } = endless();
    const client = await open(await serve([tool]), { protocol });
    const controller = new AbortController();
    const call = client.callTool('endless', {}, { signal: controller.signal });
    await within(5_000, 'the call to begin', started);
    controller.abort(new Error('a secret reason'));
    await expect(call).rejects.toBeInstanceOf(Cancelled);
    await within(5_000, 'the server to be told', stopped);
  });
}

test('progress lets the limit begin anew, up to the absolute one', async () => {
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

test('a slow answer to discovery is waited for, not taken for an old server', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'server/discover') return standard(got);
    setTimeout(() => standard(got), 200);
  });
  const client = await open(server.url);
  expect(client.server.era).toBe('modern');
  expect(server.methods()).toEqual(['server/discover']);
});

test('a session that is gone is made anew, and what was not run is sent again; the list is loaded again', async () => {
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

test('a call whose stream broke without a place to come back to is not sent again', async () => {
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

test('a stream that ends early is come back to after the time it asked for, from its last event', async () => {
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

test('closing ends the session, fails what is under way, and leaves no socket', async () => {
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
function legacy(got: Got, session: () => string): void {
  switch (got.body['method']) {
    case 'initialize':
      got.response.setHeader('mcp-session-id', session());
      return got.reply({
        protocolVersion: OLD,
        capabilities: { tools: {} },
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
