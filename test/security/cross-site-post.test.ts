import { expect, test } from 'vitest';
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
import { leakedAnswers } from './raw-http.ts';
import { routes } from './routes.ts';
import { careless, product } from './target.ts';

const contentTypes = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonx',
  'application/json-patch+json',
  'application/problem+json',
  'text/json',
  'application/json, text/plain',
  'text/plain, application/json',
  'text/plain; application/json',
  'application/json; charset=utf-7',
  'application/json; charset=utf-16',
  'application/json; charset=utf-8; boundary=x',
  'application/json; version=1',
  'application/json text/plain',
  '*/*',
  '',
];

const attacks: readonly Attack[] = [
  {
    name: 'a post without a content type',
    change: (good) => without(good, 'Content-Type'),
    status: 415,
    code: -32600,
  },
  ...contentTypes.map((type): Attack => ({
    name: `a post of "${type}"`,
    change: (good) => withHeader(good, 'Content-Type', type),
    status: 415,
    code: -32600,
  })),
  {
    name: 'a post with two content types',
    change: (good) => withExtra(good, 'Content-Type', 'text/plain'),
    status: 400,
    code: -32600,
  },
  {
    name: 'a cross-site post without an origin',
    change: (good) => withHeader(good, 'Sec-Fetch-Site', 'cross-site'),
    status: 403,
    code: -32600,
  },
  {
    name: 'a cross-site post of plain text',
    change: (good) =>
      withHeader(withHeader(good, 'Sec-Fetch-Site', 'cross-site'), 'Content-Type', 'text/plain'),
    status: 403,
    code: -32600,
  },
  ...['GET', 'PUT', 'PATCH', 'DELETE'].map((method): Attack => ({
    name: `a call sent with ${method}`,
    change: (good) => ({ ...good, line: `${method} /mcp HTTP/1.1` }),
    status: 405,
    code: -32600,
  })),
];

for (const version of versions) {
  for (const attack of attacks) {
    test(`A2 ${attack.name} is refused in ${version} and nothing runs`, async () => {
      const { status, code } = attack;
      expect(await launch(await product(), attack, version)).toEqual({ status, code, ran: 0 });
    });
  }

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
  ])(`A2 a post of %s runs in ${version}`, async (type) => {
    const target = await product();
    const { answer, ran } = await deliver(
      target,
      withHeader(goodCall(version, target.port), 'Content-Type', type),
    );
    expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
  });

  test(`A2 control: a server that does not check runs every attack of ${version}`, async () => {
    const names = attacks.map(({ name }) => name);
    expect(await gotThrough(await careless(), attacks, version)).toEqual(names);
  });
}

const posts = routes.filter(({ line }) => line.startsWith('POST'));

for (const route of posts) {
  for (const attack of attacks.filter(({ status }) => status !== 405)) {
    test(`A2 ${attack.name} is refused for ${route.name}, and the good request is served afterwards`, async () => {
      const target = await product({ ...signsIn, sse: true });
      const good = await route.good(target);
      const outcome = await knock(target, attack.change(good, target.port));
      expect(outcome).toEqual({ status: attack.status, ran: 0 });
      expect((await knock(target, good)).status).toBe(route.status);
    });
  }
}

for (const route of routes) {
  test(`A2 a cross-site request without an origin is refused for ${route.name}, and the good one is served`, async () => {
    const target = await product({ ...signsIn, sse: true });
    const good = await route.good(target);
    expect(await knock(target, withHeader(good, 'Sec-Fetch-Site', 'cross-site'))).toEqual({
      status: 403,
      ran: 0,
    });
    expect((await knock(target, good)).status).toBe(route.status);
  });
}

test.each([
  ['POST', '/sse'],
  ['DELETE', '/sse'],
  ['PUT', '/sse'],
  ['GET', '/messages'],
  ['DELETE', '/messages'],
  ['PUT', '/messages'],
  ['HEAD', '/mcp'],
  ['HEAD', '/sse'],
])('A2 %s on %s is refused and nothing runs', async (method, path) => {
  const target = await product({ sse: true });
  const good = await posts.at(-1)!.good(target);
  const line = good.line.replace('POST /messages', `${method} ${path}`);
  expect(await knock(target, { ...good, line })).toEqual({ status: 405, ran: 0 });
});

test('A2 a cross-site post of an allowed origin runs', async () => {
  const target = await product({ allowedOrigins: ['https://app.example'] });
  const good = withHeader(goodCall('2026-07-28', target.port), 'Origin', 'https://app.example');
  const { answer, ran } = await deliver(target, withHeader(good, 'Sec-Fetch-Site', 'cross-site'));
  expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
});

test('A2 no response allows every origin or asks for cookies', async () => {
  const target = await product({ allowedOrigins: ['https://app.example'] });
  const good = withHeader(goodCall('2026-07-28', target.port), 'Origin', 'https://app.example');
  for (const line of ['POST /mcp HTTP/1.1', 'OPTIONS /mcp HTTP/1.1', 'GET /mcp HTTP/1.1']) {
    const { answer } = await deliver(target, { ...good, line });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(answer.headers.get('vary')).toBe('Origin');
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    expect(answer.headers.has('set-cookie')).toBe(false);
  }
});

test('A2 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});
