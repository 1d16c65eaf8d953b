import { expect, test } from 'vitest';
import { connect, type ConnectionState } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { createFakeClock } from '../../src/testing.ts';
import { within } from '../within.ts';
import { makeUp, open, said, standard, type Got, type MadeUp } from './peers.ts';

const OLD = '2025-11-25';

test('a connection has a state, with the reason and the remedy', async () => {
  let isKnown = true;
  const server = await makeUp((got) => {
    if (!isKnown) return void got.response.writeHead(401).end();
    return got.body['method'] === 'tools/call' ? got.reply(said('hi')) : false;
  });
  const client = await connect(server.url);
  const states: ConnectionState[] = [];
  client.on('state', (state) => states.push(state));
  expect(client.state).toEqual({ kind: 'connected' });
  isKnown = false;
  await expect(client.callTool('echo')).rejects.toMatchObject({ code: 'needs_sign_in' });
  expect(client.state).toEqual({
    kind: 'needs_sign_in',
    reason: expect.stringContaining('wants to know who is calling'),
    remedy: expect.stringMatching(/^Sign in/),
  });
  isKnown = true;
  expect(await client.callTool('echo').text()).toBe('hi');
  await client.close();
  expect(client.state).toMatchObject({
    kind: 'disabled',
    reason: expect.any(String),
    remedy: 'Connect again.',
  });
  expect(states.map(({ kind }) => kind)).toEqual(['needs_sign_in', 'connected', 'disabled']);
});

test('a broken stream of changes is opened again, and lists that may have changed are loaded again', async () => {
  const opened: unknown[] = [];
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'subscriptions/listen') return false;
    opened.push((got.body['params'] as { notifications: unknown }).notifications);
    const send = got.stream();
    const subscription = { _meta: { 'io.modelcontextprotocol/subscriptionId': String(got.body['id']) } };
    send({
      method: 'notifications/subscriptions/acknowledged',
      params: { ...subscription, notifications: {} },
    });
    if (opened.length === 2) got.response.end();
  });
  const client = await open(server.url);
  client.on('toolsChanged', () => {});
  await client.listTools();
  await client.subscribe('note://today');
  await expect.poll(() => opened.length, { timeout: 5_000 }).toBe(3);
  const both = { toolsListChanged: true, resourceSubscriptions: ['note://today'] };
  expect(opened).toEqual([{ toolsListChanged: true }, both, both]);
  await client.listTools();
  const lists = server.methods().filter((method) => method === 'tools/list');
  expect(lists.length).toBeGreaterThan(1);
});

test('a new session subscribes to the resources of the old one', async () => {
  let sessions = 0;
  const server = await makeUp((got) => {
    if (got.request.method !== 'POST') return void got.response.writeHead(405).end();
    if (got.request.headers['mcp-session-id'] === 'session-1' && sessions > 0 && isOver)
      return void got.response.writeHead(404).end();
    return old(got, () => `session-${++sessions}`);
  });
  let isOver = false;
  const client = await open(server.url, { protocol: OLD });
  await client.subscribe('note://today');
  isOver = true;
  await client.callTool('echo');
  const subscribed = (): unknown[] =>
    server.got
      .filter(({ body }) => body['method'] === 'resources/subscribe')
      .map(({ request }) => request.headers['mcp-session-id']);
  await expect.poll(subscribed).toEqual(['session-1', 'session-2']);
});

test('the revision that a server speaks is remembered for its address', async () => {
  const server = await makeUp((got) =>
    got.request.method === 'POST' ? old(got, () => 'one') : void got.response.writeHead(405).end(),
  );
  for (let times = 0; times < 2; times++) await open(server.url);
  expect(eras(server)).toEqual(['server/discover', 'initialize', 'initialize']);
});

const eras = (server: MadeUp): string[] =>
  server.methods().filter((method) => /discover|initialize$/.test(method));

test('a server that was brought up to date is asked anew, as soon as it refuses the remembered handshake', async () => {
  const refusals: ((got: Got) => void)[] = [
    ({ refuse }) => refuse(-32022, 'Unknown revision.', { status: 400, data: { supported: ['2026-07-28'] } }),
    ({ refuse }) => refuse(-32601, 'No such method.'),
    ({ response }) => void response.writeHead(404).end(),
    ({ reply }) => reply({ protocolVersion: '2026-07-28', capabilities: {} }),
  ];
  for (const refuse of refusals) {
    let isNew = false;
    const server = await makeUp((got) => {
      if (got.request.method !== 'POST') return void got.response.writeHead(405).end();
      if (!isNew) return old(got, () => 'one');
      return got.body['method'] === 'initialize' ? refuse(got) : false;
    });
    await (await connect(server.url)).close();
    isNew = true;
    for (let times = 0; times < 2; times++) {
      const client = await open(server.url);
      expect(client.server.era).toBe('modern');
      expect((await client.listTools()).map(({ name }) => name)).toEqual(['echo']);
    }
    const [before, after] = [['server/discover', 'initialize'], ['server/discover']];
    expect(eras(server)).toEqual([...before, 'initialize', ...after, ...after]);
  }
});

test('a server that fails or is slow is not asked anew what it speaks', async () => {
  let isDown = false;
  const server = await makeUp((got) => {
    if (got.request.method !== 'POST') return void got.response.writeHead(405).end();
    return isDown ? void got.response.writeHead(503).end() : old(got, () => 'one');
  });
  await open(server.url);
  isDown = true;
  await expect(connect(server.url)).rejects.toMatchObject({ status: 503 });
  expect(eras(server)).toEqual(['server/discover', 'initialize', 'initialize']);
});

test('what a server speaks is remembered for an hour, however often it is used, and only if it was asked', async () => {
  const clock = createFakeClock();
  const server = await makeUp((got) =>
    got.request.method === 'POST' ? old(got, () => 'one') : void got.response.writeHead(405).end(),
  );
  await open(server.url, { clock, protocol: 'legacy' });
  for (let times = 0; times < 4; times++) {
    await open(server.url, { clock });
    clock.advance(25 * 60_000);
  }
  const asked = ['server/discover', 'initialize'];
  expect(eras(server)).toEqual(['initialize', ...asked, 'initialize', 'initialize', ...asked]);
});

test('a list that does not arrive and a stream that falls silent are given up', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/call') return got.stream()({ method: 'notifications/x' });
    return got.body['method'] === 'tools/list' ? undefined : false;
  });
  const client = await open(server.url, {
    timeouts: { listMs: 50, idleMs: 100 },
    checkArguments: false,
  });
  await expect(client.listTools()).rejects.toMatchObject({ code: 'timed_out' });
  await expect(within(3_000, 'the call to end', client.callTool('echo'))).rejects.toMatchObject({
    code: 'upstream_unavailable',
  });
});

test('log messages are requested from a level on, as each era does it, and reach the program', async () => {
  const modern = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return false;
    const send = got.stream();
    send({ method: 'notifications/message', params: { level: 'warning', logger: 'disk', data: 'full' } });
    send({ id: got.body['id'], result: said('hi') });
    got.response.end();
  });
  const client = await open(modern.url, { logLevel: 'warning' });
  const entries: unknown[] = [];
  client.on('log', (entry) => entries.push(entry));
  await client.callTool('echo');
  expect(entries).toEqual([{ level: 'warning', logger: 'disk', data: 'full' }]);
  const { params } = modern.got.at(-1)!.body as { params: { _meta: Record<string, unknown> } };
  expect(params._meta['io.modelcontextprotocol/logLevel']).toBe('warning');

  const before = await makeUp((got) => old(got, () => 'one'));
  const other = await open(before.url, { protocol: OLD, logLevel: 'warning' });
  await other.setLogLevel('debug');
  const levels = before.got.filter(({ body }) => body['method'] === 'logging/setLevel');
  expect(levels.map(({ body }) => body['params'])).toEqual([{ level: 'warning' }, { level: 'debug' }]);
});

test('no request asks for compressed responses', async () => {
  const server = await makeUp((got) => (got.request.method === 'POST' ? old(got, () => 'one') : false));
  await (await open(server.url, { protocol: OLD })).callTool('echo');
  expect(new Set(server.got.map(({ request }) => request.headers['accept-encoding']))).toEqual(
    new Set(['identity']),
  );
});

const PROGRAM = `
  const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const lists = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, tools: [], ttlMs: 0, cacheScope: 'private' };
    const content = [{ type: 'text', text: String(process.pid) }];
    write({ id, result: { resultType: 'complete', ...(method === 'tools/call' ? { content } : lists) } });
  });
`;

test('a program that is suspended delays only itself, and its calls end in time (R8)', async () => {
  const [stopped, other] = await Promise.all(
    [1, 2].map(() => connectStdio(process.execPath, ['-e', PROGRAM])),
  );
  const pid = Number(await stopped!.callTool('pid').text());
  process.kill(pid, 'SIGSTOP');
  const late = stopped!.callTool('pid', {}, { timeoutMs: 200 }).catch((error: unknown) => error);
  expect(Number(await other!.callTool('pid').text())).not.toBe(pid);
  expect(await within(10_000, 'the call to time out', late)).toMatchObject({ code: 'timed_out' });
  process.kill(pid, 'SIGCONT');
  expect(await stopped!.callTool('pid').text()).toBe(String(pid));
  process.kill(pid, 'SIGSTOP');
  await within(15_000, 'both to close', Promise.all([stopped!.close(), other!.close()]));
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

/** Answers like a server with sessions. */
function old(got: Got, session: () => string): boolean | void {
  switch (got.body['method']) {
    case 'initialize':
      got.response.setHeader('mcp-session-id', session());
      return got.reply({
        protocolVersion: OLD,
        capabilities: { tools: {}, resources: { subscribe: true }, logging: {} },
        serverInfo: { name: 'old', version: '1' },
      });
    case 'server/discover':
      return got.refuse(-32601, 'No such method.', { status: 404 });
    case 'tools/call':
      return got.reply(said('echoed'));
    case 'tools/list':
      return standard(got);
    case 'resources/subscribe':
    case 'logging/setLevel':
      return got.reply({});
    default:
      got.response.writeHead(202).end();
  }
}

test('a call whose connection is closed may have been carried out, and says so', async () => {
  const server = await makeUp(({ body, request }) =>
    body['method'] === 'tools/call' ? void request.socket.destroy() : false,
  );
  const client = await open(server.url);
  await expect(client.callTool('echo')).rejects.toMatchObject({
    code: 'upstream_unavailable',
    message: `${server.url} closed the connection without an answer; whether the request was carried out is not known.`,
  });
  expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
});

test.each<[head: [status: number, headers: Record<string, string>], told: string]>([
  [
    [200, { 'content-type': 'text/html' }],
    'answered with a web page; see whether the path of its address is',
  ],
  [[308, { location: '/other' }], 'redirects elsewhere; use the address it leads to.'],
  [[503, { 'retry-after': '7' }], 'answered with status 503; try again in 7 s.'],
])('a server that answers with the head %j is reported with what to do', async (head, told) => {
  const server = await makeUp(({ response }) => void response.writeHead(...head).end('<html>'));
  await expect(connect(server.url)).rejects.toThrow(`${server.url} ${told}`);
});
