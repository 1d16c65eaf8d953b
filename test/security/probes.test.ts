import { expect, test } from 'vitest';
import { createServer } from '../../src/server/create-server.ts';
import { listen } from '../../src/server/http/node-http.ts';
import { recordingSource } from '../../src/testing.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { ask } from './keyed.ts';
import { send } from './raw-http.ts';

const PUBLIC = { server: { publicUrl: 'https://tools.example.com' } };
const look = async (
  crib: Crib,
  path: string,
  headers: Record<string, string>,
): Promise<[number, string, unknown]> => {
  const { status, body, headers: answered } = await ask(crib, { method: 'GET', path, headers });
  return [status, body, answered['access-control-allow-origin']];
};

test.each([
  ['the address of a pod', '10.42.0.17:8484'],
  ['an IPv6 address of a pod', '[fd00::17]:8484'],
  ['the name of a service', 'toolcrib.default.svc.cluster.local'],
  ['the public name', 'tools.example.com'],
])('a health check by %s gets the state and nothing more', async (_what, host) => {
  const crib = await openCrib({ config: PUBLIC });
  expect(await look(crib, '/healthz', { host })).toEqual([200, 'ok\n', undefined]);
  expect(await look(crib, '/readyz', { host })).toEqual([200, 'ready\n', undefined]);
});

test('A1 all other routes accept their own host names only', async () => {
  const crib = await openCrib({ config: PUBLIC });
  const headers = { host: '10.42.0.17:8484', authorization: `Bearer ${crib.keys.watcher}` };
  const own = { ...headers, host: 'tools.example.com' };
  expect((await look(crib, '/metrics', headers))[0]).toBe(403);
  expect((await ask(crib, { headers })).status).toBe(403);
  expect((await look(crib, '/metrics', own))[0]).toBe(200);
  expect((await ask(crib, { headers: own })).status).toBe(200);
});

test('A1 a page of another site cannot read a health check, whatever the Host', async () => {
  const crib = await openCrib({ config: PUBLIC });
  for (const path of ['/healthz', '/readyz']) {
    const [status, body, allowed] = await look(crib, path, {
      host: 'evil.example',
      origin: 'https://evil.example',
    });
    expect([status, body.includes('ok'), allowed]).toEqual([403, false, undefined]);
  }
});

test('an old load balancer that sends no Host gets a response, too', async () => {
  const crib = await openCrib({ config: PUBLIC });
  const ask10 = (path: string): ReturnType<typeof send> =>
    send(crib.port, { line: `GET ${path} HTTP/1.0`, headers: [], body: '' });
  expect(await ask10('/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
  expect(await ask10('/metrics')).toMatchObject({ status: 400 });
});

test('a route that needs a scope cannot take any Host', async () => {
  const server = createServer({ source: recordingSource(), log: () => {} });
  const route = {
    path: '/x',
    access: { scope: 'x' },
    hosts: 'any',
    answer: () => ({ status: 200, body: '' }),
  } as const;
  await expect(listen(server, { port: 0, routes: [route] })).rejects.toThrow('/x needs a scope');
});
