import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, ToolRegistry } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { ada } from '../behaviour/matrix.ts';
import { expectHeld, heldBytes } from '../held-bytes.ts';
import { within } from '../within.ts';

const BYTES = 200_000;
// An object for each byte would take four times as much.
const MOST_HELD = 6_000_000;
const PIECES = '1\r\n \r\n'.repeat(10_000);

test('A6 a body that comes byte by byte takes little more memory than it is long', async () => {
  const listening = await listen(createServer({ name: 'bench', source: new ToolRegistry() }), { port: 0 });
  onTestFinished(() => listening.close());
  const { host, hostname, port, pathname } = new URL(listening.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const head = ['content-type: application/json', 'accept: application/json, text/event-stream'].join('\r\n');
  await write(
    socket,
    `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${head}\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  const before = heldBytes();
  for (let sent = 0; sent < BYTES; sent += 10_000)
    await within(5_000, 'the server to read', write(socket, PIECES));
  await expectHeld(before, MOST_HELD);
  // It is read to its end, and found to be no message.
  const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  await write(socket, '1\r\n{\r\n0\r\n\r\n');
  expect(await within(5_000, 'the answer', answer)).toContain('-32700');
});

test('A6 a body handed over byte by byte takes little more memory than it is long', async () => {
  const server = createServer({
    name: 'bench',
    source: new ToolRegistry(),
    authenticate: () => ada,
    allowedHosts: ['localhost'],
  });
  let given = 0;
  let goOn = (): void => {};
  let arrive = (): void => {};
  const wait = new Promise<void>((resolve) => (goOn = resolve));
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const body = new ReadableStream<Uint8Array>({
    async pull(stream) {
      if (given++ < BYTES) return stream.enqueue(Uint8Array.of(0x20));
      arrive();
      await wait;
      stream.close();
    },
  });
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const before = heldBytes();
  const request = new Request('http://localhost/mcp', {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
  } as never);
  const answer = server.fetch(request);
  await within(10_000, 'the server to read', arrived);
  await expectHeld(before, MOST_HELD);
  goOn();
  const { status } = await within(5_000, 'the answer', Promise.resolve(answer));
  expect(status).toBe(400);
});

function write(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve, reject) => socket.write(text, (error) => (error ? reject(error) : resolve())));
}
