import { expect, onTestFinished, test } from 'vitest';
import { connect, type HttpOptions } from '../../src/index.ts';
import { within } from '../within.ts';
import { oldPeer, type Asked } from './old-peer.ts';
import { makeUp, open, type Got } from './peers.ts';

const sse: HttpOptions = { transport: 'sse' };

test('B6 messages for another origin than that of the stream are not sent, and no credential leaves', async () => {
  const elsewhere = await makeUp((got) => got.reply({}));
  for (const endpoint of [elsewhere.url, elsewhere.url.replace('http:', ''), 'http://[']) {
    const server = await oldPeer({ endpoint: () => endpoint });
    const failure = connect(server.url, { ...sse, headers: { authorization: 'Bearer secret' } });
    await expect(failure).rejects.toThrow('another origin');
    expect(server.got).toHaveLength(1);
  }
  expect(elsewhere.got).toEqual([]);
});

const tight: HttpOptions = {
  ...sse,
  checkArguments: false,
  timeouts: { callMs: 5_000, absoluteMs: 400, connectMs: 5_000 },
  limits: { messageBytes: 100_000 },
};

const message = (json: string): string => `event: message\ndata: ${json}\n\n`;
const acts: readonly [title: string, act: (asked: Asked) => void, code: string][] = [
  ['never answers', () => {}, 'timed_out'],
  [
    'sends an event without end',
    ({ event }) => event(`event: message\ndata: ${'x'.repeat(200_000)}`),
    'invalid_answer',
  ],
  [
    'sends a flood of messages',
    ({ event }) => event(message('{"jsonrpc":"2.0","method":"notifications/x"}').repeat(20_000)),
    'timed_out',
  ],
  [
    'answers other requests',
    ({ event, body }) => {
      for (const id of [999, -1, `"${String(body['id'])}"`, 'null', '{}'])
        event(message(`{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[]}}`));
    },
    'timed_out',
  ],
  [
    'sends what is no message',
    ({ event }) => event(`${message('{"jsonrpc":')}${message('['.repeat(5_000))}data\n:\n\0\n\n`),
    'timed_out',
  ],
  [
    'names another address in the middle',
    ({ event }) => {
      for (const address of ['/elsewhere', 'http://127.0.0.1:1/'])
        event(`event: endpoint\ndata: ${address}\n\n`);
    },
    'timed_out',
  ],
  ['drips bytes on the stream', ({ event }) => drip(() => event(':')), 'timed_out'],
  [
    'drips bytes in place of taking a message',
    ({ response }) => {
      response.writeHead(202);
      drip(() => response.write(' '));
    },
    'timed_out',
  ],
  [
    'answers a message with more than is taken',
    ({ response }) => void response.writeHead(202).write('x'.repeat(100_000)),
    'invalid_answer',
  ],
  ['redirects a message', ({ response }) => void response.writeHead(307).end(), 'upstream_unavailable'],
];

/** Writes again and again until the test ends. */
function drip(write: () => void): void {
  const timer = setInterval(write, 20);
  onTestFinished(() => clearInterval(timer));
}

test.each(acts)('C9 an old server that %s fails only that call', async (_title, act, code) => {
  let isHostile = true;
  const server = await oldPeer({
    onMessage: (asked) => {
      if (!isHostile || asked.body['method'] !== 'tools/call') return false;
      act(asked);
      if (!asked.response.headersSent) asked.response.writeHead(202).end();
    },
  });
  const client = await open(server.url, tight);
  const timeoutMs = code === 'timed_out' ? 400 : 5_000;
  const call = client.callTool('echo', {}, { timeoutMs }).catch((error: unknown) => error);
  expect(await within(8_000, 'the call to end', call)).toMatchObject({ code });
  isHostile = false;
  expect(await client.callTool('echo').text()).toMatch(/^echoed/);
  expect(client.underWay).toBe(0);
});

test.each(['is given up', 'was answered on the stream'])(
  'the message of a request that %s is not waited for longer than a request may take',
  async (outcome) => {
    const server = await oldPeer({
      onMessage: ({ body, response, answer }) => {
        if (body['method'] !== 'tools/call') return false;
        response.writeHead(202).write(' ');
        if (outcome !== 'is given up') answer({ content: [] });
      },
    });
    const timeouts = outcome === 'is given up' ? { callMs: 60_000 } : { callMs: 300 };
    const client = await open(server.url, { ...sse, timeouts });
    await client.callTool('echo', {}, { timeoutMs: 100 }).catch(() => {});
    const { response } = server.got.find(({ body }) => body['method'] === 'tools/call')!;
    await expect.poll(() => response.destroyed, { timeout: 5_000 }).toBe(true);
    expect(client.state).toEqual({ kind: 'connected' });
  },
);

test('an old server that never says where to send messages, or sends no stream at all, is given up', async () => {
  const acting: readonly [(got: Got) => void, string][] = [
    [
      ({ response }) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n'),
      'timed_out',
    ],
    [
      ({ response }) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<html>'),
      'upstream_unavailable',
    ],
    [() => {}, 'timed_out'],
  ];
  for (const [act, code] of acting) {
    const server = await oldPeer({ onStream: (got) => (act(got), true) });
    const failure = connect(server.url, { ...sse, timeouts: { connectMs: 200 } });
    await expect(within(3_000, 'connecting to fail', failure)).rejects.toMatchObject({ code });
  }
});
