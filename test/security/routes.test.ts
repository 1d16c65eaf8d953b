import { expect, test } from 'vitest';
import { createServer } from '../../src/server/create-server.ts';
import { listen } from '../../src/server/http/node-http.ts';
import type { Route } from '../../src/server/http/routes.ts';
import { recordingSource } from '../../src/testing.ts';
import { ask, keyed } from './keyed.ts';

const health: Route = { path: '/healthz', access: 'public', answer: () => ({ status: 200, body: 'ok' }) };
const metrics: Route = {
  path: '/metrics',
  access: { scope: 'metrics:read' },
  answer: (_head, caller) => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: caller!.id }),
};
const broken: Route = {
  path: '/broken',
  access: 'public',
  answer: () => Promise.reject(new Error('hunter2')),
};

test.each<[string, unknown]>([
  ['does not say who may read it', { path: '/x', answer: health.answer }],
  ['is for nobody in particular', { path: '/x', access: undefined, answer: health.answer }],
  ['has an access nobody knows', { path: '/x', access: 'everyone', answer: health.answer }],
  ['needs an empty scope', { path: '/x', access: { scope: '' }, answer: health.answer }],
  ['has no path', { access: 'public', answer: health.answer }],
  ['has a path that is none', { path: 'x', access: 'public', answer: health.answer }],
  ['is where the endpoint is', { ...health, path: '/mcp' }],
  ['is where tenants are', { ...health, path: '/t/north/mcp' }],
  ['is there twice', health],
])('B3 a server does not start with a route that %s', async (_what, route) => {
  const server = createServer({ source: recordingSource(), log: () => {} });
  await expect(listen(server, { port: 0, routes: [health, route as Route] })).rejects.toMatchObject({
    code: 'invalid_setup',
  });
});

test('a public route answers everybody, and accepts only GET', async () => {
  const target = await keyed({ routes: [health] });
  expect(await ask(target, { method: 'GET', path: '/healthz' })).toMatchObject({ status: 200, body: 'ok' });
  expect((await ask(target, { method: 'GET', path: '/healthz?x=1' })).status).toBe(200);
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const { status, headers } = await ask(target, { method, path: '/healthz' });
    expect([status, headers.allow]).toEqual([405, 'GET']);
  }
});

test('B11 a route that needs a scope answers callers who have it, and names the scope to others', async () => {
  const target = await keyed({ routes: [metrics] });
  const read = (key: string) =>
    ask(target, { method: 'GET', path: '/metrics', headers: { authorization: `Bearer ${key}` } });
  const may = target.identities.addKey({ scopes: ['metrics:read'] });
  const mayNot = target.identities.addKey({ scopes: ['metrics', 'metrics:readx'] });
  expect(await read(may)).toMatchObject({ status: 200, body: 'ada' });
  const { status, headers } = await read(mayNot);
  expect([status, headers['www-authenticate']]).toEqual([
    403,
    'Bearer error="insufficient_scope", scope="metrics:read"',
  ]);
});

test('in open mode every client on this machine may read every route', async () => {
  const target = await keyed({ routes: [metrics], authenticate: undefined as never });
  expect(await ask(target, { method: 'GET', path: '/metrics' })).toMatchObject({
    status: 200,
    body: 'local',
  });
});

test('a route that throws answers 500 and reveals nothing', async () => {
  const target = await keyed({ routes: [broken] });
  const { status, body } = await ask(target, { method: 'GET', path: '/broken' });
  expect(status).toBe(500);
  expect(body).not.toContain('hunter2');
});

test.each<[string, Record<string, string>]>([
  ['a foreign host', { host: 'evil.example' }],
  ['a host that only begins like ours', { host: 'localhost.evil.example' }],
  ['a foreign origin', { origin: 'https://evil.example' }],
  ['no origin at all', { origin: 'null' }],
  ['another site', { 'sec-fetch-site': 'cross-site' }],
])('A1 %s is refused on every route, public ones too', async (_what, headers) => {
  const resource = { url: 'https://tools.example.com/mcp', authorizationServers: ['https://id.example.com'] };
  const target = await keyed({ routes: [health, metrics], sse: true, resource });
  for (const { path } of target.listening.routes) {
    const { status } = await ask(target, { method: 'GET', path: path.replace('{tenant}', 'north'), headers });
    expect([path, status]).toEqual([path, 403]);
  }
});

test('the resource metadata is at the address where clients look for it', async () => {
  const resource = {
    url: 'https://tools.example.com/public/mcp',
    authorizationServers: ['https://id.example.com'],
    scopes: ['tools'],
  };
  const target = await keyed({ resource });
  const paths = ['', '/mcp', '/public/mcp'].map((path) => `/.well-known/oauth-protected-resource${path}`);
  for (const path of paths) {
    const { status, headers, body } = await ask(target, { method: 'GET', path });
    expect([status, headers['content-type'], JSON.parse(body)]).toEqual([
      200,
      'application/json',
      {
        resource: 'https://tools.example.com/public/mcp',
        authorization_servers: ['https://id.example.com'],
        scopes_supported: ['tools'],
        bearer_methods_supported: ['header'],
      },
    ]);
  }
  const response = await target.server.fetch(new Request(`http://localhost${paths[0]}`));
  expect(await response.json()).toMatchObject({ resource: resource.url });
  const { headers } = await ask(target);
  expect(headers['www-authenticate']).toBe(
    `Bearer scope="tools", resource_metadata="https://tools.example.com${paths[2]}"`,
  );
});

test('without a resource setting there is no metadata', async () => {
  const target = await keyed();
  const path = '/.well-known/oauth-protected-resource';
  expect((await ask(target, { method: 'GET', path })).status).toBe(404);
});

test.each([
  { url: 'tools.example.com', authorizationServers: ['https://id.example.com'] },
  { url: 'https://tools.example.com/mcp#x', authorizationServers: ['https://id.example.com'] },
  { url: 'https://tools.example.com/mcp', authorizationServers: [] },
  { url: 'https://tools.example.com/mcp', authorizationServers: ['id'] },
])('a resource address that clients could not use is refused: %j', (resource) => {
  expect(() => createServer({ source: recordingSource(), resource })).toThrow('resource.');
});

test('a scope that would break out of its quotes is left out of the challenge', async () => {
  const target = await keyed({ routes: [{ ...metrics, access: { scope: 'a", error="x' } }] });
  const headers = { 'x-api-key': target.identities.addKey() };
  const { headers: answered } = await ask(target, { method: 'GET', path: '/metrics', headers });
  expect(answered['www-authenticate']).toBe('Bearer error="insufficient_scope"');
});
