import { expect, test } from 'vitest';
import { createServer, ToolNotFound } from '../../index.ts';
import { createTestClient } from '../../testing.ts';
import { makeUp, open, said, standard, type Got, type MadeUp } from '../../../test/client/peers.ts';

const plain = { name: 'query', description: 'Asks.', inputSchema: { type: 'object', properties: {} } };
const withHeader = {
  ...plain,
  inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
};

/** A server whose tool wants a header from the second listing on, and refuses calls without it. */
function changing(accept: (got: Got) => void = ({ reply }) => reply(said('found'))): Promise<MadeUp> {
  let lists = 0;
  return makeUp((got) => {
    const { method } = got.body;
    if (method === 'tools/list')
      return got.reply({ tools: [lists++ === 0 ? plain : withHeader], ttlMs: 60_000, cacheScope: 'private' });
    if (method !== 'tools/call') return standard(got);
    if (got.request.headers['mcp-param-region'] === 'eu') return accept(got);
    return got.refuse(-32020, 'Header mismatch.', { status: 400 });
  });
}

const LISTED_AGAIN = ['tools/list', 'tools/call', 'tools/list', 'tools/call'];

function callsAndLists(server: MadeUp): string[] {
  return server.methods().filter((method) => method.startsWith('tools/'));
}

test('a call whose headers the server wants otherwise is made again with the definition of now', async () => {
  const server = await changing();
  const client = await open(server.url);
  await client.listTools();
  expect(await client.callTool('query', { region: 'eu' }).text()).toBe('found');
  expect(callsAndLists(server)).toEqual(LISTED_AGAIN);
  expect(await client.callTool('query', { region: 'eu' }).text()).toBe('found');
  expect(callsAndLists(server)).toEqual([...LISTED_AGAIN, 'tools/call']);
});

test('a passed on call whose headers the server wants otherwise is made again with the definition of now', async () => {
  const server = await changing();
  const client = await open(server.url);
  await client.listTools();
  const near = createTestClient(createServer({ source: client }));
  expect((await near.callTool('query', { region: 'eu' })).text).toBe('found');
  expect(callsAndLists(server)).toEqual(LISTED_AGAIN);
});

test('a server that refuses the headers of its own definition is asked twice, not for ever', async () => {
  const server = await changing((got) => got.refuse(-32020, 'Header mismatch.', { status: 400 }));
  const client = await open(server.url);
  await client.listTools();
  await expect(client.callTool('query', { region: 'eu' })).rejects.toMatchObject({ number: -32020 });
  expect(callsAndLists(server)).toEqual(LISTED_AGAIN);
});

test('what fails with the new headers is the same error as any other call has', async () => {
  const server = await changing((got) => got.refuse(-32602, 'Unknown tool: query'));
  const client = await open(server.url);
  await client.listTools();
  await expect(client.callTool('query', { region: 'eu' })).rejects.toBeInstanceOf(ToolNotFound);
});
