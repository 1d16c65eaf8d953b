import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runTypeScript, startNode, type Child } from './behaviour/child.ts';
import { talkInLines } from './behaviour/lines.ts';
import { openPeer } from './behaviour/peer.ts';
import { legacyPost, modernPost, sendTo, type Site } from './behaviour/web.ts';
import { firstFew } from './property-runs.ts';

const folder = join(import.meta.dirname, '../examples');
const start = (name: string): Child =>
  startNode([runTypeScript, join(folder, name)], { PORT: '0', API_KEY: 'open-sesame' });

async function open(name: string): Promise<Site['send']> {
  return sendTo((await start(name).outputUntil('/mcp\n')).trim());
}

test('first-tool.ts serves a tool with checked arguments and results', async () => {
  const send = await open('first-tool.ts');
  for (const post of [modernPost, legacyPost]) {
    expect(await (await send(post('tools/list'))).json()).toMatchObject({
      result: { tools: [{ name: 'roll_dice' }] },
    });
    const call = (args: object) => send(post('tools/call', { name: 'roll_dice', arguments: args }));
    expect(await (await call({ count: 3, sides: 2 })).json()).toMatchObject({
      result: { structuredContent: { rolls: [expect.any(Number), expect.any(Number), expect.any(Number)] } },
    });
    expect(await (await call({ count: 0 })).json()).toMatchObject({ result: { isError: true } });
  }
});

describe.each(firstFew(['express.ts', 'fastify.ts', 'hono.ts'], 1))('%s', (name) => {
  const call = (authorization?: string) => modernPost('tools/call', { name: 'who_am_i' }, { authorization });

  test('serves requests with the key, and refuses all others', async () => {
    const send = await open(name);
    expect(await (await send(call('Bearer open-sesame'))).json()).toMatchObject({
      result: { structuredContent: { id: 'ada' } },
    });
    const old = await send(legacyPost('tools/list', {}, { authorization: 'Bearer open-sesame' }));
    expect(await old.json()).toMatchObject({ result: { tools: [{ name: 'who_am_i' }] } });
    for (const authorization of [undefined, 'Bearer wrong', 'open-sesame']) {
      const response = await send(call(authorization));
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(
        authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"',
      );
    }
    const listing = await send({ method: 'GET', headers: { authorization: 'Bearer open-sesame' } });
    expect({ status: listing.status, allow: listing.headers.get('allow') }).toEqual({
      status: 405,
      allow: 'POST',
    });
  });
});

test('class-tool.ts serves an instance over standard input and output', async () => {
  const child = start('class-tool.ts');
  const talk = talkInLines(child.process.stdin, child.process.stdout);
  const peer = await openPeer({ ...talk, close: async () => {} }, { version: '2025-06-18', era: 'legacy' });
  expect((await peer.list()).tools).toMatchObject([
    { name: 'search_notes', annotations: { readOnlyHint: true, openWorldHint: false } },
  ]);
  expect((await peer.call('search_notes', { query: 'crib', limit: 1 })).structuredContent).toEqual({
    notes: ['Call Ada about the crib'],
  });
  expect(await peer.call('search_notes', { query: 'bread' })).toMatchObject({ isError: true });
  expect(await peer.call('search_notes', { query: '' })).toMatchObject({ isError: true });
  child.process.stdin.end();
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('client.ts lists tools, calls them and gets error messages', async () => {
  const child = start('client.ts');
  expect(await child.outputUntil('Invalid arguments')).toContain('{ sum: 3 }');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('agent-discovery.ts connects to the server of an agent, and shows the granted tools (003-26, 003-27, 003-30, 003-31)', async () => {
  const child = start('agent-discovery.ts');
  expect(await child.outputUntil('hidden: drop_table\n')).toBe(
    'database: connected\ncount_slowly, list_tables, query_database\nhidden: drop_table\n',
  );
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('agent-invocation.ts calls tools, and lets a model call them until it has an answer (003-32)', async () => {
  const child = start('agent-invocation.ts');
  const output = await child.outputUntil('2 calls\n');
  expect(output).toContain('{"rows":[{"id":1,"name":"Alice","active":true}],"rowCount":1}');
  expect(output).toContain('database: list_tables\ndatabase: query_database\nThere are two users');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('agent-errors.ts distinguishes kinds of failure, and a model continues after one (003-34)', async () => {
  const child = start('agent-errors.ts');
  const output = await child.outputUntil('Alice and Bob.\n');
  expect(output.split('\n')).toEqual([
    'There is no such tool: query_databases',
    expect.stringMatching(/^Not sent: .*table/),
    "It failed: Table 'customers' not found; list_tables names those there are.",
    'Too slow: count_slowly',
    'Not allowed: drop_table',
    'Alice and Bob.',
    '',
  ]);
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('test-a-tool.ts passes', async () => {
  const child = start('test-a-tool.ts');
  expect(await child.outputUntil(' pass 3')).not.toMatch(/not ok|✖/);
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('queued-delivery.ts gets its result on the stream of its session (001-60)', async () => {
  const child = start('queued-delivery.ts');
  const output = await child.outputUntil('Done.\n');
  expect(output).toContain('{"status":"queued"}');
  expect(output).toContain('Tool result: {"greeting":"Hello!"}');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('tenants.ts shows each organisation only its own data (001-55)', async () => {
  const child = start('tenants.ts');
  const output = await child.outputUntil('South Ltd');
  expect(output).toContain(
    '{"organisation":"North Ltd","invoices":[{"tenant":"north","number":1,"amount":120}]}',
  );
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('notion.ts finds the pages of a workspace', async () => {
  const notion = createHttpServer((request, response) => {
    const page = {
      object: 'page',
      id: 'p1',
      url: 'https://www.notion.so/p1',
      created_time: '2026-01-01T00:00:00.000Z',
      last_edited_time: '2026-01-02T00:00:00.000Z',
      properties: { Name: { id: 'title', type: 'title', title: [{ plain_text: 'Meeting notes' }] } },
    };
    const isKnown = request.headers.authorization === 'Bearer secret_token_for_test';
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ object: 'list', results: isKnown ? [page] : [], has_more: false, next_cursor: null }),
    );
  });
  notion.listen(0, '127.0.0.1');
  await once(notion, 'listening');
  onTestFinished(() => void notion.close());
  const { port } = notion.address() as AddressInfo;
  const child = startNode([runTypeScript, join(folder, 'notion.ts')], {
    PORT: '0',
    NOTION_TOKEN: 'secret_token_for_test',
    NOTION_URL: `http://127.0.0.1:${port}`,
  });
  const send = sendTo((await child.outputUntil('/mcp\n')).trim());
  const params = { name: 'search_pages', arguments: { query: 'meeting' } };
  expect(JSON.stringify(await (await send(modernPost('tools/call', params))).json())).toContain(
    'Meeting notes',
  );
});

test('served-agent.ts calls an agent of a gateway as a tool', async () => {
  const child = start('served-agent.ts');
  expect(await child.outputUntil('42.\n')).toBe(
    'The model is asked.\ncalculate is called.\nThe model is asked.\nTogether that is 42.\n',
  );
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('every example is run by a test', () => {
  const tested = [
    'served-agent.ts',
    'queued-delivery.ts',
    'agent-discovery.ts',
    'agent-invocation.ts',
    'agent-errors.ts',
    'database-server.ts',
    'tenants.ts',
    'notion.ts',
    'first-tool.ts',
    'express.ts',
    'fastify.ts',
    'hono.ts',
    'class-tool.ts',
    'client.ts',
    'test-a-tool.ts',
  ];
  expect(
    readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .toSorted(),
  ).toEqual([...tested, 'bearer-key.ts', 'browser.ts'].toSorted());
});
