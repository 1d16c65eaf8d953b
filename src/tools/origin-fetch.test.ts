import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { originFetch } from './origin-fetch.ts';

async function listen(): Promise<{ readonly origin: string; readonly seen: readonly string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    if (request.url === '/away') response.writeHead(302, { location: '/there' });
    response.end('here');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

test('the chosen origin is reached, wherever it is', async () => {
  const { origin } = await listen();
  const response = await originFetch(`${origin}/v1`, 'api.example.com')(`${origin}/v1/pages`);
  expect(await response.text()).toBe('here');
});

test.each(['https://api.example.com/v1', 'http://127.0.0.1:1/v1', 'https://other.example.com'])(
  'with the API at %s no other origin is reached',
  async (baseUrl) => {
    const { origin, seen } = await listen();
    await expect(originFetch(baseUrl, 'api.example.com')(`${origin}/v1`)).rejects.toThrow();
    expect(seen).toEqual([]);
    // A plain fetch reaches it: there is something to be kept from.
    await fetch(`${origin}/v1`);
    expect(seen).toEqual(['/v1']);
  },
);

test('redirects are not followed, because the credentials would be sent along', async () => {
  const { origin, seen } = await listen();
  await expect(originFetch(origin, 'api.example.com')(`${origin}/away`)).rejects.toThrow();
  expect(seen).toEqual(['/away']);
  await fetch(`${origin}/away`);
  expect(seen).toEqual(['/away', '/away', '/there']);
});
