import { describe, expect, test } from 'vitest';
import { createApiKey } from '../../src/auth/api-key.ts';
import type { Route } from '../../src/server/http/routes.ts';
import { ask, keyed, CALL, type Keyed } from './keyed.ts';

const operatorRoutes: readonly Route[] = [
  { path: '/healthz', access: 'public', answer: () => ({ status: 200, body: 'ok' }) },
  { path: '/metrics', access: { scope: 'metrics:read' }, answer: () => ({ status: 200, body: 'calls 1' }) },
];
const resource = { url: 'https://tools.example.com/mcp', authorizationServers: ['https://id.example.com'] };

const serve = (): Promise<Keyed> => keyed({ sse: true, routes: operatorRoutes, resource });

// A request that none of these refuses would have become a caller without a name.
const strangers: readonly [what: string, headers: (target: Keyed) => Record<string, string>][] = [
  ['no header', () => ({})],
  ['a scheme alone', () => ({ authorization: 'Bearer' })],
  ['a scheme and a blank', () => ({ authorization: 'Bearer ' })],
  ['a bearer credential nobody issued', () => ({ authorization: 'Bearer x' })],
  ['another scheme', () => ({ authorization: 'Basic YWRhOnNlY3JldA==' })],
  ['a key with a wrong checksum', () => ({ authorization: `Bearer ${createApiKey().slice(0, -1)}_` })],
  ['a key nobody issued', () => ({ authorization: `Bearer ${createApiKey()}` })],
  [
    'a revoked key',
    ({ identities }) => ({ authorization: `Bearer ${identities.addKey({ revokedAt: 1, scopes: ALL })}` }),
  ],
  ['an expired key', ({ identities }) => ({ 'x-api-key': identities.addKey({ expiresAt: 1, scopes: ALL }) })],
  [
    'a key of a disabled tenant',
    ({ identities }) => {
      identities.putTenant({ id: 'south', disabled: true });
      return { authorization: `Bearer ${identities.addKey({ tenant: 'south', scopes: ALL })}` };
    },
  ],
  [
    'a key of a tenant that is not there',
    ({ identities }) => ({ authorization: `Bearer ${identities.addKey({ tenant: 'west', scopes: ALL })}` }),
  ],
  [
    'a good key and a garbage bearer credential',
    ({ identities }) => ({ 'x-api-key': identities.addKey({ scopes: ALL }), authorization: 'Bearer x' }),
  ],
  [
    'a good key twice',
    ({ identities }) => {
      const key = identities.addKey({ scopes: ALL });
      return { 'x-api-key': key, authorization: `Bearer ${key}` };
    },
  ],
  [
    'a store that is down',
    ({ identities }) => {
      identities.isDown = true;
      return { authorization: `Bearer ${identities.addKey({ scopes: ALL })}` };
    },
  ],
];
const ALL = ['metrics:read'];

// Every way in; what must be signed in for is worked out from what the server itself declares.
test('B3 every route declares who may use it, and this list has all routes', async () => {
  const { listening } = await serve();
  expect(listening.routes).toEqual([
    { path: '/mcp', access: 'caller' },
    { path: '/t/{tenant}/mcp', access: 'caller' },
    { path: '/sse', access: 'caller' },
    { path: '/messages', access: 'caller' },
    { path: '/.well-known/oauth-protected-resource', access: 'public' },
    { path: '/.well-known/oauth-protected-resource/mcp', access: 'public' },
    { path: '/healthz', access: 'public' },
    { path: '/metrics', access: { scope: 'metrics:read' } },
  ]);
});

describe.each(strangers)('B3 with %s', (_what, headersFor) => {
  test('no route that is not public lets the request in', async () => {
    const target = await serve();
    const headers = headersFor(target);
    const outcomes: string[] = [];
    for (const { path, access } of target.listening.routes) {
      if (access === 'public') continue;
      for (const method of ['POST', 'GET', 'DELETE', 'PUT', 'HEAD']) {
        const { status, headers: answered } = await ask(target, {
          method,
          path: path.replace('{tenant}', 'north'),
          headers,
        });
        if (status !== 401 || answered['www-authenticate'] === undefined)
          outcomes.push(`${method} ${path}: ${status}`);
      }
    }
    expect(outcomes).toEqual([]);
    expect(target.runs()).toBe(0);
  });

  test('server.fetch does not let the request in', async () => {
    const target = await serve();
    const response = await target.server.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headersFor(target) },
        body: CALL,
      }),
    );
    expect([response.status, target.runs()]).toEqual([401, 0]);
  });
});

test('B3 control: a valid key is accepted on the same routes', async () => {
  const target = await serve();
  const headers = { authorization: `Bearer ${target.identities.addKey({ scopes: ALL })}` };
  expect((await ask(target, { headers })).status).toBe(200);
  expect((await ask(target, { headers, path: '/t/north/mcp' })).status).toBe(200);
  expect((await ask(target, { headers, path: '/messages?sessionId=1' })).status).toBe(404);
  expect((await ask(target, { headers, path: '/metrics', method: 'GET' })).status).toBe(200);
  expect(target.runs()).toBe(2);
});

test('a public route answers everybody, with or without credentials', async () => {
  const target = await serve();
  for (const { path, access } of target.listening.routes) {
    if (access !== 'public') continue;
    for (const headers of [{}, { authorization: 'Bearer x' }] as Record<string, string>[])
      expect((await ask(target, { method: 'GET', path, headers })).status).toBe(200);
  }
});
