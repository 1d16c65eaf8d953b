import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, ToolRegistry } from '../../src/index.ts';
import { localCaller } from '../../src/core/caller.ts';
import { listen, type Route } from '../../src/node.ts';
import { deferred } from '../behaviour/deferred.ts';
import { openCrib } from '../gateway.ts';

const MAX = 3;
// Less than idle connections last by themselves.
const BOUND = { timeout: 3_000 };
const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}';
const health: Route = { path: '/healthz', access: 'public', answer: () => ({ status: 200, body: 'ok' }) };
const guarded: Route = {
  path: '/metrics',
  access: { scope: 'metrics' },
  answer: () => ({ status: 200, body: '' }),
};

async function openTarget(maxConnections?: number) {
  const released = deferred();
  const wait = defineTool({ name: 'wait', description: 'Waits.' }, async () => {
    await released.promise;
    return 'waited';
  });
  const server = createServer({ source: new ToolRegistry().registerTool(wait), log: () => {} });
  const listening = await listen(server, {
    port: 0,
    routes: [health, guarded],
    ...(maxConnections !== undefined && { maxConnections }),
  });
  onTestFinished(() => listening.close(0));
  return { port: Number(new URL(listening.url).port), release: released.resolve };
}

class Connection {
  readonly socket: Socket;
  #text = '';

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1').setEncoding('utf8');
    this.socket.on('data', (text: string) => (this.#text += text)).on('error', () => {});
    onTestFinished(() => void this.socket.destroy());
  }

  send(port: number, [line, body = '']: readonly [string, string?]): this {
    const type = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    this.socket.write(`${line} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${type}\r\n${body}`);
    return this;
  }

  /** The status of the next answer, or nothing where the connection ends without one. */
  async status(): Promise<number | undefined> {
    while (!this.#text.includes('\r\n\r\n') && !this.socket.closed)
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'close')]);
    const status = /^HTTP\/1\.1 (\d+)/.exec(this.#text)?.[1];
    this.#text = '';
    return status === undefined ? undefined : Number(status);
  }
}

const get = async (port: number, path: string) => new Connection(port).send(port, [`GET ${path}`]).status();

/** Connections with a call under way each. */
async function occupy(port: number): Promise<Connection[]> {
  const busy = Array.from({ length: MAX }, () => new Connection(port).send(port, ['POST /mcp', CALL]));
  // The last of them is there once something else was answered or refused.
  await Promise.all(busy.map(({ socket }) => once(socket, 'connect')));
  return busy;
}

test('A8 the number of connections is limited; health checks are still answered, and a closed connection makes room', async () => {
  const { port, release } = await openTarget(MAX);
  const busy = await occupy(port);
  expect(await get(port, '/healthz')).toBe(200);
  expect(await get(port, '/metrics')).toBe(503);
  expect(await new Connection(port).send(port, ['POST /mcp', CALL]).status()).toBe(503);
  release();
  expect(await Promise.all(busy.map((one) => one.status()))).toEqual([200, 200, 200]);
  busy[0]!.socket.destroy();
  await once(busy[0]!.socket, 'close');
  await expect
    .poll(async () => new Connection(port).send(port, ['POST /mcp', CALL]).status(), BOUND)
    .toBe(200);
});

test('A8 an idle connection in the reserve is closed for the next health check', async () => {
  const { port } = await openTarget(MAX);
  await occupy(port);
  const silent = Array.from({ length: 100 }, () => new Connection(port));
  await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
  for (let count = 0; count < 5; count++) expect(await get(port, '/healthz')).toBe(200);
});

test('A8 idle keep-alive connections are closed to make room for new ones', async () => {
  const { port } = await openTarget(MAX);
  const kept = Array.from({ length: MAX }, () => new Connection(port).send(port, ['GET /healthz']));
  expect(await Promise.all(kept.map((one) => one.status()))).toEqual([200, 200, 200]);
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  await expect
    .poll(async () => new Connection(port).send(port, ['POST /mcp', ping]).status(), BOUND)
    .toBe(200);
});

test('control: without the limit the next connection is served like the others', async () => {
  const { port, release } = await openTarget();
  const busy = await occupy(port);
  const next = new Connection(port).send(port, ['POST /mcp', CALL]);
  release();
  expect(await Promise.all([...busy, next].map((one) => one.status()))).toEqual([200, 200, 200, 200]);
});

test('A8 a gateway at its connection limit still answers health checks', async () => {
  const crib = await openCrib({ config: { server: { listen: '127.0.0.1:0', maxConnections: MAX } } });
  const silent = Array.from({ length: MAX }, () => new Connection(crib.port));
  await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
  expect([await get(crib.port, '/healthz'), await get(crib.port, '/readyz')]).toEqual([200, 200]);
  expect(await get(crib.port, '/mcp')).toBe(503);
});

test('A8 a response that is not read is cut off once its caller leaves too much unread', async () => {
  const bytes = 24_000_000;
  const big = defineTool({ name: 'big', description: 'Answers at length.' }, () => 'x'.repeat(bytes));
  const server = createServer({ source: new ToolRegistry().registerTool(big), log: () => {} });
  const listening = await listen(server, { port: 0 });
  onTestFinished(() => listening.close(0));
  const port = Number(new URL(listening.url).port);
  const ask = async (): Promise<number> => {
    const { socket } = new Connection(port).send(port, ['POST /mcp', CALL.replace('wait', 'big')]);
    socket.pause();
    let received = 0;
    socket.on('data', (text: string) => (received += text.length));
    // Health is answered after it, so by then it was answered as far as it can be.
    for (let count = 0; count < 3; count++) await get(port, '/');
    socket.resume();
    await Promise.race([once(socket, 'close'), expect.poll(() => received, BOUND).toBeGreaterThan(bytes)]);
    return received;
  };
  expect(await ask()).toBeGreaterThan(bytes);
  const held = Array.from({ length: 100 }, () => server.unread.limit.take(localCaller));
  expect(await ask()).toBeLessThan(bytes);
  for (const leave of held) leave();
  expect(await ask()).toBeGreaterThan(bytes);
});

test('an invalid connection limit is refused', async () => {
  const server = createServer({ source: new ToolRegistry(), log: () => {} });
  for (const maxConnections of [0, -1, 1.5, Number.NaN])
    await expect(listen(server, { port: 0, maxConnections })).rejects.toMatchObject({
      code: 'invalid_setup',
    });
});
