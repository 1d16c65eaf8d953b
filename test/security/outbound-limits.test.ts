import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import zlib from 'node:zlib';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createOutboundClient, type OutboundClient } from '../../src/net/create-outbound-client.ts';
import type { OutboundOptions } from '../../src/net/outbound.ts';
import { createWorld, naiveGet, outcomeOf, type World } from './outbound-world.ts';

const MEBIBYTE = 1_048_576;
const bomb = zlib.gzipSync('a'.repeat(5 * MEBIBYTE));
let world: World;

beforeAll(async () => {
  world = await createWorld((request, response) => {
    const path = request.url!;
    if (path === '/endless') {
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536, 'x')));
      };
      response.on('drain', more);
      more();
    } else if (path === '/slow') {
      const drip = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(drip));
    } else if (path.startsWith('/hop')) {
      setTimeout(() => response.writeHead(302, { location: `/hop${path.length}` }).end(), 120);
    } else if (path.startsWith('/encoded/')) {
      response.setHeader('content-encoding', decodeURIComponent(path.slice('/encoded/'.length)));
      response.end(bomb);
    } else if (path.startsWith('/exact/')) {
      response.end('x'.repeat(Number(path.slice('/exact/'.length))));
    } else if (path !== '/silent') {
      response.end('hello');
    }
  });
});

afterAll(() => world.close());

const api = (path: string): string => `https://api.example.com:${world.port}${path}`;
const outboundClient = (options: Partial<OutboundOptions> = {}): OutboundClient =>
  createOutboundClient({ ...world.network, hosts: ['api.example.com'], ...options });
const allClosed = (): Promise<void> => vi.waitFor(() => expect(world.publicHost.open()).toBe(0));

test('D3 an endless body is cut at the limit and the connection is closed (001-72)', async () => {
  const before = world.publicHost.sent();
  const { body, isCut } = await outboundClient().request(api('/endless'));
  expect([body.length, isCut]).toEqual([MEBIBYTE, true]);
  await allClosed();
  expect(world.publicHost.sent() - before).toBeLessThan(32 * MEBIBYTE);
});

test('control: a client without a limit reads on', async () => {
  const { resolve, ca } = world.network;
  const { bytes } = await naiveGet(api('/endless'), { resolve, ca, maxBytes: 8 * MEBIBYTE });
  expect(bytes).toBeGreaterThan(8 * MEBIBYTE);
  await allClosed();
});

test('a body at the limit is complete, one byte more is cut, and fetch refuses instead of cutting', async () => {
  const client = outboundClient({ maxBytes: 1_000 });
  expect(await client.request(api('/exact/1000'))).toMatchObject({ isCut: false, body: { length: 1_000 } });
  expect(await client.request(api('/exact/1001'))).toMatchObject({ isCut: true, body: { length: 1_000 } });
  expect(await (await client.fetch(api('/exact/1000'))).text()).toBe('x'.repeat(1_000));
  expect(await outcomeOf(client.fetch(api('/exact/1001')))).toMatchObject({ reason: 'too_large' });
  await allClosed();
});

test('D3 D5 a body that arrives too slowly is given up at the time limit', async () => {
  expect(await outcomeOf(outboundClient({ timeoutMs: 250 }).request(api('/slow')))).toEqual({
    reason: 'timed_out',
    message: 'The answer took over 0.25 s; ask for less, or try again.',
  });
  await allClosed();
});

test('D3 redirects share one deadline, and a request may ask for less time', async () => {
  const client = outboundClient({ maxRedirects: 20 });
  expect(await outcomeOf(client.request(api('/hop'), { timeoutMs: 300 }))).toMatchObject({
    reason: 'timed_out',
  });
  expect(
    await outcomeOf(outboundClient({ timeoutMs: 200 }).request(api('/silent'), { timeoutMs: 60_000 })),
  ).toMatchObject({
    reason: 'timed_out',
  });
  await allClosed();
});

test('D3 a name lookup that never ends is given up at the time limit', async () => {
  const client = outboundClient({ timeoutMs: 100, resolve: () => new Promise(() => {}) });
  expect(await outcomeOf(client.request(api('/')))).toMatchObject({ reason: 'timed_out' });
});

test.each(['/silent', '/slow', '/endless'])(
  'D5 a cancelled request to %s closes its connection',
  async (path) => {
    const cancel = new AbortController();
    const work = outcomeOf(
      outboundClient({ maxBytes: 2 ** 30 }).request(api(path), { signal: cancel.signal }),
    );
    await vi.waitFor(() => expect(world.publicHost.open()).toBe(1));
    cancel.abort(new Error('no longer wanted'));
    expect(await work).toEqual({ reason: 'cancelled', message: 'The request was cancelled.' });
    await allClosed();
  },
);

test('D5 a request that is cancelled before or during its name lookup opens no connection', async () => {
  const before = world.publicHost.connections();
  expect(await outcomeOf(outboundClient().request(api('/'), { signal: AbortSignal.abort() }))).toMatchObject({
    reason: 'cancelled',
  });
  for (const answer of [Promise.resolve(['127.0.0.2']), new Promise<string[]>(() => {})]) {
    const cancel = new AbortController();
    const resolve = (): Promise<string[]> => {
      cancel.abort();
      return answer;
    };
    const work = outboundClient({ resolve }).request(api('/'), { signal: cancel.signal });
    expect(await outcomeOf(work)).toMatchObject({ reason: 'cancelled' });
  }
  expect(world.publicHost.connections()).toBe(before);
});

const unpackers = [
  'createGunzip',
  'createUnzip',
  'createInflate',
  'createInflateRaw',
  'createBrotliDecompress',
] as const;

function watchUnpacking(): () => number {
  const spies = unpackers.map((name) => vi.spyOn(zlib, name));
  onTestFinished(() => void vi.restoreAllMocks());
  return () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}

test.each(['gzip', 'GZIP', 'x-gzip', 'br', 'deflate', 'zstd', 'compress', 'identity, gzip', 'unheard-of'])(
  'D3 a response in the encoding %j is refused and not decompressed',
  async (encoding) => {
    const unpacked = watchUnpacking();
    const path = api(`/encoded/${encodeURIComponent(encoding)}`);
    expect(await outcomeOf(outboundClient().request(path))).toMatchObject({ reason: 'encoded' });
    expect(await outcomeOf(outboundClient().fetch(path))).toMatchObject({ reason: 'encoded' });
    expect(unpacked()).toBe(0);
    await allClosed();
  },
);

test('control: a plain fetch decompresses, and the test notices it', async () => {
  const { port, close } = await rawHost((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
    socket.end(bomb);
  });
  const unpacked = watchUnpacking();
  const body = await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
  expect([body.byteLength, unpacked()]).toEqual([5 * MEBIBYTE, 1]);
  await close();
});

test('a response that declares no compression is read', async () => {
  expect(await outcomeOf(outboundClient().request(api('/encoded/Identity')))).toMatchObject({
    reason: 'reached',
  });
});

test('D3 a response that is not valid HTTP is a failure and leaves no connection open', async () => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  for (const [answer, reason] of [
    [`${ok}X: ${'x'.repeat(20_000)}\r\n\r\n`, 'failed'],
    [`${ok}${'X-Y: zzzzzzzz\r\n'.repeat(3_000)}\r\n`, 'failed'],
    [`${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 'encoded'],
    [`${ok}Content-Length: 100\r\n\r\nshort`, 'failed'],
    [`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 'failed'],
    [`${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 'failed'],
    ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', 'failed'],
    ['HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n', 'failed'],
    ['SSH-2.0-OpenSSH_9.2\r\n', 'failed'],
    ['', 'failed'],
  ] as const) {
    const { client, url, open, close } = await rawHost((socket) => socket.end(answer));
    expect([answer.slice(0, 60), (await outcomeOf(client.request(url))).reason]).toEqual([
      answer.slice(0, 60),
      reason,
    ]);
    await vi.waitFor(() => expect(open()).toBe(0));
    await close();
  }
});

test('D3 endless headers are given up at the limit', async () => {
  let written = 0;
  const { client, url, open, close } = await rawHost((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const more = (): void => {
      while (!socket.destroyed && socket.write(`X-${written}: ${'x'.repeat(1_000)}\r\n`)) written += 1_000;
    };
    socket.on('drain', more);
    more();
  });
  expect(await outcomeOf(client.request(url))).toEqual({
    reason: 'failed',
    message: 'The headers of the response are too long.',
  });
  await vi.waitFor(() => expect(open()).toBe(0));
  await close();
});

test('D3 control: a raw client receives the same headers and lengths', async () => {
  const { port, close } = await rawHost((socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`),
  );
  let bytes = 0;
  const socket = connect(port, '127.0.0.1').end('GET / HTTP/1.1\r\n\r\n');
  for await (const chunk of socket as AsyncIterable<Buffer>) bytes += chunk.length;
  expect(bytes).toBeGreaterThan(20_000);
  await close();
});

test('D3 the TLS certificate of a host is checked, whatever the environment says', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => {
    vi.unstubAllEnvs();
    warn.mockRestore();
  });
  const { ca: _ours, ...network } = world.network;
  const unknown = createOutboundClient({ ...network, hosts: ['api.example.com'] });
  const misnamed = createOutboundClient({ ...world.network, hosts: ['else.example.net'] });
  const expected = {
    reason: 'failed',
    message: 'The host could not prove who it is: its certificate is not valid.',
  };
  expect(await outcomeOf(unknown.request(api('/')))).toEqual(expected);
  expect(await outcomeOf(misnamed.request(`https://else.example.net:${world.port}/`))).toEqual(expected);
  // Control: the environment does switch the check off for others.
  expect(await naiveGet(api('/'), { resolve: world.network.resolve })).toMatchObject({ status: 200 });
});

test('D3 proxies that the environment names are not used', async () => {
  const { port, connections, close } = await rawHost((socket) => socket.end());
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'])
    vi.stubEnv(name, `http://127.0.0.1:${port}`);
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await outcomeOf(outboundClient().request(api('/')))).toMatchObject({ reason: 'reached' });
  expect(connections()).toBe(0);
  await close();
});

test('an error message has no address of the target', async () => {
  const { client, url, close } = await rawHost(() => {});
  await close();
  const { reason, message } = await outcomeOf(client.request(url));
  expect([reason, message]).toEqual(['failed', 'The connection to the host failed; try again later.']);
});

interface RawHost {
  readonly client: OutboundClient;
  readonly url: string;
  readonly port: number;
  readonly open: () => number;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

/** A host that says anything, without TLS: its origin is trusted, so that nothing else stands in the way. */
async function rawHost(answer: (socket: Socket) => void): Promise<RawHost> {
  const sockets: Socket[] = [];
  const server: Server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  const origin = `http://127.0.0.1:${port}`;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  };
  return {
    client: createOutboundClient({ hosts: [], trustedOrigins: [origin], timeoutMs: 5_000 }),
    url: `${origin}/`,
    port,
    open: () => sockets.filter((socket) => !socket.destroyed).length,
    connections: () => sockets.length,
    close,
  };
}
