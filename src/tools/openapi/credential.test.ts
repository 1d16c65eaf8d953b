import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { ToolRegistry } from '../../core/registry.ts';
import type { Tool } from '../../core/tool.ts';
import { createServer as createToolServer } from '../../index.ts';
import { createTestClient } from '../../testing.ts';
import { importOpenApi, readOpenApiFile, toolsFromOpenApi } from '../../tools.ts';
import { buildRequest } from './request.ts';
import type { OpenApiOperation } from './operation.ts';
import { openApi, sayJson, type LocalApi } from '../../../test/openapi-api.ts';
import { propertyRuns } from '../../../test/property-runs.ts';
import { createWorld, naiveGet, privateAddress } from '../../../test/security/outbound-world.ts';

const petstore = await readOpenApiFile(
  join(import.meta.dirname, '../../../test/fixtures/openapi', 'petstore-3.0.yaml'),
);

const TOKEN = 'tok_"secret"/1234567890';

function registryOf(api: LocalApi, options: object = {}): ToolRegistry {
  const tools = toolsFromOpenApi(petstore, { server: `${api.url}/v1`, trustServer: true, ...options });
  return new ToolRegistry().registerTool(...tools);
}

const climbing = [
  '..',
  '.',
  '../admin',
  'a/../../admin',
  '..\\admin',
  '%2e%2e',
  '%2E%2e/admin',
  '..%2fadmin',
  '%252e%252e%252fadmin',
  '..;/admin',
  '..;a=b',
];

test('D3 a path parameter cannot lead to another path', async () => {
  const api = await openApi();
  const registry = registryOf(api);
  for (const petId of [...climbing, '', 'a\0b', 'a\r\nb', '\ud800']) {
    await expect(registry.execute('getPet', { petId })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
  }
  await expect(registry.execute('pair', { a: '.', b: '.' })).rejects.toThrow(/step/);
  await expect(registry.execute('pets_styles', { one: [], two: [1], three: ['a'] })).rejects.toThrow(/empty/);
  expect(api.seen).toEqual([]);
  for (const [petId, path] of [
    ['a/b', 'a%2Fb'],
    ['a?b=c#d', 'a%3Fb%3Dc%23d'],
    ['..a', '..a'],
    ['//evil.example/', '%2F%2Fevil.example%2F'],
    ['@evil.example', '%40evil.example'],
  ] as const) {
    await registry.execute('getPet', { petId });
    expect(api.last().url).toBe(`/v1/pets/${path}`);
  }
});

test('D3 control: put into the path unchanged, the same values do lead elsewhere', async () => {
  const api = await openApi();
  for (const petId of ['..', '../admin', '%2e%2e', '..\\admin', 'a?b=c#d']) {
    await fetch(`${api.url}/v1/pets/${petId}`);
    expect(api.last().url).not.toMatch(/^\/v1\/pets\/[^/?]+$/);
  }
});

test('D3 for any value of a path parameter, the request stays below its path on its server', () => {
  const part = fc.constantFrom(
    '.',
    '..',
    '/',
    '\\',
    '%2e',
    '%2f',
    '%',
    ';',
    '?',
    '#',
    '@',
    ':',
    '\r\n',
    '\0',
    'a',
  );
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(part, { maxLength: 8 }).map((all) => all.join('')),
  );
  const operation = operationOf();
  fc.assert(
    fc.property(hostile, (id) => {
      let path: string;
      try {
        ({ path } = buildRequest(operation, { id }));
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_arguments' });
        return;
      }
      const url = new URL(`https://api.example/v1${path}`);
      const [, , , segment = '', ...rest] = url.pathname.split('/');
      const arrived = { href: url.href, id: decodeURIComponent(segment), rest };
      expect(arrived).toEqual({ href: `https://api.example/v1${path}`, id, rest: ['toys'] });
    }),
    { numRuns: propertyRuns(1_000, 40) },
  );
});

function operationOf(): OpenApiOperation {
  const id = { property: 'id', name: 'id', in: 'path', style: 'simple', explode: false } as const;
  return {
    id: 'get',
    method: 'GET',
    template: '/pets/{id}/toys',
    summary: '',
    description: '',
    returns: '',
    isDeprecated: false,
    parameters: [{ ...id, isJson: false, isRequired: true, description: '', schema: {} }],
    body: undefined,
    answer: undefined,
    server: undefined,
  };
}

test('D3 a header parameter cannot add a header, or replace another one', async () => {
  const api = await openApi();
  const registry = registryOf(api, { credential: { header: { name: 'x-flags', value: 'mine-alone' } } });
  for (const trace of ['a\r\nX-Evil: 1', 'a\nX-Evil: 1', 'a\rb', 'a\0b', 'ü', '\u{1f600}'])
    await expect(registry.execute('listPets', { 'X-Trace': trace })).rejects.toThrow(/sent as a header/);
  for (const name of ['X-Flags', 'Authorization', 'Host', 'Cookie'])
    await expect(registry.execute('listPets', { [name]: ['1'] })).rejects.toThrow(/not a known field/);
  expect(api.seen).toEqual([]);
  await registry.execute('listPets', { 'X-Trace': 'fine' });
  expect(api.last().headers).toMatchObject({ 'x-flags': 'mine-alone', 'x-trace': 'fine' });
  expect(api.last().headers).not.toHaveProperty('x-evil');
});

test('D3 control: written unchanged, the same value does add a header', async () => {
  const api = await openApi();
  const port = Number(new URL(api.url).port);
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-Trace: a\r\nX-Evil: 1\r\nConnection: close\r\n\r\n'),
    );
    socket.resume().on('close', () => resolve());
  });
  expect(api.last().headers).toHaveProperty('x-evil', '1');
});

test('D3 a server on plain http or with an IP address must be trusted explicitly', () => {
  for (const server of ['http://api.example', 'https://127.0.0.1', 'https://[::1]/v1', 'https://2130706433'])
    expect(() => toolsFromOpenApi(petstore, { server })).toThrow(/set "trustServer: true"/);
  for (const server of ['ftp://a.example', 'https://a:b@a.example', 'https://a.example?x=1', 'api.example'])
    expect(() => toolsFromOpenApi(petstore, { server })).toThrow(/"server" must be an address/);
});

test('D3 a name that resolves to the private network is refused before any connection', async () => {
  const world = await createWorld((_request, response) => response.end('{}'));
  onTestFinished(() => world.close());
  const server = `https://api.example.com:${world.port}`;
  world.answers.set('api.example.com', [[privateAddress]]);
  const { resolve, ca } = world.network;
  const ask = (parts: object): Promise<unknown> => {
    const tools = toolsFromOpenApi(petstore, { server }, { resolve, ca, ...parts });
    return new ToolRegistry().registerTool(...tools).execute('getPet', { petId: '1' });
  };
  const answer = await ask({});
  expect(answer).toEqual({
    error: 'The API cannot be called like this',
    message: 'The host leads to an address that is not public; use another host.',
  });
  expect(world.privateHost.connections()).toBe(0);
  // Control: a client that looks at the name alone gets there, and so does the same tool without the check.
  await naiveGet(`${server}/pets/1`, { resolve, ca });
  expect(world.privateHost.seen).toHaveLength(1);
  await ask({ isAllowed: () => true });
  expect(world.privateHost.seen).toHaveLength(2);
});

test.each([
  { header: { name: 'X-Api-Key', value: TOKEN } },
  { bearer: TOKEN },
  { query: { name: 'api_key', value: TOKEN } },
])('D3 D4 a redirect to another place is not followed, and gets no credential: %j', async (credential) => {
  const inner = await openApi();
  const outer = await openApi((response, { url }) =>
    response.writeHead(302, { location: `${inner.url}/secret${new URL(url, inner.url).search}` }).end(),
  );
  const registry = registryOf(outer, { credential });
  const answer = await registry.execute('getPet', { petId: '1' });
  expect(answer).toMatchObject({ error: 'The API cannot be called like this' });
  const { url, headers } = outer.last();
  expect(inner.seen).toEqual([]);
  // Control: a client that follows every redirect with all it was given hands the credential over.
  await naiveFollow(`${outer.url}${url}`, headers);
  const [handed] = inner.seen;
  const given = [handed!.url, handed!.headers['x-api-key'], handed!.headers.authorization];
  expect(decodeURIComponent(given.join(' '))).toContain(TOKEN);
});

async function naiveFollow(url: string, headers: IncomingHttpHeaders): Promise<void> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const { host: _host, ...others } = headers;
    get(url, { headers: others }, resolve).on('error', reject);
  });
  response.resume();
  if (response.headers.location) await naiveFollow(new URL(response.headers.location, url).href, headers);
}

test('D4 no argument makes a request go to a host other than the server', async () => {
  const api = await openApi();
  const other = await openApi();
  const registry = registryOf(api);
  const host = new URL(other.url).host;
  for (const petId of [other.url, `//${host}/`, `@${host}`, `\\\\${host}`, `${host}#`, `;@${host}/?`])
    await registry.execute('getPet', { petId, petId_query: other.url }).catch(() => undefined);
  for (const trace of [other.url, host]) await registry.execute('listPets', { 'X-Trace': trace });
  await registry.execute('createPet', { body: { name: other.url } });
  expect(other.seen).toEqual([]);
  expect(api.seen.length).toBeGreaterThan(2);
  expect(api.seen.map(({ headers }) => headers.host)).toEqual(api.seen.map(() => new URL(api.url).host));
  // Control: put behind the address of the server as it is, such a value does lead to the other host.
  await naiveFollow(`${api.url}@${host}/`, {});
  expect(other.seen).toHaveLength(1);
});

test('D3 a response is read only up to the limit', async () => {
  const long = 'x'.repeat(100_000);
  const endless = await openApi((response, { url }) => {
    if (url.includes('json')) return sayJson(response, { long });
    if (url.includes('text')) return void response.writeHead(200, { 'content-type': 'text/plain' }).end(long);
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = (): void => {
      while (!response.destroyed && response.write(long));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  });
  const client = createTestClient(createToolServer({ source: registryOf(endless, { maxBytes: 2_048 }) }));
  for (const petId of ['json', 'endless']) {
    const { isError, text } = await client.callTool('getPet', { petId });
    expect(isError).toBe(true);
    expect(JSON.parse(text)).toEqual({
      error: 'The answer is too large',
      status: 200,
      message: 'It is longer than 2048 bytes; ask for less, for example for a smaller page.',
    });
  }
  await expect.poll(() => endless.hangUps).toBeGreaterThan(0);
  const { isError, text } = await client.callTool('getPet', { petId: 'text' });
  expect(isError).toBe(false);
  expect(text).toHaveLength(2_048 + '\n[Cut here: the answer is longer than 2048 bytes.]'.length);
});

const credentials: [object, (seen: { headers: object; url: string }) => unknown, unknown][] = [
  [{ bearer: TOKEN }, ({ headers }) => Reflect.get(headers, 'authorization'), `Bearer ${TOKEN}`],
  [{ header: { name: 'X-Key', value: TOKEN } }, ({ headers }) => Reflect.get(headers, 'x-key'), TOKEN],
  [
    { query: { name: 'api_key', value: TOKEN } },
    ({ url }) => new URL(url, 'http://a').searchParams.get('api_key'),
    TOKEN,
  ],
  [
    { basic: { username: 'ada', password: TOKEN } },
    ({ headers }) => Reflect.get(headers, 'authorization'),
    `Basic ${Buffer.from(`ada:${TOKEN}`).toString('base64')}`,
  ],
];

test.each(credentials)('D4 a credential is sent and never shown: %j', async (credential, find, expected) => {
  // An API that repeats everything it is sent, in a good answer and in a refusal.
  const api = await openApi((response, seen) => {
    const isBad = seen.url.includes('bad');
    const parts = [
      seen.url,
      JSON.stringify(seen.headers),
      decodeURIComponent(seen.url),
      seen.headers.authorization,
    ];
    sayJson(
      response,
      { message: isBad ? parts.join(' ') : '', name: parts.join(' '), ...seen },
      isBad ? 400 : 200,
    );
  });
  const options = { server: api.url, trustServer: true, credential };
  const { tools, problems } = importOpenApi(petstore, options);
  const client = createTestClient(createToolServer({ source: new ToolRegistry().registerTool(...tools) }));
  const said = [
    await client.callTool('getPet', { petId: 'good' }),
    await client.callTool('getPet', { petId: 'bad' }),
    await client.callTool('listPets', { limit: 5 }),
    await client.listTools(),
    problems,
    Object.entries(tools.map((tool: Tool) => ({ ...tool }))),
  ];
  expect(find(api.last())).toBe(expected);
  const texts = JSON.stringify(said);
  expect(texts).toContain('[hidden]');
  const secrets = [TOKEN, JSON.stringify(TOKEN).slice(1, -1), encodeURIComponent(TOKEN), '1234567890'];
  for (const secret of [...secrets, Buffer.from(`ada:${TOKEN}`).toString('base64')])
    expect(texts).not.toContain(secret);
  // Control: the API itself does repeat it.
  const echoed = await (await fetch(`${api.url}/x`, { headers: { authorization: TOKEN } })).text();
  expect(echoed).toContain('1234567890');
});

test('D4 no argument can replace a credential in the query', async () => {
  const api = await openApi();
  const credential = { query: { name: 'api_key', value: TOKEN } };
  const registry = registryOf(api, { credential });
  await expect(registry.execute('listPets', { api_key: 'mine' })).rejects.toThrow(/not a known field/);
  for (const name of ['api_key', 'API_KEY', 'api_key[]'])
    await expect(registry.execute('listPets', { area: { [name]: 'mine' } })).rejects.toThrow(/reserved name/);
  expect(api.seen).toEqual([]);
  // Control: without that credential both are plain parameters.
  await registryOf(api).execute('listPets', { api_key: 'mine', area: { more: 'x' } });
  expect(api.last().url).toBe('/v1/pets?more=x&api_key=mine');
  await registryOf(api).execute('listPets', { area: { '\ud800': '\udc00' } });
  expect(api.last().url).toBe('/v1/pets?%EF%BF%BD=%EF%BF%BD');
});

test('headers that would make every call fail are refused at once', () => {
  const server = 'https://api.example';
  expect(() => toolsFromOpenApi(petstore, { server, headers: { Host: 'a' } })).toThrow(/host cannot be set/);
  expect(() => toolsFromOpenApi(petstore, { server, credential: { bearer: 'a\r\nb' } })).toThrow(
    /line break/,
  );
});

test('a hostile description gives a few tools or none', () => {
  let deep: object = { type: 'string' };
  for (let level = 0; level < 5_000; level++) deep = { type: 'object', properties: { a: deep } };
  const wide = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { type: 'string' }]),
  );
  const loop = { $ref: '#/components/schemas/loop' };
  const bodies = {
    deep,
    wide: { type: 'object', properties: wide },
    loop,
    proto: JSON.parse('{"properties":{"__proto__":{"type":"string"}}}') as object,
  };
  const paths = Object.fromEntries(
    Object.entries(bodies).map(([operationId, schema]) => {
      const content = { 'application/json': { schema } };
      return [
        `/${operationId}`,
        { post: { operationId, requestBody: { content }, responses: { 200: { content } } } },
      ];
    }),
  );
  const document = {
    openapi: '3.0.0',
    servers: [{ url: 'https://a.example' }],
    components: { schemas: { loop } },
    paths: { ...paths, '/ref': { $ref: '#/paths/~1ref' } },
  };
  const { tools, problems } = importOpenApi(document);
  expect(new ToolRegistry().registerTool(...tools).getToolNames()).toEqual(['deep', 'wide', 'loop', 'proto']);
  for (const tool of tools) expect(JSON.stringify(tool).length).toBeLessThan(40_000);
  expect(problems).toEqual([
    '/ref is left out: the path is described outside of this document or not at all.',
  ]);
});
