import { expect, test } from 'vitest';
import { ToolRegistry } from '../../src/core/registry.ts';
import { createOutboundClient } from '../../src/net/create-outbound-client.ts';
import { fetchApiDataTool, toolsFromOpenApi } from '../../src/tools.ts';
import { openApi, type LocalApi } from '../openapi-api.ts';
import { outcomeOf } from './outbound-world.ts';

const KEY = 'operator-key-123';

function registryOf({ url }: LocalApi, headers: Record<string, string>): ToolRegistry {
  return new ToolRegistry().registerTool(
    fetchApiDataTool({ hosts: ['127.0.0.1'], trustedOrigins: [url], headers }),
  );
}

// How programs behind CGI and its descendants read headers: signs are all one, and the later one wins.
const carelessly = (headers: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_'), value]),
  );

test.each(['X_Api_Key', 'x-api_key', 'X.Api.Key', 'x~api~key', 'X-API-KEY'])(
  'D3 a caller cannot add a header like a fixed one by writing it %s',
  async (name) => {
    const api = await openApi();
    const registry = registryOf(api, { 'X-Api-Key': KEY });
    const answer = await registry.execute('fetch_api_data', { url: api.url, headers: { [name]: 'mine' } });
    expect(answer).toMatchObject({ error: 'Request error' });
    expect(api.seen).toEqual([]);
  },
);

test('D3 control: when both are sent, a careless host reads the one of the caller', async () => {
  const api = await openApi();
  await fetch(api.url, { headers: { 'X-Api-Key': KEY, X_Api_Key: 'mine' } });
  expect(carelessly(api.last().headers)).toMatchObject({ X_API_KEY: 'mine' });
});

test('D3 the refusal of a header name does not reveal whether there is a fixed header like it', async () => {
  const api = await openApi();
  const registry = registryOf(api, { 'X-Api-Key': KEY });
  const answers = await Promise.all(
    ['X_Api_Key', 'X_Other_Key'].map((name) =>
      registry.execute('fetch_api_data', { url: api.url, headers: { [name]: 'mine' } }),
    ),
  );
  expect(answers[0]).toEqual({
    error: 'Request error',
    message: 'A header name contains an invalid character; use only letters, digits and "-".',
  });
  expect(answers[1]).toEqual(answers[0]);
});

test('D3 an operator may fix a header with an unusual name, and no caller can override it', async () => {
  const api = await openApi();
  const registry = registryOf(api, { api_key: KEY });
  const ask = (headers: Record<string, string>): Promise<unknown> =>
    registry.execute('fetch_api_data', { url: api.url, headers });
  expect(await ask({ 'X-Trace': '1' })).toMatchObject({ status_code: 200 });
  expect(api.last().headers).toMatchObject({ api_key: KEY, 'x-trace': '1' });
  expect(await ask({ 'Api-Key': 'mine' })).toMatchObject({
    message: 'The header api-key cannot be set; leave it out.',
  });
  expect(api.seen).toHaveLength(1);
});

test.each([
  'Proxy',
  'X-Original-URL',
  'X-Original-Host',
  'X-Rewrite-URL',
  'True-Client-IP',
  'X-Client-IP',
  'CF-Connecting-IP',
  'X_Forwarded_For',
  'X.Forwarded.For',
  'X_HTTP_Method_Override',
  'Content_Length',
  'Transfer_Encoding',
])('D3 no caller can send the header %s', async (name) => {
  const api = await openApi();
  const client = createOutboundClient({ hosts: [], trustedOrigins: [api.url] });
  const asked = outcomeOf(client.request(api.url, { headers: { [name]: '1' } }));
  expect(await asked).toMatchObject({ reason: 'refused_request' });
  expect(() => registryOf(api, { [name]: '1' })).toThrow(/cannot be set/);
  expect(api.seen).toEqual([]);
});

test('D3 the client refuses a header that is given in two spellings', async () => {
  const api = await openApi();
  const client = createOutboundClient({ hosts: [], trustedOrigins: [api.url] });
  for (const headers of [
    { 'x-a-b': '1', x_a_b: '2' },
    { 'x-a.b': '1', 'x-a-b': '2' },
  ])
    expect(await outcomeOf(client.request(api.url, { headers }))).toMatchObject({
      reason: 'refused_request',
      message: expect.stringContaining('given twice'),
    });
  expect(api.seen).toEqual([]);
});

test('D3 an imported operation does not offer a header that reads like the credential', async () => {
  const api = await openApi();
  const parameters = ['X_Api_Key', 'Author_ization', 'Content_Type', 'X_Forwarded_For', 'x_plain'].map(
    (name) => ({ name, in: 'header', schema: { type: 'string' } }),
  );
  const description = {
    openapi: '3.0.0',
    info: { title: 'Keys' },
    paths: {
      '/keys': { get: { operationId: 'keys', parameters, responses: { 200: { description: 'x' } } } },
    },
  };
  const namesWith = (options: object): string[] => {
    const tools = toolsFromOpenApi(description, { server: api.url, trustServer: true, ...options });
    return Object.keys(tools[0]!.inputSchema.properties!);
  };
  for (const name of ['X-Api-Key', 'x_api_key', 'X.Api.Key'])
    expect(namesWith({ credential: { header: { name, value: KEY } } })).toEqual([
      'Author_ization',
      'x_plain',
    ]);
  // Control: with another credential it is a parameter like any other.
  expect(namesWith({ credential: { bearer: KEY } })).toEqual(['X_Api_Key', 'Author_ization', 'x_plain']);
});
