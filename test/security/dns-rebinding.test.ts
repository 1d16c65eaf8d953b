import { expect, test } from 'vitest';
import { localCaller } from '../../src/core/caller.ts';
import { createServer } from '../../src/server/create-server.ts';
import { recordingSource } from '../../src/testing.ts';
import {
  deliver,
  goodCall,
  gotThrough,
  knock,
  launch,
  versions,
  withExtra,
  withHeader,
  without,
  type Attack,
} from './attack.ts';
import { signsIn } from './people.ts';
import { leakedAnswers, type RawRequest } from './raw-http.ts';
import { routes } from './routes.ts';
import { careless, danger, product } from './target.ts';

const foreignHosts: readonly [name: string, host: (port: number) => string][] = [
  ['a foreign Host', () => 'evil.example'],
  ['a foreign Host with our port', (port) => `evil.example:${port}`],
  ['a Host that starts like ours', (port) => `localhost.evil.example:${port}`],
  ['a Host that ends like ours', (port) => `evil-localhost:${port}`],
  ['a wildcard DNS name for our address', (port) => `127.0.0.1.nip.io:${port}`],
  ['our Host with another port', (port) => `localhost:${port === 65_535 ? 1 : port + 1}`],
  ['our Host without its port', () => 'localhost'],
  ['our Host with a trailing dot', (port) => `localhost.:${port}`],
  ['a short form of our address', (port) => `127.1:${port}`],
  ['our address as one number', (port) => `2130706433:${port}`],
  ['the any-address', (port) => `0.0.0.0:${port}`],
  ['our address mapped into IPv6', (port) => `[::ffff:127.0.0.1]:${port}`],
  ['a Host with a user part', (port) => `localhost:${port}@evil.example`],
  ['two hosts in one Host', (port) => `localhost:${port}, evil.example`],
  ['an empty Host', () => ''],
];

const foreignOrigins: readonly [name: string, origin: string][] = [
  ['Origin null', 'null'],
  ['a foreign Origin', 'https://evil.example'],
  ['an Origin that starts like ours', 'https://localhost.evil.example'],
  ['an Origin of a wildcard DNS name', 'http://127.0.0.1.nip.io'],
  ['an Origin with a user part', 'http://localhost@evil.example'],
  ['an Origin whose port goes on', 'http://localhost:80.evil.example'],
  ['an Origin with our name in its path', 'https://evil.example/http://localhost'],
  ['an Origin of a file', 'file://'],
  ['an Origin of another scheme on our name', 'chrome-extension://localhost'],
  ['two origins in one Origin', 'http://localhost, https://evil.example'],
  ['an empty Origin', ''],
];

const headAttacks: readonly Attack[] = [
  ...foreignHosts.map(([name, host]): Attack => ({
    name,
    change: (good, port) => withHeader(good, 'Host', host(port)),
    status: 403,
    code: -32600,
  })),
  ...foreignOrigins.map(([name, origin]): Attack => ({
    name,
    change: (good) => withHeader(good, 'Origin', origin),
    status: 403,
    code: -32600,
  })),
];

const wireAttacks: readonly Attack[] = [
  {
    name: 'a second Host line',
    change: (good) => withExtra(good, 'Host', 'evil.example'),
    status: 400,
    code: -32600,
  },
  {
    name: 'a second Host line before ours',
    change: (good) => ({ ...good, headers: [['host', 'evil.example'], ...good.headers] }),
    status: 400,
    code: -32600,
  },
  {
    name: 'a second Origin line',
    change: (good) =>
      withExtra(withHeader(good, 'Origin', 'http://localhost'), 'Origin', 'https://evil.example'),
    status: 400,
    code: -32600,
  },
  {
    name: 'a foreign absolute target',
    change: (good) => ({ ...good, line: good.line.replace(' /', ' http://evil.example/') }),
    status: 403,
    code: -32600,
  },
  {
    name: 'a foreign absolute target with our name as its user',
    change: (good, port) => ({
      ...good,
      line: good.line.replace(' /', ` http://localhost:${port}@evil.example/`),
    }),
    status: 403,
    code: -32600,
  },
  {
    name: 'an absolute target and a Host that are both foreign',
    change: (good) =>
      withHeader({ ...good, line: good.line.replace(' /', ' http://evil.example/') }, 'Host', 'evil.example'),
    status: 403,
    code: -32600,
  },
  {
    name: 'HTTP/1.0 without a Host',
    change: (good) => without({ ...good, line: good.line.replace('HTTP/1.1', 'HTTP/1.0') }, 'Host'),
    status: 400,
    code: -32600,
  },
];

const attacks = [...headAttacks, ...wireAttacks];

for (const version of versions) {
  for (const attack of attacks) {
    test(`A1 ${attack.name} is refused in ${version} and nothing runs`, async () => {
      const { status, code } = attack;
      expect(await launch(await product(), attack, version)).toEqual({ status, code, ran: 0 });
    });
  }

  test(`A1 the good call of ${version} runs under every host name of this machine`, async () => {
    const target = await product();
    const { port } = target;
    const good = goodCall(version, port);
    const accepted = [
      good,
      withHeader(good, 'Host', `LOCALHOST:${port}`),
      withHeader(good, 'Host', `[::1]:${port}`),
      withHeader(good, 'Origin', 'http://localhost:3000'),
      withHeader(good, 'Origin', 'http://[::1]'),
      { ...good, line: `POST http://127.0.0.1:${port}/mcp HTTP/1.1` },
    ];
    for (const request of accepted) {
      const { answer, ran } = await deliver(target, request);
      expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
    }
  });

  test(`A1 control: a server that does not check runs every attack of ${version}`, async () => {
    const names = attacks.map(({ name }) => name);
    expect(await gotThrough(await careless(), attacks, version)).toEqual(names);
  });
}

for (const route of routes) {
  for (const attack of attacks) {
    test(`A1 ${attack.name} is refused for ${route.name}, and the good request is served afterwards`, async () => {
      const target = await product({ ...signsIn, sse: true });
      const good = await route.good(target);
      const outcome = await knock(target, attack.change(good, target.port));
      expect(outcome).toEqual({ status: attack.status, ran: 0 });
      expect((await knock(target, good)).status).toBe(route.status);
    });
  }

  test(`A1 control: a server that does not check answers every attack on ${route.name}`, async () => {
    const good = await route.good(await product({ ...signsIn, sse: true }));
    const { port, runs } = await careless(() => ({}));
    for (const { change } of attacks)
      expect((await knock({ port, runs }, change(good, port))).status).toBe(200);
  });
}

test('A1 the SSE transport is off by default', async () => {
  const target = await product();
  for (const line of ['GET /sse HTTP/1.1', 'POST /messages?sessionId=1 HTTP/1.1'])
    expect((await deliver(target, { ...goodCall('2024-11-05', target.port), line })).answer.status).toBe(404);
});

test.each(['GET', 'DELETE', 'OPTIONS', 'PUT'])(
  'A1 a foreign Host is refused for %s on every path, before any other check',
  async (method) => {
    const target = await product({ sse: true });
    for (const path of [
      '/mcp',
      '/sse',
      '/messages',
      '/',
      '/metrics',
      '/.well-known/oauth-protected-resource',
    ]) {
      const request = withHeader(goodCall('2026-07-28', target.port), 'Host', 'evil.example');
      const { answer, ran } = await deliver(target, { ...request, line: `${method} ${path} HTTP/1.1` });
      expect({ status: answer.status, ran }).toEqual({ status: 403, ran: 0 });
    }
  },
);

test.each(foreignOrigins)('A1 %s gets no CORS permission to read the refusal', async (_name, origin) => {
  const target = await product();
  const request = withHeader(goodCall('2026-07-28', target.port), 'Origin', origin);
  for (const line of ['POST /mcp HTTP/1.1', 'OPTIONS /mcp HTTP/1.1', 'POST /elsewhere HTTP/1.1']) {
    const { answer } = await deliver(target, { ...request, line });
    expect(answer.headers.get('access-control-allow-origin')).toBeUndefined();
  }
});

test('A1 an allowed origin may read refusals as well as results', async () => {
  const target = await product({ allowedOrigins: ['https://app.example'] });
  const request = withHeader(goodCall('2026-07-28', target.port), 'Origin', 'https://app.example');
  for (const changed of [request, withHeader(request, 'Content-Type', 'text/plain')]) {
    const { answer } = await deliver(target, changed);
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
  }
});

for (const version of versions) {
  for (const attack of headAttacks) {
    test(`A1 ${attack.name} is refused in ${version} by server.fetch too`, async () => {
      const { calls, fetch } = fetchTarget([`127.0.0.1:${PORT}`, `localhost:${PORT}`], []);
      const response = await fetch(attack.change(goodCall(version, PORT), PORT));
      expect({ status: response.status, ran: calls.length }).toEqual({ status: 403, ran: 0 });
    });
  }

  test(`A1 server.fetch runs the good call of ${version}, and every attack once its host and origin are allowed`, async () => {
    const requests = [
      goodCall(version, PORT),
      ...headAttacks.map(({ change }) => change(goodCall(version, PORT), PORT)),
    ];
    const hosts = requests.map((request) => valueOf(request, 'Host')!);
    const origins = requests.flatMap((request) => valueOf(request, 'Origin') ?? []);
    const { calls, fetch } = fetchTarget(hosts, origins);
    for (const request of requests) expect((await fetch(request)).status).toBe(200);
    expect(calls.length).toBe(requests.length);
  });
}

test('A1 server.fetch without allowedHosts serves loopback names on any port and no others', async () => {
  const { calls, fetch } = fetchTarget(undefined, []);
  const good = goodCall('2026-07-28', PORT);
  for (const host of ['localhost', 'LOCALHOST:1', '[::1]:9', '127.0.0.1'])
    expect((await fetch(withHeader(good, 'Host', host))).status).toBe(200);
  const ran = calls.length;
  for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', '0.0.0.0', 'localhost:'])
    expect((await fetch(withHeader(good, 'Host', host))).status).toBe(403);
  expect(calls.length).toBe(ran);
});

test('A1 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

const PORT = 8484;

function fetchTarget(
  allowedHosts: readonly string[] | undefined,
  allowedOrigins: readonly string[],
): { calls: readonly unknown[]; fetch: (request: RawRequest) => Promise<Response> } {
  const source = recordingSource(danger);
  const server = createServer({
    source,
    authenticate: () => localCaller,
    allowedOrigins,
    ...(allowedHosts && { allowedHosts: allowedHosts.map((host) => host.toLowerCase()) }),
  });
  return { calls: source.calls, fetch: (request) => server.fetch(toRequest(request)) };
}

function toRequest({ headers, body }: RawRequest): Request {
  const sent = new Headers();
  for (const [name, value] of headers)
    if (!['content-length', 'connection'].includes(name.toLowerCase())) sent.append(name, value);
  return new Request(`http://127.0.0.1:${PORT}/mcp`, {
    method: 'POST',
    headers: sent,
    body: Buffer.from(body as string),
  });
}

function valueOf({ headers }: RawRequest, name: string): string | undefined {
  return headers.find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1];
}
