import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openCrib, type Crib } from '../gateway.ts';

const page = {
  object: 'page',
  id: 'p1',
  url: 'https://www.notion.so/p1',
  created_time: '2026-01-01T00:00:00.000Z',
  last_edited_time: '2026-01-02T00:00:00.000Z',
  properties: { Name: { type: 'title', title: [{ plain_text: 'Plans' }] } },
};
const weather = {
  name: 'Berlin',
  sys: { country: 'DE' },
  main: { temp: 3, feels_like: 1, humidity: 80 },
  weather: [{ description: 'fog' }],
};

async function openApis(): Promise<{ readonly crib: Crib; readonly seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://apis.example');
    seen.push(`${request.method} ${pathname}`);
    const answer = pathname === '/weather' ? weather : pathname === '/search' ? { results: [page] } : page;
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const crib = await openCrib({
    config: {
      tools: {
        ready: {
          notion: { token: '${NOTION_TOKEN}', baseUrl },
          get_weather: { apiKey: 'weather-key', baseUrl },
          get_time: {},
        },
      },
    },
    env: { NOTION_TOKEN: 'notion-token' },
  });
  return { crib, seen };
}

test('the API tools are switched on by name, and answer through a gateway (000-23, 001-19, 001-24)', async () => {
  const { crib, seen } = await openApis();
  const peer = await crib.connect('ada');
  expect((await peer.list()).tools.map(({ name }) => name)).toEqual([
    'delete_page',
    'get_page',
    'get_time',
    'get_weather',
    'search_pages',
  ]);
  expect((await peer.call('search_pages', { query: 'plans' })).structuredContent).toEqual({
    results: [{ id: 'p1', title: 'Plans', url: 'https://www.notion.so/p1' }],
  });
  expect((await peer.call('get_weather', { location: 'Berlin' })).structuredContent).toMatchObject({
    description: 'fog',
  });
  expect((await peer.call('get_time')).structuredContent).toMatchObject({ timezone: 'UTC' });
  const failed = await peer.call('get_time', { timezone: 'Mars' });
  expect([failed.isError, JSON.parse(failed.content[0]!.text)]).toEqual([
    true,
    { error: 'Invalid timezone', timezone: 'Mars' },
  ]);
  const short = await peer.call('search_pages', { query: 'a' });
  expect([short.isError, short.content[0]!.text]).toEqual([
    true,
    expect.stringContaining('Query must be at least 2 characters'),
  ]);
  expect(seen).toEqual(['POST /search', 'GET /weather']);
});

test('delete_page asks for confirmation without any stage, and an unconfirmed call has no intent row (000-33, 000-34)', async () => {
  const { crib, seen } = await openApis();
  const peer = await crib.connect('ada');
  const asked = await peer.call('delete_page', { pageId: 'p1' });
  expect(asked.structuredContent).toMatchObject({
    status: 'confirmation_required',
    message: expect.stringMatching(/^Please confirm deletion by calling with confirmed=true\./) as string,
  });
  expect(seen).toEqual([]);
  const done = await peer.call('delete_page', { pageId: 'p1', confirmed: true });
  expect(done.structuredContent).toEqual({ status: 'deleted', pageId: 'p1' });
  expect(seen).toEqual(['PATCH /pages/p1']);
  expect(crib.rowsOf('delete_page')).toMatchObject([
    { kind: 'call', decision: 'refused', outcome: 'approval_required' },
    { kind: 'intent', approval: 'argument' },
    { kind: 'outcome', outcome: 'done' },
  ]);
});

test('an invalid setting is refused when the configuration is read, and is not repeated in the message', async () => {
  const ready = { notion: { token: 'canary words' } };
  const opening = openCrib({ config: { tools: { ready } } });
  await expect(opening).rejects.toMatchObject({
    code: 'invalid_config',
    message: expect.stringMatching(/^(?![^]*canary)[^]*Give the token alone/) as string,
  });
});
