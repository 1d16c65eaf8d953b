import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ToolRegistry } from '../../src/core/registry.ts';
import { createOutboundClient, type OutboundClient } from '../../src/net/create-outbound-client.ts';
import type { OutboundReason } from '../../src/net/outbound.ts';
import { fetchApiDataTool } from '../../src/tools/fetch-api-data.ts';
import {
  createWorld,
  naiveGet,
  outcomeOf,
  privateAddress,
  publicAddress,
  type World,
} from './outbound-world.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld((request, response) => {
    const to = new URL(request.url!, 'https://api.example.com').searchParams.get('to');
    const status = Number(/^\/(30\d)/.exec(request.url!)?.[1] ?? 302);
    if (request.url === '/long') response.writeHead(302, { location: `/${'a'.repeat(2_048)}` }).end();
    else if (to === null) response.end('hello');
    else response.writeHead(status, { location: Buffer.from(to).toString('latin1') }).end('on you go');
  });
});

afterAll(() => world.close());

let before = { outer: 0, inner: 0 };

beforeEach(() => {
  world.asked.length = 0;
  world.answers.clear();
  before = { outer: world.publicHost.connections(), inner: world.privateHost.connections() };
});

const connected = (): { outer: number; inner: number } => ({
  outer: world.publicHost.connections() - before.outer,
  inner: world.privateHost.connections() - before.inner,
});

const reasonOf = async (work: Promise<unknown>): Promise<string> => (await outcomeOf(work)).reason;
const api = (path = '/'): string => `https://api.example.com:${world.port}${path}`;
const outboundClient = (): OutboundClient =>
  createOutboundClient({
    ...world.network,
    hosts: ['api.example.com', '*.example.com', 'other.example.org'],
  });

const loopbackSpellings = [
  'https://127.0.0.1:PORT/',
  'https://127.1:PORT/',
  'https://127.0.1:PORT/',
  'https://2130706433:PORT/',
  'https://0x7f000001:PORT/',
  'https://0X7F.1:PORT/',
  'https://0x7f.0x0.0x0.0x1:PORT/',
  'https://0177.0.0.1:PORT/',
  'https://017700000001:PORT/',
  'https://127.0.0.1.:PORT/',
  'https://１２７.０.０.１:PORT/',
  'https://①②⑦.0.0.①:PORT/',
  'https://127。0。0。1:PORT/',
  'https://%31%32%37.0.0.1:PORT/',
  'https://0:PORT/',
  'https://0.0.0.0:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'https://[::FFFF:7F00:1]:PORT/',
  'https://[0:0:0:0:0:ffff:127.0.0.1]:PORT/',
  'https://localhost:PORT/',
  'https://LOCALHOST:PORT/',
  'https://127.0.0.1:PORT#@api.example.com/',
  'https://127.0.0.1:PORT?@api.example.com/',
] as const;

const table: readonly (readonly [url: string, reason: OutboundReason])[] = [
  ...loopbackSpellings.map((url) => [url, 'refused_host'] as const),
  ['https://[::1]:PORT/', 'refused_host'],
  ['https://[::]:PORT/', 'refused_host'],
  ['https://[0:0:0:0:0:0:0:1]:PORT/', 'refused_host'],
  ['https://[::127.0.0.1]:PORT/', 'refused_host'],
  ['https://[64:ff9b::7f00:1]:PORT/', 'refused_host'],
  ['https://[64:ff9b::169.254.169.254]/', 'refused_host'],
  ['https://[2002:7f00:1::]:PORT/', 'refused_host'],
  ['https://[2001:0:7f00:1::]:PORT/', 'refused_host'],
  ['https://[fd00:ec2::254]/latest/meta-data/', 'refused_host'],
  ['https://[fe80::1]:PORT/', 'refused_host'],
  ['https://[fe80::1%25lo]:PORT/', 'invalid_url'],
  ['https://169.254.169.254/latest/meta-data/', 'refused_host'],
  ['https://0xa9fea9fe/', 'refused_host'],
  ['https://2852039166/', 'refused_host'],
  ['https://0251.0376.0251.0376/', 'refused_host'],
  ['https://[::ffff:a9fe:a9fe]/', 'refused_host'],
  ['https://100.100.100.200/', 'refused_host'],
  ['https://192.0.0.192/', 'refused_host'],
  ['https://168.63.129.16/', 'refused_host'],
  ['https://10.0.0.1/', 'refused_host'],
  ['https://172.16.0.1/', 'refused_host'],
  ['https://192.168.1.1/', 'refused_host'],
  ['https://8.8.8.8/', 'refused_host'],
  ['https://[2606:4700::1111]/', 'refused_host'],
  ['https://localhost.:PORT/', 'refused_host'],
  ['https://app.localhost:PORT/', 'refused_host'],
  ['https://metadata.google.internal/computeMetadata/v1/', 'refused_host'],
  ['https://metadata.google.internal./', 'refused_host'],
  ['https://metadata/', 'refused_host'],
  ['https://instance-data/', 'refused_host'],
  ['https://evilexample.com:PORT/', 'refused_host'],
  ['https://example.com:PORT/', 'refused_host'],
  ['https://.example.com:PORT/', 'refused_host'],
  ['https://example.com.evil.test:PORT/', 'refused_host'],
  ['https://api.example.com.:PORT/', 'refused_host'],
  ['https://api.example.com..:PORT/', 'refused_host'],
  ['https://api.exаmple.com:PORT/', 'refused_host'],
  ['https://api-example.com:PORT/', 'refused_host'],
  ['https://127.0.0.1.nip.io:PORT/', 'refused_host'],
  ['https://api.example.com:22/', 'refused_host'],
  ['https://api.example.com:0/', 'refused_host'],
  ['https://api.example.com:8443/', 'refused_host'],
  ['https://api.example.com:65536/', 'invalid_url'],
  ['https://api.example.com@127.0.0.1:PORT/', 'refused_request'],
  ['https://api.example.com:443@127.0.0.1:PORT/', 'refused_request'],
  ['https://ada:secret@api.example.com:PORT/', 'refused_request'],
  ['https://ada@api.example.com:PORT/', 'refused_request'],
  ['https://@api.example.com:PORT/', 'refused_request'],
  ['https://:@api.example.com:PORT/', 'refused_request'],
  ['https://127.0.0.1:PORT\\@api.example.com/', 'invalid_url'],
  ['https://api.example.com\\.evil.test:PORT/', 'invalid_url'],
  ['https:\\\\api.example.com:PORT/', 'invalid_url'],
  ['http://api.example.com:PORT/', 'not_https'],
  ['HTTP://api.example.com/', 'not_https'],
  ['http://127.0.0.1:PORT/', 'not_https'],
  ['file:///etc/passwd', 'not_https'],
  ['ftp://api.example.com/', 'not_https'],
  ['gopher://127.0.0.1:PORT/_GET', 'not_https'],
  ['data:text/plain,hello', 'not_https'],
  ['javascript:alert(1)', 'not_https'],
  ['blob:https://api.example.com/1', 'not_https'],
  ['unix:/var/run/docker.sock', 'not_https'],
  ['http+unix://%2Fvar%2Frun%2Fdocker.sock/', 'not_https'],
  ['wss://api.example.com:PORT/', 'not_https'],
  ['https:api.example.com:PORT/', 'invalid_url'],
  ['https:/api.example.com:PORT/', 'invalid_url'],
  ['https:///api.example.com:PORT/', 'invalid_url'],
  ['//api.example.com:PORT/', 'invalid_url'],
  ['api.example.com', 'invalid_url'],
  ['https://', 'invalid_url'],
  ['', 'invalid_url'],
  [' https://api.example.com:PORT/', 'invalid_url'],
  ['https://api.example.com:PORT/a b', 'invalid_url'],
  ['https://api.exam\tple.com:PORT/', 'invalid_url'],
  ['https://api.example.com:PORT/\r\nX-Evil: 1', 'invalid_url'],
  ['https://api.example.com:PORT/\0', 'invalid_url'],
  ['https://api.example.com%00.evil.test:PORT/', 'invalid_url'],
  ['https://api.example.com%2f.evil.test:PORT/', 'invalid_url'],
  ['https://1.2.3.4.5:PORT/', 'invalid_url'],
];

// The text for the model: always the same words, and never an address.
const envelopes: Partial<Record<OutboundReason, object>> = {
  invalid_url: {
    error: 'Invalid URL',
    message: 'This is not a URL; write one such as https://api.example.com/items.',
  },
  not_https: { error: 'Only HTTPS URLs allowed' },
  refused_host: {
    error: 'Request error',
    message: expect.stringMatching(
      /^(?:This host is not among those that can be reached; use another one|This port is not among those that can be reached; leave it out|Hosts are reached by name; use a name instead of an address)\.$/,
    ) as string,
  },
  refused_request: {
    error: 'Request error',
    message: 'The URL must not hold a user name or a password; leave them out.',
  },
};

describe('D3 the target of a URL', () => {
  test('the table of hostile URLs is complete', () => {
    expect(new Set(table.map(([url]) => url)).size).toBeGreaterThan(100);
  });

  test.each(table)('D3 %j is refused before any lookup or connection (001-70)', async (row, reason) => {
    // Everything but the URL is open: the names are listed, the port is, and every address counts as public.
    const client = createOutboundClient({
      ...world.network,
      hosts: ['api.example.com', '*.example.com', 'localhost', 'metadata.google.internal', 'metadata'],
      ports: [world.port, 443],
      isAllowed: () => true,
    });
    const url = row.replace('PORT', String(world.port));
    expect(await reasonOf(client.request(url))).toBe(reason);
    expect(await reasonOf(client.fetch(url))).toBe(reason);
    expect({ ...connected(), asked: world.asked }).toEqual({ outer: 0, inner: 0, asked: [] });
  });

  test.each(table)('D3 a caller of the tool gets a refusal for %j (001-70)', async (row, reason) => {
    const { ports: _ports, ...network } = world.network;
    const tool = fetchApiDataTool(
      {
        hosts: ['api.example.com', '*.example.com', 'localhost', 'metadata.google.internal', 'metadata'],
        ports: [world.port, 443],
      },
      { network: { ...network, isAllowed: () => true } },
    );
    const url = row.replace('PORT', String(world.port));
    const answer = await new ToolRegistry().registerTool(tool).execute('fetch_api_data', { url });
    expect(answer).toEqual(envelopes[reason]);
    expect({ ...connected(), asked: world.asked }).toEqual({ outer: 0, inner: 0, asked: [] });
  });

  test('D3 control: the same tool reaches a listed host', async () => {
    const { ports, ...network } = world.network;
    const tool = fetchApiDataTool({ hosts: ['api.example.com'], ports: [...ports] }, { network });
    const answer = await new ToolRegistry().registerTool(tool).execute('fetch_api_data', { url: api() });
    expect(answer).toMatchObject({ status_code: 200, response: 'hello' });
    expect(connected()).toEqual({ outer: 1, inner: 0 });
  });

  test('D3 D4 a URL of more than 2 KiB is refused: as given, as sent and in a redirect', async () => {
    const client = outboundClient();
    const room = 2_048 - api().length;
    expect(await reasonOf(client.request(api(`/${'a'.repeat(room)}`)))).toBe('reached');
    expect(await reasonOf(client.request(api(`/${'a'.repeat(room + 1)}`)))).toBe('refused_request');
    expect(await reasonOf(client.request(api(`/${'ü'.repeat(1_000)}`)))).toBe('refused_request');
    expect(await reasonOf(client.request(api('/long')))).toBe('refused_redirect');
    expect(connected()).toEqual({ outer: 2, inner: 0 });
  });

  test.each(loopbackSpellings)('control: a plain fetch of %j connects to this machine', async (row) => {
    await fetch(row.replace('PORT', String(world.port))).catch(() => undefined);
    expect(connected()).toEqual({ outer: 0, inner: 1 });
  });

  test('control: a listed host is reached, with its own name for TLS and Host and without the fragment', async () => {
    const response = await outboundClient().request(api('/items?q=1#secret'));
    expect(Buffer.from(response.body).toString()).toBe('hello');
    expect(connected()).toEqual({ outer: 1, inner: 0 });
    expect(world.publicHost.seen.at(-1)).toMatchObject({
      url: '/items?q=1',
      servername: 'api.example.com',
      headers: { host: `api.example.com:${world.port}`, 'accept-encoding': 'identity' },
    });
    expect(await reasonOf(outboundClient().request(`https://deep.EXAMPLE.com:${world.port}/`))).toBe(
      'reached',
    );
  });

  test('without a list of ports only 443 can be reached', async () => {
    const { ports: _ports, ...network } = world.network;
    const client = createOutboundClient({ ...network, hosts: ['api.example.com'] });
    expect(await reasonOf(client.request(api()))).toBe('refused_host');
    expect(connected()).toEqual({ outer: 0, inner: 0 });
  });

  test.each([
    '10.0.0.1',
    '*',
    '*.*.com',
    'https://api.example.com',
    'a.com:443',
    'a.com/x',
    'a b',
    'a.com.',
    '[::1]',
  ])('%j cannot be listed as a host', (host) => {
    expect(() => createOutboundClient({ hosts: [host] })).toThrow(/is not a host; write a name/);
  });

  test.each([
    '127.0.0.1',
    'http://127.0.0.1/x',
    'ftp://127.0.0.1',
    'http://ada@127.0.0.1',
    'blob:http://127.0.0.1/',
  ])('%j cannot be trusted as an origin', (origin) => {
    expect(() => createOutboundClient({ hosts: [], trustedOrigins: [origin] })).toThrow(
      /is not an origin; write/,
    );
  });
});

describe('D3 the addresses of a host name', () => {
  const bad = [[privateAddress], [publicAddress, privateAddress], [privateAddress, publicAddress]];

  test.each(bad)(
    'D3 a name that resolves to %j %j is refused without a connection (001-70)',
    async (...answer) => {
      world.answers.set('api.example.com', [answer]);
      expect(await reasonOf(outboundClient().request(api()))).toBe('refused_address');
      expect(connected()).toEqual({ outer: 0, inner: 0 });
    },
  );

  test.each([
    '169.254.169.254',
    '10.1.2.3',
    '::1',
    '::ffff:8.8.8.8',
    '::7f00:1',
    'fd00:ec2::254',
    '64:ff9b::808:808',
    '2002:7f00:1::',
    '2001::1',
    'fe80::1%lo',
    '168.63.129.16',
    'not an address',
    '2130706433',
    '',
  ])('D3 a name that also resolves to %j is refused (001-70)', async (address) => {
    const { isAllowed: _ours, ...network } = world.network;
    const client = createOutboundClient({
      ...network,
      hosts: ['api.example.com'],
      resolve: async () => ['93.184.216.34', address],
    });
    expect(await reasonOf(client.request(api()))).toBe('refused_address');
  });

  test('D3 a name whose address changes after the check is connected to the checked address (001-70)', async () => {
    world.answers.set('api.example.com', [[publicAddress], [privateAddress]]);
    expect(await reasonOf(outboundClient().request(api()))).toBe('reached');
    expect({ ...connected(), asked: world.asked }).toEqual({
      outer: 1,
      inner: 0,
      asked: ['api.example.com'],
    });
    expect(await reasonOf(outboundClient().request(api()))).toBe('refused_address');
    expect(connected()).toEqual({ outer: 1, inner: 0 });
  });

  test('control: a client that checks first and resolves again reaches the private host', async () => {
    world.answers.set('api.example.com', [[publicAddress], [privateAddress]]);
    const { resolve, isAllowed, ca } = world.network;
    expect((await resolve('api.example.com')).every(isAllowed)).toBe(true);
    expect(await naiveGet(api(), { resolve, ca })).toMatchObject({ status: 200 });
    expect(connected()).toEqual({ outer: 0, inner: 1 });
  });

  test('a name without an address, or whose lookup fails, is a failure that names no address', async () => {
    const client = (resolve: () => Promise<string[]>): OutboundClient =>
      createOutboundClient({ ...world.network, hosts: ['api.example.com'], resolve });
    const failures = [
      client(async () => []),
      client(() => Promise.reject(new Error('queryA ESERVFAIL 10.0.0.53'))),
    ].map((one) => outcomeOf(one.request(api())));
    const expected = { reason: 'failed', message: 'The host could not be found; check its name.' };
    expect(await Promise.all(failures)).toEqual([expected, expected]);
  });

  test('each request has a connection of its own', async () => {
    const client = outboundClient();
    await client.request(api());
    await client.request(api());
    expect(connected()).toEqual({ outer: 2, inner: 0 });
  });
});

describe('D3 the target of a redirect', () => {
  const to = (location: string, status = 302): string =>
    api(`/${status}?to=${encodeURIComponent(location.replace('PORT', String(world.port)))}`);

  test.each([
    'https://127.0.0.1:PORT/',
    'https://2130706433:PORT/',
    'https://[::1]:PORT/',
    'https://localhost:PORT/',
    'https://inner.example.com:PORT/',
    '//inner.example.com:PORT/',
    'https://evil.test:PORT/',
    'https://evilexample.com:PORT/',
    'http://api.example.com:PORT/',
    'http://api.example.com/',
    'https://api.example.com:22/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:PORT/',
    'unix:/var/run/docker.sock',
    'data:text/plain,hello',
    'https://ada:secret@api.example.com:PORT/',
    'https://@api.example.com:PORT/',
    '\\\\127.0.0.1:PORT\\',
    'https:\\\\127.0.0.1:PORT/',
    'https://exam ple.com',
  ])('D3 a redirect to %j is refused (001-70)', async (location) => {
    world.answers.set('inner.example.com', [[privateAddress]]);
    expect(await reasonOf(outboundClient().request(to(location)))).toBe('refused_redirect');
    expect(connected()).toEqual({ outer: 1, inner: 0 });
  });

  test('control: a client that follows every redirect reaches the private host', async () => {
    world.answers.set('inner.example.com', [[privateAddress]]);
    const { resolve, ca } = world.network;
    await naiveGet(to('https://inner.example.com:PORT/'), { resolve, ca });
    expect(connected()).toEqual({ outer: 1, inner: 1 });
  });

  test('D3 a redirect to the same name is resolved and checked again (001-70)', async () => {
    world.answers.set('api.example.com', [[publicAddress], [privateAddress]]);
    expect(await reasonOf(outboundClient().request(to('/again')))).toBe('refused_redirect');
    expect(connected()).toEqual({ outer: 1, inner: 0 });
  });

  test('D3 a chain of redirects from public to public to private ends before the private host', async () => {
    world.answers.set('inner.example.com', [[privateAddress]]);
    const second = `https://other.example.org:PORT/?to=${encodeURIComponent(`https://inner.example.com:${world.port}/`)}`;
    expect(await reasonOf(outboundClient().request(to(second)))).toBe('refused_redirect');
    expect(connected()).toEqual({ outer: 2, inner: 0 });
  });

  test('three redirects are followed, and a fourth is refused', async () => {
    const chain = (length: number): string =>
      length === 0 ? '/end' : `/302?to=${encodeURIComponent(chain(length - 1))}`;
    expect(await reasonOf(outboundClient().request(api(chain(3))))).toBe('reached');
    expect(await reasonOf(outboundClient().request(api(chain(4))))).toBe('refused_redirect');
    const none = createOutboundClient({ ...world.network, hosts: ['api.example.com'], maxRedirects: 0 });
    expect(await reasonOf(none.request(api(chain(1))))).toBe('refused_redirect');
  });

  test.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [302, 'PUT', 'PUT'],
    [303, 'HEAD', 'HEAD'],
  ])('a %i answer to %s is followed with %s', async (status, method, followed) => {
    const request = { method, headers: { 'content-type': 'text/plain', 'x-trace': '1' } };
    await outboundClient().request(
      to('/end', status),
      method === 'HEAD' ? request : { ...request, body: 'data' },
    );
    const { headers, ...last } = world.publicHost.seen.at(-1)!;
    const keepsBody = method !== 'HEAD' && followed === method;
    expect(last).toMatchObject({ method: followed, url: '/end', body: keepsBody ? 'data' : '' });
    expect(headers['x-trace']).toBe('1');
    expect(headers['content-length']).toBe(keepsBody ? '4' : undefined);
  });

  test('D3 a redirect to another origin carries no credentials and no header that could hold one', async () => {
    const headers = {
      Authorization: 'Bearer canary',
      'X-Api-Key': 'canary',
      'X-Anything': 'canary',
      Accept: 'application/json',
      'User-Agent': 'test',
    };
    await outboundClient().request(to('https://other.example.org:PORT/end', 307), { headers });
    const [first, second] = world.publicHost.seen.slice(-2);
    expect(first!.headers).toMatchObject({ authorization: 'Bearer canary', 'x-api-key': 'canary' });
    expect(second!.headers).toEqual({
      accept: 'application/json',
      'user-agent': 'test',
      host: `other.example.org:${world.port}`,
      'accept-encoding': 'identity',
      connection: 'close',
    });
  });

  test('control: a client that keeps all headers sends the credentials along', async () => {
    const { resolve, ca } = world.network;
    const headers = { Authorization: 'Bearer canary' };
    await naiveGet(to('https://other.example.org:PORT/end'), { resolve, ca, headers });
    expect(world.publicHost.seen.at(-1)!.headers).toMatchObject({ authorization: 'Bearer canary' });
  });
});

describe('D3 a trusted origin', () => {
  test('D3 may have a private address and an unlisted port, which no other origin can use', async () => {
    const trustedOrigins = [`https://api.example.com:${world.port}`];
    const { isAllowed: _ours, ports: _ports, ...network } = world.network;
    const client = createOutboundClient({
      ...network,
      hosts: ['api.example.com', 'other.example.org'],
      trustedOrigins,
    });
    world.answers.set('api.example.com', [[privateAddress]]);
    expect(await reasonOf(client.request(api()))).toBe('reached');
    expect(connected()).toEqual({ outer: 0, inner: 1 });
    expect(await reasonOf(client.request(`https://other.example.org:${world.port}/`))).toBe('refused_host');
    expect(await reasonOf(client.request(`http://api.example.com:${world.port}/`))).toBe('not_https');
    expect(await reasonOf(client.request(`blob:${api()}`))).toBe('not_https');
    expect(await reasonOf(client.request('https://api.example.com/'))).toBe('refused_address');
    expect(connected()).toEqual({ outer: 0, inner: 1 });
  });

  test('D3 does not open its address to any other request', async () => {
    const trustedOrigins = ['http://127.0.0.1:1'];
    const client = createOutboundClient({ ...world.network, hosts: ['127.0.0.1'], trustedOrigins });
    expect(await outcomeOf(client.request(`https://127.0.0.1:${world.port}/`))).toEqual({
      reason: 'refused_host',
      message: 'Hosts are reached by name; use a name instead of an address.',
    });
    expect(connected()).toEqual({ outer: 0, inner: 0 });
  });

  test('D3 must meet all other checks', async () => {
    const trustedOrigins = [`https://api.example.com:${world.port}`, `http://127.0.0.1:${world.port}`];
    const client = createOutboundClient({ ...world.network, hosts: [], trustedOrigins });
    const to = (location: string): string => api(`/?to=${encodeURIComponent(location)}`);
    const withUser = api().replace('//', '//ada@');
    expect(await reasonOf(client.request(withUser))).toBe('refused_request');
    expect(await reasonOf(client.request(api(`/${'a'.repeat(2_048)}`)))).toBe('refused_request');
    expect(await reasonOf(client.request(api(), { headers: { cookie: 'a' } }))).toBe('refused_request');
    expect(await reasonOf(client.request(to(withUser)))).toBe('refused_redirect');
    expect(await reasonOf(client.request(to('https://evil.test/')))).toBe('refused_redirect');
    // The way from https to http is closed even where both ends are trusted.
    expect(await reasonOf(client.request(to(`http://127.0.0.1:${world.port}/`)))).toBe('refused_redirect');
    expect(connected()).toEqual({ outer: 3, inner: 0 });
  });
});
