import { expect, test } from 'vitest';
import type { AvailableTool } from '../agent.ts';
import { toMessagesRequest } from './anthropic-messages.ts';
import { createToolBlock, type ToolBlock } from './tool-block.ts';

function tool(name: string, changes: Partial<AvailableTool> = {}): AvailableTool {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: { city: { type: 'string' }, unit: { type: 'string' } } },
    from: { source: 'one', name },
    isTrusted: true,
    ...changes,
  };
}

const plain = { features: { deferral: false } } as const;

function names(block: ToolBlock, tools: readonly AvailableTool[]): string[] {
  return block.view(tools).tools.map(({ name, isDeferred }) => (isDeferred ? `${name}?` : name));
}

function text(block: ToolBlock, tools: readonly AvailableTool[]): string {
  return JSON.stringify(block.view(tools).tools);
}

test('the same tools give the same bytes, in any order of tools and keys', () => {
  const block = createToolBlock(plain);
  const [a, b, c] = [tool('a'), tool('b'), tool('c')];
  const first = text(block, [c, a, b]);
  const { inputSchema, ...rest } = b;
  const reordered = {
    ...rest,
    inputSchema: { properties: { unit: { type: 'string' }, city: { type: 'string' } }, type: 'object' },
  } as AvailableTool;
  expect(text(block, [reordered, c, a])).toBe(first);
  expect(text(createToolBlock(plain), [a, b, c])).toBe(first);
  expect(inputSchema).toBeDefined();
});

test('new tools are added at the end, removed ones are left out, and one that returns has its old place', () => {
  const block = createToolBlock(plain);
  const [a, b, c, d] = [tool('a'), tool('b'), tool('c'), tool('d')];
  expect(names(block, [b, d])).toEqual(['b', 'd']);
  expect(names(block, [a, b, c, d])).toEqual(['b', 'd', 'a', 'c']);
  const before = text(block, [a, b, c, d]);
  expect(names(block, [a, c])).toEqual(['a', 'c']);
  expect(text(block, [d, c, b, a])).toBe(before);
});

test('a changed definition is sent at the same place', () => {
  const block = createToolBlock(plain);
  block.view([tool('a'), tool('b')]);
  expect(block.view([tool('a', { description: 'New.' }), tool('b')]).tools[0]).toMatchObject({
    description: 'New.',
  });
});

const many = Array.from({ length: 50 }, (_none, index) =>
  tool(`tool_${String(index).padStart(2, '0')}`, {
    description: index === 7 ? 'Tells the weather.' : 'Does it.',
  }),
);

test('above the threshold definitions are held back, and their names are sent in a message', () => {
  const block = createToolBlock({ ...plain, maxTokens: 500 });
  const first = block.view(many);
  expect(first.tools.map(({ name }) => name)).toEqual(['search_tools']);
  expect(first.notice).toContain('tool_07');
  expect(first.tokens).toBeLessThan(200);
  expect(first.deferredTokens).toBeGreaterThan(1_000);
  expect(block.view(many).notice).toBeUndefined();
  expect(JSON.stringify(block.find({ query: 'weather forecast' }).content)).toContain('tool_07');
  expect(names(block, many)).toEqual(['search_tools', 'tool_07']);
  block.find({ names: ['tool_02'] });
  expect(names(block, many)).toEqual(['search_tools', 'tool_07', 'tool_02']);
  expect(block.find({ query: 'zzzzzz' }).isError).toBe(true);
});

test('a tool that was sent stays: only new tools are held back', () => {
  const block = createToolBlock({ ...plain, maxTokens: 500 });
  expect(names(block, many.slice(0, 3))).toEqual(['tool_00', 'tool_01', 'tool_02']);
  expect(names(block, many)).toEqual(['search_tools', 'tool_00', 'tool_01', 'tool_02']);
});

test('an endpoint that defers definitions itself gets all of them, marked', () => {
  const block = createToolBlock({ features: { deferral: true }, maxTokens: 500 });
  const { tools } = block.view(many);
  expect(tools).toHaveLength(50);
  const request = { instructions: '', messages: [], tools, parallel: true };
  const sent = toMessagesRequest(request, { name: 'claude-sonnet-4-5' }).tools!;
  expect(sent[0]).toEqual({ type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' });
  expect(sent.slice(1).every((one) => 'defer_loading' in one && one.defer_loading)).toBe(true);
});

test('the `load` setting of a server decides, and only a trusted server may ask to be always loaded', () => {
  const always = { _meta: { 'anthropic/alwaysLoad': true } };
  const tools = [
    tool('asked', always),
    tool('doubted', { ...always, isTrusted: false }),
    tool('held', { from: { source: 'later', name: 'held' } }),
    tool('shown', { from: { source: 'now', name: 'shown' } }),
    tool('usual'),
  ];
  const servers = { later: { load: 'defer' }, now: { load: 'always' }, one: { load: 'auto' } } as const;
  expect(names(createToolBlock({ ...plain, servers, maxTokens: 1 }), tools)).toEqual([
    'search_tools',
    'asked',
    'shown',
  ]);
  expect(names(createToolBlock({ ...plain, servers }), tools)).toEqual([
    'search_tools',
    'asked',
    'doubted',
    'shown',
    'usual',
  ]);
});

test('a tool of a server cannot replace a tool of the host', () => {
  const block = createToolBlock({ ...plain, maxTokens: 1 });
  const shown = block.view([
    tool('search_tools', { from: { source: undefined, name: 'search_tools' } }),
    tool('b'),
  ]).tools;
  expect(shown).toMatchObject([
    { name: 'search_tools', description: expect.stringContaining('Finds tools') as string },
  ]);
});
