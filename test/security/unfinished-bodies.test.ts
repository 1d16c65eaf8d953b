import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { bodyLimits } from '../../src/server/caller-limit.ts';
import { openHttpDoor, serve, type Person } from '../behaviour/session-client.ts';

const SIZE = 60_000;

/** Begins a message of a known size and sends a part of it. */
async function begin(port: number, as: Person, isChunked = false): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  onTestFinished(() => void socket.destroy());
  const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${SIZE}`;
  const head = `POST /mcp HTTP/1.1\r\nhost: localhost:${port}\r\nauthorization: Bearer ${as}\r\ncontent-type: application/json\r\n${length}\r\n\r\n`;
  socket.write(head + (isChunked ? '1\r\n{\r\n' : '{'));
  await once(socket, 'connect');
  return socket;
}

const statusOf = async (socket: Socket): Promise<string> =>
  String((await once(socket, 'data'))[0]).slice(9, 12);

function limitTo(perCaller: number): void {
  const before = bodyLimits.perCaller;
  onTestFinished(() => void (bodyLimits.perCaller = before));
  bodyLimits.perCaller = perCaller;
}

test.each([false, true])(
  'A8 unfinished messages of one caller take a limited amount of memory (chunked: %j)',
  async (isChunked) => {
    limitTo(isChunked ? 1_048_576 : SIZE);
    const door = await openHttpDoor();
    const port = Number(new URL(door.listening!.url).port);
    const first = await begin(port, 'ada', isChunked);
    expect(await statusOf(await begin(port, 'ada', isChunked))).toBe('429');
    // Other senders are not held up, nor are messages that come in one piece.
    const others = await begin(port, 'bob', isChunked);
    others.end();
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const headers = { 'content-type': 'application/json', authorization: 'Bearer ada' };
    expect((await door.send({ headers, body: ping })).status).toBe(200);
    first.destroy();
    await expect
      .poll(async () => {
        const next = await begin(port, 'ada', isChunked);
        next.write(isChunked ? '1\r\nx\r\n0\r\n\r\n' : 'x'.repeat(SIZE));
        return statusOf(next);
      })
      .toBe('400');
  },
);

test('A8 a stream whose request came in pieces takes no more memory than its message', async () => {
  limitTo(1_048_576 + 10_000);
  const door = await openHttpDoor();
  const port = Number(new URL(door.listening!.url).port);
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'a', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { notifications: { toolsListChanged: true }, _meta: meta };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params });
  const stream = connect(port, '127.0.0.1').setEncoding('utf8');
  onTestFinished(() => void stream.destroy());
  stream.write(
    `POST /mcp HTTP/1.1\r\nhost: localhost:${port}\r\nauthorization: Bearer ada\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-method: subscriptions/listen\r\nmcp-protocol-version: 2026-07-28\r\ntransfer-encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
  );
  expect(await statusOf(stream)).toBe('200');
  const next = await begin(port, 'ada', true);
  next.write('1\r\nx\r\n0\r\n\r\n');
  expect(await statusOf(next)).toBe('400');
});

test('A8 unfinished web-standard requests of one caller take a limited amount of memory', async () => {
  limitTo(1_048_576);
  const server = serve();
  const send = (as: Person) => {
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const writer = body.writable.getWriter();
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${as}` };
    const init = { method: 'POST', headers, body: body.readable, duplex: 'half' } as const;
    const response = server.fetch(new Request('http://localhost/mcp', init));
    return { response, write: (text: string) => writer.write(Buffer.from(text)), end: () => writer.close() };
  };
  const first = send('ada');
  await first.write('{');
  await first.write(' ');
  const second = send('ada');
  void second.write('{').catch(() => {});
  void second.write(' ').catch(() => {});
  expect((await second.response).status).toBe(429);
  await first.write('}');
  await first.end();
  expect((await first.response).status).toBe(400);
});
