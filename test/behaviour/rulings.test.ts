import { expect, test } from 'vitest';
import { z } from 'zod';
import { content, defineTool, ToolRegistry } from '../../src/index.ts';
import { describeMatrix } from './matrix.ts';
import { describeWeb, legacyPost, modernPost } from './web.ts';

const search = defineTool(
  {
    name: 'search',
    description: 'Searches.',
    input: z.object({ query: z.string(), limit: z.number().int().min(1).max(100).default(10) }),
  },
  ({ query, limit }) => `${limit} of ${query}`,
);
const returning = (value: unknown) =>
  defineTool({ name: 'answer', description: 'Returns what the test says.' }, () => value);

describeMatrix(({ links, connect }) => {
  test('C1 an unknown tool is error -32602 with its name, and a reason for programs', async () => {
    const peer = await connect({ tools: [search] });
    expect(await peer.error('tools/call', { name: 'serach' })).toEqual({
      code: -32602,
      message: 'Unknown tool: serach',
      data: { reason: 'tool_not_found' },
    });
  });

  test('C2 a link to a resource is a resource_link, or text where the revision has none', async () => {
    const link = content.resourceLink({ uri: 'file:///a.md', name: 'a.md' });
    const peer = await connect({ tools: [returning(link)] });
    expect((await peer.call('answer')).content).toEqual([
      links
        ? { type: 'resource_link', uri: 'file:///a.md', name: 'a.md' }
        : { type: 'text', text: '[a.md](file:///a.md)' },
    ]);
  });

  test.each([
    ['{ error }', { error: 'No such table' }, true],
    ['{ success: false }', { success: false }, true],
    ['{ error: null }, which is none', { error: null, rows: [] }, false],
    ['{ success: true }', { success: true }, false],
  ])('C5 a handler may fail with %s', async (_what, value, isError) => {
    const peer = await connect({ tools: [returning(value)] });
    const result = await peer.call('answer');
    expect(result.isError).toBe(isError);
    expect(JSON.parse(result.content[0]!.text)).toEqual(value);
  });

  test('C6 arguments that break the schema are a result that names field and rule; malformed params are a protocol error', async () => {
    const peer = await connect({ tools: [search] });
    const result = await peer.call('search', { limit: 'ten' });
    expect(result.isError).toBe(true);
    expect(result.content[0]!.text).toMatch(/^Invalid arguments for search: /);
    expect(result.content[0]!.text).toMatch(/query: /);
    expect(result.content[0]!.text).toMatch(/limit: /);
    for (const params of [{ name: 'search', arguments: 'all' }, { name: 7 }, {}])
      expect(await peer.error('tools/call', params)).toMatchObject({ code: -32602 });
  });

  test.each([0, 101, 1e9])('C7 a limit of %d is refused, not changed into range', async (limit) => {
    const peer = await connect({ tools: [search] });
    const result = await peer.call('search', { query: 'chalk', limit });
    expect(result.isError).toBe(true);
    expect(result.content[0]!.text).toMatch(/limit: .*(1|100)/);
  });

  test('C9 a name of 128 characters can be listed and called, where the registry allows it', async () => {
    const name = 'n'.repeat(128);
    const source = new ToolRegistry({ maxNameLength: 128 }).registerTool({ ...search, name });
    const peer = await connect({ source });
    expect((await peer.list()).tools).toMatchObject([{ name }]);
    expect((await peer.call(name, { query: 'a' })).content[0]!.text).toBe('10 of a');
  });
});

test.each([undefined, '', '   '])('C3 a tool without a description is refused: %j', (description) => {
  expect(() => new ToolRegistry().registerTool({ ...search, description } as never)).toThrow(
    expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining('description') }),
  );
});

test('C9 a name may have 64 characters unless the registry allows more, and only characters of the protocol', () => {
  const registry = new ToolRegistry();
  const named = (length: number) => ({ ...search, name: 'n'.repeat(length) });
  registry.registerTool(named(64));
  expect(() => registry.registerTool(named(65))).toThrow(expect.objectContaining({ code: 'invalid_tool' }));
  const roomy = new ToolRegistry({ maxNameLength: 128 }).registerTool(named(128));
  expect(() => roomy.registerTool(named(129))).toThrow(expect.objectContaining({ code: 'invalid_tool' }));
  for (const name of ['a/b', 'a b', 'ä', 'a:b', ''])
    expect(() => roomy.registerTool({ ...search, name })).toThrow(
      expect.objectContaining({ code: 'invalid_tool' }),
    );
});

describeWeb((open) => {
  test('C8 a result is the response to its request, with a session or without', async () => {
    const site = await open({ tools: [search] });
    const handshake = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    const opened = await site.send(legacyPost('initialize', handshake));
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
    const call = { name: 'search', arguments: { query: 'chalk' } };
    for (const request of [
      modernPost('tools/call', call),
      legacyPost('tools/call', call),
      legacyPost('tools/call', call, session),
    ]) {
      const response = await site.send(request);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toMatchObject({ result: { content: [{ text: '10 of chalk' }] } });
    }
  });
});
