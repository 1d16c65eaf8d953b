import { expect, test } from 'vitest';
import { connect, ToolTimeout } from '../../src/index.ts';
import { within } from '../within.ts';
import { hostileActs } from './hostile-acts.ts';
import { ECHO, makeUp, open, said, standard, type Got } from './peers.ts';

const limits = { messageBytes: 100_000, messagesPerRequest: 500 };

/** What a call to a server that does this comes to; it must end soon, and the next call must work. */
async function misbehaving(act: (got: Got) => void, callMs: number): Promise<unknown> {
  let isHostile = true;
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    return isHostile ? act(got) : got.reply(said('well behaved'));
  });
  const client = await open(server.url, { timeouts: { callMs, absoluteMs: callMs }, limits });
  await client.listTools();
  const outcome = client.callTool('echo', { text: 'x' }).catch((error: unknown) => error);
  const ended = await within(8_000, 'the call to end', outcome);
  isHostile = false;
  expect(await client.callTool('echo').text()).toBe('well behaved');
  expect(client.underWay).toBe(0);
  return ended;
}

test.each(hostileActs)('C9 a server that %s', async (_title, act, code) => {
  expect(await misbehaving(act, code === 'timed_out' ? 400 : 10_000)).toMatchObject({ code });
});

test.each([301, 302, 303, 307, 308])(
  'B6 a redirect (%i) is an error, and no credential is sent there',
  async (status) => {
    const elsewhere = await makeUp((got) => got.reply({}));
    const server = await makeUp(
      (got) => void got.response.writeHead(status, { location: elsewhere.url }).end(),
    );
    const failure = connect(server.url, { headers: { authorization: 'Bearer secret' } });
    await expect(failure).rejects.toThrow('redirects elsewhere');
    expect(elsewhere.got).toEqual([]);
  },
);

test('B6 a redirect of a call is an error, and neither the call nor a credential is sent there', async () => {
  const elsewhere = await makeUp((got) => got.reply(said('elsewhere')));
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    got.response.writeHead(307, { location: elsewhere.url }).end();
  });
  const client = await open(server.url, { headers: { authorization: 'Bearer secret' } });
  await expect(client.callTool('echo')).rejects.toThrow('redirects elsewhere');
  expect(elsewhere.got).toEqual([]);
});

test('progress of other requests, or that decreases, is ignored', async () => {
  const seen: number[] = [];
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    const { id } = got.body;
    const send = got.stream();
    for (const [progressToken, progress] of [
      [999, 1],
      [id, 5],
      [id, 3],
      [String(id), 9],
      [id, 'x'],
      [id, 6],
    ])
      send({ method: 'notifications/progress', params: { progressToken, progress } });
    send({ id, result: said('done') });
    got.response.end();
  });
  const client = await open(server.url);
  await client.callTool('echo', {}, { onProgress: ({ progress }) => seen.push(progress) });
  expect(seen).toEqual([5, 6]);
});

test('an endless list is given up', async () => {
  let page = 0;
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/list') return standard(got);
    return got.reply({ tools: [], nextCursor: String(page++), ttlMs: 0, cacheScope: 'private' });
  });
  const client = await open(server.url, { limits: { pages: 20 } });
  await expect(client.listTools()).rejects.toMatchObject({ code: 'invalid_answer' });
  expect(page).toBeLessThanOrEqual(20);
});

test('C9 a list whose pages are together far longer than a message may be is given up', async () => {
  let page = 0;
  const long = [{ ...ECHO, description: 'x'.repeat(90_000) }];
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/list') return standard(got);
    return got.reply({ tools: long, nextCursor: String(page++), ttlMs: 0, cacheScope: 'private' });
  });
  const client = await open(server.url, { limits });
  await expect(client.listTools()).rejects.toThrow('The server sends a list of over 400000 bytes.');
  expect(page).toBe(5);
});

test('C9 a task that never ends is given up after the longest time a request may take', async () => {
  const working = { taskId: 't', status: 'working', pollIntervalMs: 0 };
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/call') return got.reply({ ...working, resultType: 'task' });
    return got.body['method'] === 'tasks/get' ? got.reply(working) : standard(got);
  });
  const client = await open(server.url, { timeouts: { absoluteMs: 200 } });
  const outcome = within(5_000, 'the task to be given up', client.callTool('echo').text());
  const failure: unknown = await outcome.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ToolTimeout);
  expect(failure).toMatchObject({ message: 'The task did not end within 0.2 s.' });
  // However often the server wants to be asked.
  expect(server.methods().filter((method) => method === 'tasks/get').length).toBeLessThanOrEqual(6);
});

test('a server that announces changes endlessly gets one list request at a time', async () => {
  let opened = (_write: (message: object) => void): void => {};
  const stream = new Promise<(message: object) => void>((resolve) => (opened = resolve));
  let lists = 0;
  const server = await makeUp(({ body, request, response, reply, stream: begin }) => {
    if (request.method === 'GET') return opened(begin());
    if (body['method'] === 'initialize')
      return reply({
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: true }, logging: {} },
        serverInfo: { name: 'flood', version: '1' },
      });
    if (body['id'] === undefined) return void response.writeHead(202).end();
    // Later ones are never answered.
    if (lists++ === 0) reply({ tools: [] });
  });
  const client = await open(server.url, { protocol: '2025-06-18' });
  client.on('toolsChanged', () => {});
  const isAllTaken = new Promise<void>((resolve) => client.on('log', () => resolve()));
  await client.listTools();
  const write = await stream;
  for (let count = 0; count < 1_000; count++) write({ method: 'notifications/tools/list_changed' });
  write({ method: 'notifications/message', params: { level: 'info', data: 'That was all.' } });
  await within(3_000, 'the last message', isAllTaken);
  expect(client.underWay).toBe(1);
});

test('addresses of private networks are refused where only public ones are allowed', async () => {
  for (const url of ['https://127.0.0.1:1/mcp', 'https://[::1]/mcp', 'https://localhost/mcp'])
    await expect(connect(url, { addresses: 'public' })).rejects.toMatchObject({ code: 'refused' });
  await expect(connect('http://example.com/', { addresses: 'public' })).rejects.toMatchObject({
    code: 'invalid_setup',
  });
});
