import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ToolRegistry } from '../core/registry.ts';
import { createFakeClock } from '../testing.ts';
import type { FetchApiDataOptions } from './fetch-api-data-options.ts';
import { fetchApiDataTool, type FetchApiDataParts } from './fetch-api-data.ts';

interface Api {
  readonly url: string;
  readonly heard: IncomingMessage[];
  /** Calls the tool with the API's host listed and trusted. */
  call(args?: Record<string, unknown>, options?: Partial<FetchApiDataOptions>): Promise<unknown>;
}

async function openApi(answer: (response: ServerResponse) => void): Promise<Api> {
  const heard: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    heard.push(request.resume());
    answer(response);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const url = `${origin}/items`;
  return {
    url,
    heard,
    call: async (args = {}, options = {}) => {
      const all = { hosts: ['127.0.0.1'], trustedOrigins: [origin], ...options };
      return registryOf(all, { clock: createFakeClock() }).execute('fetch_api_data', { url, ...args });
    },
  };
}

const registryOf = (options: FetchApiDataOptions, parts?: FetchApiDataParts): ToolRegistry =>
  new ToolRegistry().registerTool(fetchApiDataTool(options, parts));

const listed = (options: Partial<FetchApiDataOptions> = {}) =>
  registryOf({ hosts: ['api.example.com'], ...options }).list()[0]!;

const json = (response: ServerResponse): void => {
  response.setHeader('content-type', 'application/json; charset=utf-8').end('{"ok":true}');
};

test('the tool takes a URL, a method, headers and a timeout, and is read-only in an open world (001-69)', () => {
  const { inputSchema, annotations } = listed();
  expect(inputSchema).toMatchObject({
    required: ['url'],
    additionalProperties: false,
    properties: {
      url: { type: 'string' },
      method: { type: 'string', enum: ['GET'], default: 'GET' },
      headers: { type: 'object' },
      timeout: { type: 'integer', minimum: 1, maximum: 60, default: 30 },
    },
  });
  expect(Object.keys(inputSchema.properties!)).toEqual(['url', 'method', 'headers', 'timeout']);
  expect(annotations).toEqual({
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  });
});

test('with POST the tool takes a body and is no longer read-only (001-69)', () => {
  const { inputSchema, annotations } = listed({ methods: ['GET', 'POST'] });
  expect(inputSchema.properties).toMatchObject({
    method: { enum: ['GET', 'POST'], default: 'GET' },
    body: { type: 'string' },
  });
  expect(annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true, openWorldHint: true });
});

test('a method in lower case is accepted (001-69)', async () => {
  const api = await openApi(json);
  const methods: FetchApiDataOptions['methods'] = ['GET', 'POST'];
  await api.call({ method: 'get' }, { methods });
  await api.call({ method: 'Post', body: '{}' }, { methods });
  await api.call({}, { methods });
  expect(api.heard.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
});

test.each([
  { method: 'PUT' },
  { method: 'POST' },
  { method: 1 },
  { timeout: 0 },
  { timeout: 61 },
  { timeout: 1.5 },
  { headers: { a: 1 } },
  { body: 'x' },
  { more: 1 },
])('%j is refused (001-69)', async (args) => {
  const call = registryOf({ hosts: ['api.example.com'] }).execute('fetch_api_data', {
    url: 'https://api.example.com/',
    ...args,
  });
  await expect(call).rejects.toMatchObject({ code: 'invalid_arguments' });
});

test('an operator can set a shorter timeout (001-69)', () => {
  expect(listed({ timeoutSeconds: 10 }).inputSchema.properties).toMatchObject({
    timeout: { maximum: 10, default: 10 },
  });
});

test.each([
  '',
  'nonsense',
  'https://',
  '//api.example.com',
  'https://api.example.com/a b',
  'https:api.example.com',
])('%j is an invalid URL (001-70)', async (url) => {
  expect(await registryOf({ hosts: ['api.example.com'] }).execute('fetch_api_data', { url })).toEqual({
    error: 'Invalid URL',
    message: 'This is not a URL; write one such as https://api.example.com/items.',
  });
});

test.each(['http://api.example.com/', 'ftp://api.example.com/', 'file:///etc/passwd', 'javascript:1'])(
  '%j is not an https URL (001-70)',
  async (url) => {
    expect(await registryOf({ hosts: ['api.example.com'] }).execute('fetch_api_data', { url })).toEqual({
      error: 'Only HTTPS URLs allowed',
    });
  },
);

test.each([
  ['https://10.0.0.1/', 'Hosts are reached by name; use a name instead of an address.'],
  ['https://other.example.com/', 'This host is not among those that can be reached; use another one.'],
  ['https://api.example.com:8443/', 'This port is not among those that can be reached; leave it out.'],
  ['https://ada@api.example.com/', 'The URL must not hold a user name or a password; leave them out.'],
  ['https://api.example.com/', 'The host leads to an address that is not public; use another host.'],
])('%s is refused, and the model gets the reason (001-70)', async (url, message) => {
  const network = { resolve: async () => ['10.0.0.1'] };
  expect(
    await registryOf({ hosts: ['api.example.com'] }, { network }).execute('fetch_api_data', { url }),
  ).toEqual({
    error: 'Request error',
    message,
  });
});

test('requests have the user agent MCP-Server/1.0 by default (001-71)', async () => {
  const api = await openApi(json);
  await api.call();
  await api.call({}, { userAgent: 'Acme/2' });
  await api.call({ headers: { 'User-Agent': 'Model/3' } }, { userAgent: 'Acme/2' });
  await api.call({}, { headers: { 'user-agent': 'Fixed/4' } });
  expect(api.heard.map(({ headers }) => headers['user-agent'])).toEqual([
    'MCP-Server/1.0',
    'Acme/2',
    'Model/3',
    'Fixed/4',
  ]);
});

test('a response has a status, type, text, whether it is JSON, and the time (001-72)', async () => {
  const api = await openApi(json);
  expect(await api.call()).toEqual({
    status_code: 200,
    content_type: 'application/json; charset=utf-8',
    response: '{"ok":true}',
    is_json: true,
    timestamp: '2026-01-01T00:00:00.000Z',
  });
});

test.each([
  ['application/problem+json', true],
  ['Application/JSON', true],
  ['text/plain', false],
  ['text/html; x="application/json"', false],
  [undefined, false],
])('whether content of type %s is JSON: %s (001-72)', async (type, isJson) => {
  const api = await openApi((response) => {
    if (type !== undefined) response.setHeader('content-type', type);
    response.writeHead(404).end('x');
  });
  expect(await api.call()).toMatchObject({ status_code: 404, content_type: type ?? null, is_json: isJson });
});

test('a long response is cut between characters, and says so (001-72)', async () => {
  const api = await openApi((response) => response.end('é'.repeat(100)));
  expect(await api.call({}, { maxBytes: 11 })).toMatchObject({
    response: 'ééééé\n[Truncated: only the first 11 bytes are here.]',
    truncated: true,
  });
  expect(await api.call({}, { maxBytes: 200 })).not.toHaveProperty('truncated');
});

test('the error of a failed request has no details of the network (001-72)', async () => {
  const cutOff = await openApi((response) => response.destroy());
  expect(await cutOff.call()).toEqual({
    error: 'Request failed',
    message: 'The connection to the host failed; try again later.',
  });
  const resolve = () => Promise.reject(new Error('queryA ESERVFAIL 10.0.0.53'));
  const lost = registryOf({ hosts: ['api.example.com'] }, { network: { resolve } });
  expect(await lost.execute('fetch_api_data', { url: 'https://api.example.com/' })).toEqual({
    error: 'Request failed',
    message: 'The host could not be found; check its name.',
  });
});

test('a request that takes too long is an error that says so (001-72)', async () => {
  const api = await openApi(() => {});
  expect(await api.call({ timeout: 1 })).toEqual({
    error: 'Request error',
    message: 'The answer took over 1 s; ask for less, or try again.',
  });
});

test('a compressed response is an error that says so (001-72)', async () => {
  const api = await openApi((response) => response.setHeader('content-encoding', 'gzip').end('x'));
  expect(await api.call()).toEqual({
    error: 'Request error',
    message: 'The host compressed its response although it was asked not to, so it cannot be read.',
  });
});

test('text is decoded with the charset of its host, and binary data is not shown', async () => {
  const latin = await openApi((response) =>
    response.setHeader('content-type', 'text/plain; charset=ISO-8859-1').end(Buffer.from([0xe9])),
  );
  expect(await latin.call()).toMatchObject({ response: 'é' });
  const unheard = await openApi((response) =>
    response.setHeader('content-type', 'text/plain; charset=unheard-of').end('é'),
  );
  expect(await unheard.call()).toMatchObject({ response: 'é' });
  const picture = await openApi((response) =>
    response.setHeader('content-type', 'image/png').end('\x89PNG\0\0'),
  );
  expect(await picture.call()).toEqual({
    error: 'Request error',
    message: 'The answer is not text, so it cannot be shown.',
  });
});

test('fixed headers are sent, cannot be replaced, and are removed from a response that repeats them', async () => {
  const api = await openApi((response) =>
    response.end('You sent Bearer s3cret-token, or s3cret-token for short.'),
  );
  const headers = { Authorization: 'Bearer s3cret-token' };
  expect(await api.call({}, { headers })).toMatchObject({
    response: 'You sent [hidden], or [hidden] for short.',
  });
  expect(api.heard[0]!.headers.authorization).toBe('Bearer s3cret-token');
  expect(await api.call({ headers: { authorization: 'Bearer mine' } }, { headers })).toEqual({
    error: 'Request error',
    message: 'The header authorization cannot be set; leave it out.',
  });
  expect(api.heard).toHaveLength(1);
});

test('a body is JSON unless a header says otherwise', async () => {
  const api = await openApi(json);
  const methods: FetchApiDataOptions['methods'] = ['POST'];
  await api.call({ body: '{}' }, { methods });
  await api.call(
    { body: 'a=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    { methods },
  );
  await api.call({}, { methods });
  expect(api.heard.map(({ headers }) => headers['content-type'])).toEqual([
    'application/json',
    'application/x-www-form-urlencoded',
    undefined,
  ]);
});

test('D5 a cancelled call closes its connection', async () => {
  const api = await openApi(() => {});
  const cancel = new AbortController();
  const origin = new URL(api.url).origin;
  const registry = registryOf({ hosts: ['127.0.0.1'], trustedOrigins: [origin] });
  const work = registry.execute('fetch_api_data', { url: api.url }, { signal: cancel.signal });
  await vi.waitFor(() => expect(api.heard).toHaveLength(1));
  cancel.abort();
  await expect(work).resolves.toEqual({ error: 'Request error', message: 'The request was cancelled.' });
  await vi.waitFor(() => expect(api.heard[0]!.socket.destroyed).toBe(true));
});

test.each([
  [{ hosts: ['https://api.example.com'] }, /"https:\/\/api.example.com" is not a host; write a name/],
  [{ hosts: ['127.0.0.1'] }, /"127.0.0.1" is not a host/],
  [{ hostsByTenant: { acme: ['*'] } }, /"\*" is not a host/],
  [{ trustedOrigins: ['127.0.0.1:80'] }, /"127.0.0.1:80" is not an origin; write/],
  [{ trustedOrigins: ['http://127.0.0.1'] }, /no list of hosts names 127.0.0.1; add it to hosts/],
  [{ headers: { Cookie: 'a=1' } }, /The header cookie cannot be set/],
  [{ headers: { 'X-A': 'a\nb' } }, /The header x-a contains an invalid character/],
  [{ userAgent: 'a\nb' }, /The header user-agent contains an invalid character/],
] satisfies [Partial<FetchApiDataOptions>, RegExp][])(
  'the invalid setup %j is refused',
  (options, message) => {
    const make = (): unknown => fetchApiDataTool({ hosts: ['api.example.com'], ...options });
    expect(make).toThrow(
      expect.objectContaining({ code: 'invalid_setup', message: expect.stringMatching(message) }),
    );
  },
);

test('a tenant reaches a trusted origin only if its host is listed for that tenant', async () => {
  const api = await openApi(json);
  const hostsByTenant = { local: ['api.example.com'] };
  expect(await api.call({}, { hostsByTenant })).toEqual({ error: 'Only HTTPS URLs allowed' });
  expect(api.heard).toEqual([]);
  expect(
    await api.call({}, { hosts: ['api.example.com'], hostsByTenant: { local: ['127.0.0.1'] } }),
  ).toMatchObject({
    status_code: 200,
  });
});
