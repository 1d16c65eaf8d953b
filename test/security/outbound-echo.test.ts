import { expect, test } from 'vitest';
import { ToolRegistry } from '../../src/core/registry.ts';
import { fetchApiDataTool, toolsFromOpenApi } from '../../src/tools.ts';
import { openApi, type LocalApi, type Seen } from '../openapi-api.ts';
import type { ServerResponse } from 'node:http';

const TOKEN = 'tok-ABCDEFGHIJKLMNOP';
const MAX_BYTES = 1_024;

const document = {
  openapi: '3.0.0',
  info: { title: 'Echo' },
  paths: {
    '/echo': {
      get: {
        operationId: 'echo',
        parameters: [{ name: 'pad', in: 'query', schema: { type: 'integer' } }],
        responses: { 200: { description: 'What was sent.' } },
      },
    },
  },
};

function registryOf({ url }: LocalApi, token = TOKEN): ToolRegistry {
  const openApiTools = toolsFromOpenApi(document, {
    server: url,
    trustServer: true,
    credential: { bearer: token },
    maxBytes: MAX_BYTES,
  });
  const fetchTool = fetchApiDataTool({
    hosts: ['127.0.0.1'],
    trustedOrigins: [url],
    headers: { Authorization: `Bearer ${token}` },
    maxBytes: MAX_BYTES,
  });
  return new ToolRegistry().registerTool(...openApiTools, fetchTool);
}

const asText = (type: string, body: (seen: Seen) => string) => (response: ServerResponse, seen: Seen) =>
  void response.writeHead(200, { 'content-type': type }).end(body(seen));

const padOf = ({ url }: Seen): number => Number(new URL(url, 'http://a').searchParams.get('pad'));

// Both tools answer with text that begins with the letters x.
async function endsOf(registry: ToolRegistry, url: string, pad: number): Promise<string[]> {
  const answers = [
    (await registry.execute('echo', { pad })) as { content: { text: string }[] },
    (await registry.execute('fetch_api_data', { url: `${url}/echo?pad=${pad}` })) as { response: string },
  ];
  return answers.map((answer) => {
    const text = 'response' in answer ? answer.response : answer.content[0]!.text;
    return text.slice(pad);
  });
}

const CUT_MARKS = [
  '\n[Cut here: the answer is longer than 1024 bytes.]',
  '\n[Truncated: only the first 1024 bytes are here.]',
];

test('D4 a response that is cut inside the credential shows no part of it', async () => {
  const api = await openApi(
    asText(
      'text/plain',
      (seen) => 'x'.repeat(padOf(seen)) + seen.headers.authorization!.slice(7) + 'y'.repeat(100),
    ),
  );
  const registry = registryOf(api);
  for (let shown = 1; shown < TOKEN.length; shown++)
    expect(await endsOf(registry, api.url, MAX_BYTES - shown)).toEqual(CUT_MARKS);
  const whole = await endsOf(registry, api.url, MAX_BYTES - TOKEN.length);
  expect(whole).toEqual(CUT_MARKS.map((mark) => `[hidden]${mark}`));
  // Control: looked for after the cut and as a whole, most of it is left.
  const pad = MAX_BYTES - TOKEN.length + 1;
  const raw = await fetch(`${api.url}/echo?pad=${pad}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const naive = (await raw.text()).slice(0, MAX_BYTES).replaceAll(TOKEN, '[hidden]');
  expect(naive).toContain(TOKEN.slice(0, -1));
});

test('D4 a response that is cut inside the credential in base64 shows no part of it', async () => {
  const encoded = Buffer.from(`Bearer ${TOKEN}`).toString('base64');
  const api = await openApi(
    asText(
      'text/plain',
      (seen) =>
        'x'.repeat(padOf(seen)) +
        Buffer.from(seen.headers.authorization!).toString('base64') +
        'y'.repeat(100),
    ),
  );
  const registry = registryOf(api);
  // Ten letters say "Bearer " and the first bits of the token.
  for (let shown = 12; shown < encoded.length; shown += 3)
    for (const end of await endsOf(registry, api.url, MAX_BYTES - shown))
      expect(end).not.toContain(encoded.slice(9, 12));
});

test('D4 a credential that comes back as a number or in another spelling is hidden', async () => {
  const token = '12345678901';
  const api = await openApi((response, { headers }) => {
    const given = headers.authorization!.slice(7);
    const value = {
      number: Number(given),
      [given]: [Number(given)],
      other: 5,
      hex: Buffer.from(given).toString('hex'),
      base64: Buffer.from(headers.authorization!).toString('base64'),
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  });
  const registry = registryOf(api, token);
  const answers = [
    await registry.execute('echo', {}),
    await registry.execute('fetch_api_data', { url: `${api.url}/echo` }),
  ];
  const texts = JSON.stringify(answers);
  const spellings = [token, Buffer.from(token).toString('hex'), 'EyMzQ1Njc4OTAx', 'xMjM0NTY3ODkw'];
  for (const spelling of spellings) expect(texts).not.toContain(spelling);
  expect(answers[0]).toMatchObject({
    structuredContent: { number: '[hidden]', '[hidden]': ['[hidden]'], other: 5, hex: '[hidden]' },
  });
  // Control: the API does send all of them.
  const raw = await fetch(`${api.url}/echo`, { headers: { authorization: `Bearer ${token}` } });
  const said = await raw.text();
  expect(spellings.filter((spelling) => said.includes(spelling)).length).toBeGreaterThan(2);
});

test('D4 a credential in the content type of a response is hidden', async () => {
  const api = await openApi(
    asText(`application/${TOKEN}; a="${'x'.repeat(158)} ${TOKEN}"`, () => 'some bytes'),
  );
  const registry = registryOf(api);
  const answers = [
    await registry.execute('echo', {}),
    await registry.execute('fetch_api_data', { url: `${api.url}/echo` }),
  ];
  expect(answers[0]).toMatchObject({ content: [{ text: expect.stringContaining('bytes') }] });
  expect(answers[1]).toMatchObject({ content_type: expect.stringMatching(/^application\/\[hidden\]; a=/) });
  expect(JSON.stringify(answers)).not.toMatch(/tok-/i);
});
