import { expect, onTestFinished, test } from 'vitest';
import { Cancelled, ToolTimeout, type Client, type HttpOptions } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { answerHandshake } from '../gateway/bridge.ts';
import { within } from '../within.ts';
import { makeUp, open, standard } from './peers.ts';

const SECRET = 'hunter2-of-ada';
const BY_CALLER = 'The caller cancelled the request.';
const BY_TIME = 'The request timed out.';

/** A client, and every message that its server has got as text. */
interface Watched {
  readonly client: Client;
  got(): Promise<readonly string[]> | readonly string[];
}

async function overHttp(protocol: string, more: HttpOptions = {}): Promise<Watched> {
  const server = await makeUp((got) => {
    if (got.request.method !== 'POST') return void got.response.writeHead(405).end();
    if (protocol !== '2026-07-28' && answerHandshake(got)) return;
    return got.body['method'] === 'tools/call' ? undefined : standard(got);
  });
  return {
    client: await open(server.url, { protocol, ...more }),
    got: () => server.got.map(({ text }) => text),
  };
}

async function overEvents(): Promise<Watched> {
  let send = (_message: object): void => {};
  const server = await makeUp((got) => {
    const { id, method } = got.body;
    if (got.request.method === 'GET') {
      const stream = got.response.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.write('event: endpoint\ndata: /messages\n\n');
      send = (message) => void stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
      return;
    }
    got.response.writeHead(202).end();
    const lists = { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: {}, tools: [] };
    if (id !== undefined && method !== 'tools/call') send({ id, result: lists });
  });
  return {
    client: await open(server.url, { transport: 'sse' }),
    got: () => server.got.map(({ text }) => text),
  };
}

const PROGRAM = `
  const got = [];
  const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    got.push(line);
    const { id, method, params = {} } = JSON.parse(line);
    if (id === undefined || method === 'tools/call') return;
    const lists = { protocolVersion: params.protocolVersion, serverInfo: { name: 'p', version: '1' },
      supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, tools: [], ttlMs: 0, cacheScope: 'private' };
    write({ id, result: { resultType: 'complete', ...lists, ...(method === 'test/got' && { got }) } });
  });
`;

async function overStdio(protocol: string): Promise<Watched> {
  const client = await connectStdio(process.execPath, ['-e', PROGRAM], { protocol });
  onTestFinished(() => client.close());
  return { client, got: async () => (await client.request('test/got'))['got'] as string[] };
}

/** Waits until a notification of a cancelled request has come, and gives back what it says. */
async function noticeIn({ got }: Watched): Promise<unknown> {
  const notices = async (): Promise<readonly string[]> =>
    (await got()).filter((text) => text.includes('notifications/cancelled'));
  await expect.poll(async () => (await notices()).length, { timeout: 5_000 }).toBe(1);
  const [text] = await notices();
  return (JSON.parse(text!) as { params: unknown }).params;
}

const ways: Readonly<Record<string, () => Promise<Watched>>> = {
  'HTTP on 2025-11-25': () => overHttp('2025-11-25'),
  'HTTP and SSE': overEvents,
  'stdio on 2025-11-25': () => overStdio('2025-11-25'),
  'stdio on 2026-07-28': () => overStdio('2026-07-28'),
};

for (const [name, start] of Object.entries(ways)) {
  test(`over ${name} the server of a cancelled call learns that it was cancelled, and not why`, async () => {
    const watched = await start();
    const controller = new AbortController();
    const call = watched.client.callTool('endless', {}, { signal: controller.signal });
    const ended = call.catch((error: unknown) => error);
    await expect.poll(async () => (await watched.got()).join('\n')).toContain('"endless"');
    controller.abort(new Error(SECRET));
    expect(await ended).toBeInstanceOf(Cancelled);
    expect(await noticeIn(watched)).toEqual({ requestId: expect.anything(), reason: BY_CALLER });
    expect((await watched.got()).join('\n')).not.toContain(SECRET);
  });

  test(`over ${name} the server of a call that took too long learns just that`, async () => {
    const watched = await start();
    const call = watched.client.callTool('endless', {}, { timeoutMs: 50 });
    await expect(call).rejects.toBeInstanceOf(ToolTimeout);
    expect(await noticeIn(watched)).toEqual({ requestId: expect.anything(), reason: BY_TIME });
  });
}

test('over HTTP on 2026-07-28 the end of the connection tells of a cancelled call, and nothing tells why', async () => {
  let isHungUp = false;
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    got.response.on('close', () => (isHungUp = true));
  });
  const client = await open(server.url);
  const controller = new AbortController();
  const call = client.callTool('echo', {}, { signal: controller.signal });
  const ended = call.catch((error: unknown) => error);
  await expect.poll(() => server.methods()).toContain('tools/call');
  controller.abort(new Error(SECRET));
  expect(await ended).toBeInstanceOf(Cancelled);
  await expect.poll(() => isHungUp).toBe(true);
  await client.listTools();
  const all = server.got.map(({ text, request }) => text + request.rawHeaders.join('\n')).join('\n');
  expect(all).not.toContain(SECRET);
  expect(server.methods()).not.toContain('notifications/cancelled');
});

test('a call can be stopped while the definitions it needs do not come', async () => {
  const server = await makeUp((got) => (got.body['method'] === 'tools/list' ? undefined : standard(got)));
  const client = await open(server.url);
  const stop = new AbortController();
  const calls = [
    client.callTool('echo', {}, { signal: stop.signal }),
    client.startTask('echo', {}, { signal: stop.signal }),
  ];
  const ended = Promise.allSettled(calls);
  await expect.poll(() => server.methods()).toContain('tools/list');
  stop.abort(new Error(SECRET));
  for (const outcome of await within(5_000, 'the stopped calls', ended))
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'cancelled' } });
  expect(server.methods()).not.toContain('tools/call');
});
