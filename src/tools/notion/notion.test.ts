import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { toResult } from '../../core/result.ts';
import { validatorOf } from '../../schema/validator.ts';
import { NotionClient, NotionError, type NotionSettings } from './client.ts';
import { notionTools } from './notion.ts';

const token = 'secret_canary_4711';

interface Seen {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown> | undefined;
}

type Answer = (seen: Seen, response: ServerResponse) => void;

interface FakeNotion {
  readonly baseUrl: string;
  readonly seen: readonly Seen[];
  readonly registry: ToolRegistry;
}

function pageOf(id: string, title = `Page ${id}`): Record<string, unknown> {
  return {
    object: 'page',
    id,
    url: `https://www.notion.so/${id}`,
    created_time: '2026-01-01T00:00:00.000Z',
    last_edited_time: '2026-01-02T00:00:00.000Z',
    properties: { Name: { id: 'title', type: 'title', title: [{ plain_text: title }] } },
  };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

// A fresh workspace of the given pages that refuses what the real API refuses.
function workspace(pages: readonly string[], perPage = 100): Answer {
  return ({ method, path = '', headers, body = {} }, response) => {
    const fail = (status: number, code: string): void =>
      reply(response, status, {
        object: 'error',
        status,
        code,
        message: `refused ${String(headers.authorization)}`,
      });
    if (headers.authorization !== `Bearer ${token}`) return fail(401, 'unauthorized');
    if (headers['notion-version'] === undefined) return fail(400, 'missing_version');
    if (method === 'POST' && path === '/v1/search') {
      const size = Number(body['page_size']);
      if (!(size >= 1 && size <= 100)) return fail(400, 'validation_error');
      const start = Number(body['start_cursor'] ?? 0);
      const end = start + Math.min(size, perPage);
      const more = end < pages.length;
      return reply(response, 200, {
        object: 'list',
        results: pages.slice(start, end).map((id) => pageOf(id)),
        has_more: more,
        next_cursor: more ? String(end) : null,
      });
    }
    const id = /^\/v1\/pages\/([\w-]+)$/.exec(path)?.[1] ?? '';
    if (!pages.includes(id)) return fail(404, 'object_not_found');
    if (method === 'GET') return reply(response, 200, pageOf(id));
    if (method === 'PATCH' && body['in_trash'] === true)
      return reply(response, 200, { ...pageOf(id), in_trash: true });
    return fail(400, 'validation_error');
  };
}

async function open(answer: Answer, settings: Partial<NotionSettings> = {}): Promise<FakeNotion> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      const body = sent === '' ? undefined : (JSON.parse(sent) as Record<string, unknown>);
      const one = { method: request.method, path: request.url, headers: request.headers, body };
      seen.push(one);
      answer(one, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const registry = new ToolRegistry().registerTool(...notionTools({ token, baseUrl, ...settings }));
  return { baseUrl, seen, registry };
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `page-${index}`);

test('search_pages sends query and page_size and returns the id, title and url of each page (000-23)', async () => {
  const { registry, seen } = await open(workspace(['a', 'b']));
  expect(await registry.execute('search_pages', { query: 'plans' })).toEqual({
    results: [
      { id: 'a', title: 'Page a', url: 'https://www.notion.so/a' },
      { id: 'b', title: 'Page b', url: 'https://www.notion.so/b' },
    ],
  });
  expect(seen).toMatchObject([
    {
      method: 'POST',
      path: '/v1/search',
      headers: {
        authorization: `Bearer ${token}`,
        'notion-version': '2022-06-28',
        'content-type': 'application/json',
      },
      body: { query: 'plans', page_size: 10 },
    },
  ]);
});

test('the tools declare their input, output and hints (000-23)', async () => {
  const { registry } = await open(workspace([]));
  const { tools } = registry.getToolsList();
  expect(tools.map(({ name }) => name)).toEqual(['delete_page', 'get_page', 'search_pages']);
  for (const tool of tools) {
    expect(tool.outputSchema).toMatchObject({ type: 'object' });
    expect(tool.description).toMatch(/Returns .* Use it /);
    expect(Object.keys(tool.annotations ?? {})).toHaveLength(4);
    for (const property of Object.values(tool.inputSchema.properties!))
      expect(property).toHaveProperty('description');
    expect(tool.inputSchema).toHaveProperty('additionalProperties', false);
  }
  expect(tools.map(({ annotations }) => annotations?.destructiveHint)).toEqual([true, false, false]);
  expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([false, true, true]);
});

test.each([
  [25, 10, 1],
  [25, 100, 3],
  [8, 10, 1],
])(
  'of %i pages in responses of ten, %i are collected with %i requests (000-23)',
  async (count, limit, rounds) => {
    const { registry, seen } = await open(workspace(ids(count), 10));
    const answer = (await registry.execute('search_pages', { query: 'page', limit })) as {
      results: unknown[];
    };
    expect(answer.results).toHaveLength(Math.min(count, limit));
    expect(seen).toHaveLength(rounds);
  },
);

test('a search with a cursor continues there, and requests no more than needed (000-23)', async () => {
  const { registry, seen } = await open(workspace(ids(40), 10));
  await registry.execute('search_pages', { query: 'page', limit: 25 });
  expect(seen.map(({ body }) => [body?.['page_size'], body?.['start_cursor']])).toEqual([
    [25, undefined],
    [15, '10'],
    [5, '20'],
  ]);
});

test('an API that returns empty pages endlessly gets a few requests only (000-23)', async () => {
  const { registry, seen } = await open((_seen, response) =>
    reply(response, 200, { results: [], has_more: true, next_cursor: 'again' }),
  );
  expect(await registry.execute('search_pages', { query: 'page' })).toEqual({ results: [] });
  expect(seen.length).toBeLessThan(50);
});

test('a query shorter than 2 characters is refused before a request is sent (000-28)', async () => {
  const { registry, seen } = await open(workspace([]));
  await expect(registry.execute('search_pages', { query: 'a' })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('Query must be at least 2 characters') as string,
  });
  expect(seen).toEqual([]);
});

test.each([
  [0, 1],
  [-5, 1],
  [500, 100],
])('a limit of %i counts as %i (000-29)', async (limit, size) => {
  const { registry, seen } = await open(workspace([]));
  await registry.execute('search_pages', { query: 'plans', limit });
  expect(seen[0]?.body).toMatchObject({ page_size: size });
});

test('get_page returns the text of the page on request, from all pages of blocks', async () => {
  const block = (type: string, ...texts: string[]): object => ({
    object: 'block',
    type,
    [type]: { rich_text: texts.map((plain) => ({ plain_text: plain })) },
  });
  const parts = [
    { results: [block('heading_1', 'Plans'), { type: 'image', image: {} }], next_cursor: 'two' },
    {
      results: [block('paragraph', 'Build ', 'it.'), block('bulleted_list_item', 'soon')],
      next_cursor: null,
    },
  ];
  const { registry, seen } = await open((one, response) => {
    if (!one.path?.startsWith('/v1/blocks/a/children?page_size=100')) return workspace(['a'])(one, response);
    return reply(response, 200, parts[one.path.endsWith('&start_cursor=two') ? 1 : 0]);
  });
  expect(await registry.execute('get_page', { pageId: 'a', include_text: true })).toMatchObject({
    title: 'Page a',
    text: '# Plans\nBuild it.\n- soon',
    text_is_whole: true,
  });
  expect(seen).toHaveLength(3);
});

test('endless text is cut, and the result says so', async () => {
  const { registry } = await open((one, response) =>
    one.path?.includes('/children')
      ? reply(response, 200, { results: [], next_cursor: 'again' })
      : workspace(['a'])(one, response),
  );
  expect(await registry.execute('get_page', { pageId: 'a', include_text: true })).toMatchObject({
    text: '',
    text_is_whole: false,
  });
});

test('get_page returns id, title, properties and both times (000-25)', async () => {
  const { registry } = await open(workspace(['a']));
  expect(await registry.execute('get_page', { pageId: 'a' })).toEqual({
    id: 'a',
    title: 'Page a',
    properties: { Name: { id: 'title', type: 'title', title: [{ plain_text: 'Page a' }] } },
    created_time: '2026-01-01T00:00:00.000Z',
    last_edited_time: '2026-01-02T00:00:00.000Z',
  });
});

test('delete_page is marked as destructive, and needs a confirmation even without stages (000-32, 000-33)', async () => {
  const { registry, seen } = await open(workspace(['a']));
  const tool = registry.find('delete_page')!;
  expect(tool.description).toMatch(/^Deletes a Notion page.*\. DESTRUCTIVE - requires confirmation\.$/);
  expect(tool.inputSchema.properties!['confirmed']).toMatchObject({ type: 'boolean', default: false });
  expect(await registry.execute('delete_page', { pageId: 'a' })).toEqual({
    status: 'confirmation_required',
    message:
      'Please confirm deletion by calling with confirmed=true. Nothing was done. delete_page would run with {"pageId":"a"}.',
  });
  expect(seen).toEqual([]);
});

test('confirmed, delete_page moves the page to the trash (000-34)', async () => {
  const { registry, seen } = await open(workspace(['a']));
  const answer = await registry.execute('delete_page', { pageId: 'a', confirmed: true });
  expect(answer).toEqual({ status: 'deleted', pageId: 'a' });
  expect(seen).toMatchObject([{ method: 'PATCH', path: '/v1/pages/a', body: { in_trash: true } }]);
  expect(validatorOf(registry.find('delete_page')!.outputSchema!)(answer)).toHaveProperty('value');
});

const failures = {
  'a page that is not there': { status: 404, code: 'object_not_found', words: /no such page.*search_pages/ },
  'arguments it cannot use': { status: 400, code: 'validation_error', words: /Check the page id/ },
  'a token it does not know': { status: 401, code: 'unauthorized', words: /does not accept the token/ },
  'no permission': { status: 403, code: 'restricted_resource', words: /may not do this/ },
  'a conflict': { status: 409, code: 'conflict_error', words: /at the same time\. Try again/ },
  'too much': {
    status: 429,
    code: 'rate_limited',
    words: /^API rate limit exceeded\. Try again after 12 seconds\.$/,
  },
  'an outage': {
    status: 503,
    code: 'service_unavailable',
    words: /^API is not available now\. Try again after 12 seconds\.$/,
  },
  'something new': { status: 418, code: 'failed', words: /Try another way/ },
  'a redirect elsewhere': { status: 302, code: 'unreachable', words: /could not be reached/ },
};

test.each(Object.entries(failures))(
  '%s is a failure that a model can act on (000-30, 000-31, 004-15)',
  async (_what, { status, code, words }) => {
    const { registry } = await open(({ headers }, response) => {
      response.setHeader('retry-after', '12').setHeader('location', 'http://127.0.0.1:9/v1');
      reply(response, status, { message: `you sent ${String(headers.authorization)}` });
    });
    for (const [name, args] of [
      ['get_page', { pageId: 'a' }],
      ['search_pages', { query: 'plans' }],
      ['delete_page', { pageId: 'a', confirmed: true }],
    ] as const) {
      const answer = await registry.execute(name, args);
      expect(answer).toEqual({ success: false, error: expect.stringMatching(words) as string, code });
      expect(toResult(answer)).toMatchObject({ kind: 'failed' });
      expect(JSON.stringify(answer)).not.toContain(token);
    }
  },
);

test.each(['', 'no JSON', '[]', '{"results":5}', '{}', 'null'])(
  'a malformed response is reported as such: %j',
  async (body) => {
    const { registry } = await open((_seen, response) => reply(response, 200, body));
    for (const [name, args] of [
      ['get_page', { pageId: 'a' }],
      ['search_pages', { query: 'plans' }],
    ] as const)
      expect(await registry.execute(name, args)).toMatchObject({ success: false, code: 'unreadable' });
  },
);

test('an unreachable API is reported as unavailable, without its address', async () => {
  const registry = new ToolRegistry().registerTool(
    ...notionTools({ token, baseUrl: 'http://127.0.0.1:1/v1' }),
  );
  const answer = await registry.execute('get_page', { pageId: 'a' });
  expect(answer).toMatchObject({ success: false, code: 'unreachable' });
  expect(JSON.stringify(answer)).not.toMatch(/127\.0\.0\.1|ECONN|secret/);
});

test('an exception of a custom fetch is not shown to the model (000-31)', async () => {
  const tools = notionTools({
    token,
    fetch: () => Promise.reject(new TypeError(`fetch failed: Bearer ${token}`)),
  });
  const answer = await new ToolRegistry().registerTool(...tools).execute('get_page', { pageId: 'a' });
  expect(JSON.stringify(answer)).not.toContain(token);
});

test('a cancelled call aborts its request at once', async () => {
  const events = new EventEmitter();
  const [asked, left] = [once(events, 'asked'), once(events, 'left')];
  const { registry } = await open((_seen, response) => {
    response.once('close', () => events.emit('left'));
    events.emit('asked');
  });
  const stop = new AbortController();
  const ended = registry.execute('get_page', { pageId: 'a' }, { signal: stop.signal });
  await asked;
  stop.abort(new Error('Stopped by the test.'));
  await expect(ended).rejects.toThrow('Stopped by the test.');
  await left;
});

const HOSTILE_IDS = [
  '..',
  '../users',
  'a/../../users',
  'a?x=1',
  'a#b',
  '%2e%2e',
  'a\\b',
  '',
  'ä',
  'a'.repeat(65),
];

test.each(HOSTILE_IDS)('the id %j is refused before a request is sent', async (pageId) => {
  const { registry, seen, baseUrl } = await open(workspace(['a']));
  await expect(registry.execute('get_page', { pageId })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
  await expect(new NotionClient({ token, baseUrl }).getPage(pageId)).rejects.toBeInstanceOf(NotionError);
  expect(seen).toEqual([]);
});

test('control: put into the URL unchanged, some of these ids would reach other parts of the API', async () => {
  const { seen, baseUrl } = await open(workspace(['a']));
  await fetch(`${baseUrl}/pages/../users`, { headers: { authorization: `Bearer ${token}` } });
  expect(seen[0]?.path).toBe('/v1/users');
});

test('for any id, only pages are requested', async () => {
  const paths: string[] = [];
  const tools = notionTools({
    token,
    fetch: async (url) => {
      paths.push(new URL(url).href);
      return Response.json(pageOf('a'));
    },
  });
  const registry = new ToolRegistry().registerTool(...tools);
  const id = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.webPath(), fc.uuid());
  await fc.assert(
    fc.asyncProperty(id, async (pageId) => {
      await registry.execute('get_page', { pageId }).catch(() => {});
    }),
    { numRuns: propertyRuns(1_000, 500) },
  );
  expect(paths.length).toBeGreaterThan(propertyRuns() / 10);
  for (const path of paths) expect(path).toMatch(/^https:\/\/api\.notion\.com\/v1\/pages\/[\w-]+$/);
});

test('the base URL of the API may end with a slash', async () => {
  const { seen, baseUrl } = await open(workspace(['a']));
  const tools = notionTools({ token, baseUrl: `${baseUrl}/` });
  await new ToolRegistry().registerTool(...tools).execute('get_page', { pageId: 'a' });
  expect(seen).toMatchObject([{ path: '/v1/pages/a' }]);
});

test('another version of the API can be configured', async () => {
  const { registry, seen } = await open(workspace(['a']), { version: '2026-03-11' });
  await registry.execute('get_page', { pageId: 'a' });
  expect(seen[0]?.headers).toMatchObject({ 'notion-version': '2026-03-11' });
});

test.each([
  { token: '' },
  { token: 'canary words' },
  { token: 'canary\nline' },
  { token, baseUrl: 'ftp://api.notion.com' },
  { token, version: 'newest' },
  { token, secret: 'x' },
])('invalid settings are refused at once, without repeating them: %j', (settings) => {
  let told = '';
  try {
    notionTools(settings);
  } catch (error) {
    told = String(error);
  }
  expect(told).not.toBe('');
  expect(told).not.toContain('canary');
});

test('the token is in no visible part of the tools', async () => {
  const { registry } = await open(workspace([]));
  expect(
    JSON.stringify([registry.getToolsList(), registry.list(), new NotionClient({ token })]),
  ).not.toContain(token);
});
