import { expect, test } from 'vitest';
import { createTestCall, recordingSource } from '../testing.ts';
import { absentTool } from './absent-tool.ts';
import type { ToolCall } from './call.ts';
import { localCaller, type Caller } from './caller.ts';
import { ToolRegistry } from './registry.ts';
import type { Change, ToolSource } from './source.ts';
import { withInnerStages, withStages, type Stage } from './stage.ts';
import type { Tool } from './tool.ts';

const ada: Caller = { ...localCaller, id: 'ada', roles: ['admin'] };
const bob: Caller = { ...localCaller, id: 'bob' };
const open = toolCalled('open');
const secret = toolCalled('secret');

const hideFromOthers: Stage = {
  name: 'hideFromOthers',
  expose: (tool, caller) => (tool.name === 'secret' && !caller.roles.includes('admin') ? null : tool),
};

test('without stages a source behaves as before', async () => {
  const source = recordingSource(open);
  const staged = withStages(source, []);
  expect(staged.list(bob)).toBe(source.list(bob));
  expect(staged.find('open', bob)).toBe(open);
  expect(await staged.call(callOf(open))).toEqual({ kind: 'done', data: { by: 'open' } });
  expect(source.calls).toHaveLength(1);
});

test('a hidden tool is neither listed nor found', async () => {
  const staged = withStages(recordingSource(open, secret), [hideFromOthers]);
  expect(await staged.list(bob)).toEqual([open]);
  expect(await staged.find('secret', bob)).toBeUndefined();
  expect(await staged.list(ada)).toEqual([open, secret]);
  expect(await staged.find('secret', ada)).toBe(secret);
});

test('a tool that does not exist is not found either', async () => {
  const staged = withStages(recordingSource(open), [hideFromOthers]);
  expect(await staged.find('missing', ada)).toBeUndefined();
});

test('a stage may replace a definition, in lists as for calls', async () => {
  const confirm: Stage = {
    name: 'confirm',
    expose: (tool) => ({ ...tool, description: `${tool.description} Asks first.` }),
  };
  const staged = withStages(recordingSource(open), [confirm]);
  const [listed] = await staged.list(bob);
  expect(listed?.description).toBe('Does open. Asks first.');
  expect(await staged.find('open', bob)).toBe(listed);
});

test('each stage sees what the previous one shows, and hidden tools stay hidden', async () => {
  const seen: string[] = [];
  const rename: Stage = { name: 'rename', expose: (tool) => ({ ...tool, title: 'Renamed' }) };
  const watch: Stage = { name: 'watch', expose: (tool) => (seen.push(`${tool.name} ${tool.title}`), tool) };
  await withStages(recordingSource(open, secret), [rename, hideFromOthers, watch]).list(bob);
  expect(seen).toEqual(['open Renamed']);
});

test('each caller gets the same frozen list until the source changes', async () => {
  const registry = new ToolRegistry().registerTool(open, secret);
  const staged = withStages(registry, [hideFromOthers]);
  const before = await staged.list(bob);
  expect(await staged.list(bob)).toBe(before);
  expect(Object.isFrozen(before)).toBe(true);
  expect(await staged.list(ada)).not.toBe(before);
  registry.registerTool(toolCalled('third'));
  expect((await staged.list(bob)).map(({ name }) => name)).toEqual(['open', 'third']);
});

test('a stage filters each tool once for each caller', async () => {
  const asked: string[] = [];
  const count: Stage = { name: 'count', expose: (tool, caller) => (asked.push(caller.id), tool) };
  const staged = withStages(recordingSource(open), [count]);
  await staged.list(bob);
  await staged.list(bob);
  await staged.find('open', bob);
  await staged.list(ada);
  expect(asked).toEqual(['bob', 'ada']);
});

test('the first stage is the outermost', async () => {
  const order: string[] = [];
  const staged = withStages(recordingSource(toolCalled('open', () => order.push('tool'))), [
    logging('first', order),
    logging('second', order),
  ]);
  await staged.call(callOf(await findOpen(staged)));
  expect(order).toEqual(['first in', 'second in', 'tool', 'second out', 'first out']);
});

test('stages wrap a tool once, not at every call', async () => {
  const wrapped: string[] = [];
  const note: Stage = { name: 'note', wrap: (tool, next) => (wrapped.push(tool.name), next) };
  const staged = withStages(recordingSource(open, secret), [note]);
  for (const tool of [open, open, secret, open]) await staged.call(callOf(tool));
  expect(wrapped).toEqual(['open', 'secret']);
});

test('a stage may change the call or answer it itself', async () => {
  const source = recordingSource(toolCalled('open', (args) => args));
  const change: Stage = {
    name: 'change',
    wrap: (_tool, next) => (call) => next({ ...call, arguments: { ...call.arguments, added: true } }),
  };
  const answer: Stage = {
    name: 'answer',
    wrap: (_tool, next) => (call) => (call.arguments['cached'] ? { kind: 'done', data: 'kept' } : next(call)),
  };
  const staged = withStages(source, [answer, change]);
  const tool = await findOpen(staged);
  expect(await staged.call(callOf(tool))).toEqual({ kind: 'done', data: { added: true } });
  expect(await staged.call({ ...callOf(tool), arguments: { cached: true } })).toEqual({
    kind: 'done',
    data: 'kept',
  });
  expect(source.calls).toHaveLength(1);
});

test('changes of the source are announced through the stages', async () => {
  const registry = new ToolRegistry();
  const changes: Change[] = [];
  withStages(registry, [hideFromOthers]).watch?.((change) => changes.push(change));
  registry.registerTool(open);
  await Promise.resolve();
  expect(changes).toEqual([{ kind: 'tools', added: ['open'], removed: [], modified: [] }]);
});

test('a source that cannot be watched cannot be watched through stages either', () => {
  const { watch: _watch, ...still } = recordingSource(open);
  expect(withStages(still, [])).not.toHaveProperty('watch');
});

test('an asynchronous source can have stages', async () => {
  const slow: ToolSource = {
    list: () => Promise.resolve([open, secret]),
    find: (name) => Promise.resolve(name === 'secret' ? secret : undefined),
    call: () => Promise.resolve({ kind: 'done' }),
  };
  const staged = withStages(slow, [hideFromOthers]);
  expect(await staged.list(bob)).toEqual([open]);
  expect(await staged.find('secret', bob)).toBeUndefined();
  expect(await staged.find('secret', ada)).toBe(secret);
});

test.each<[how: string, stage: (source: ToolSource, order: string[]) => ToolSource, outer: string[]]>([
  ['no stages', (source) => source, []],
  [
    'one layer of stages',
    (source, order) => withStages(source, [logging('a', order), logging('b', order)]),
    ['a', 'b'],
  ],
  [
    'two layers',
    (source, order) =>
      withStages(withStages(source, [logging('b', order), logging('c', order)]), [logging('a', order)]),
    ['a', 'b', 'c'],
  ],
  [
    'three layers, one of them empty',
    (source, order) =>
      withStages(withStages(withStages(source, [logging('b', order)]), []), [logging('a', order)]),
    ['a', 'b'],
  ],
])('more stages are added inside those of a source with %s, in their order', async (_how, stage, outer) => {
  const order: string[] = [];
  const source = recordingSource(toolCalled('open', () => order.push('tool')));
  const staged = stage(source, order);
  const inner = withInnerStages(staged, [logging('x', order), logging('y', order)]);
  const names = [...outer, 'x', 'y'];
  await inner.call(callOf(await findOpen(inner)));
  expect(order).toEqual([
    ...names.map((name) => `${name} in`),
    'tool',
    ...names.toReversed().map((name) => `${name} out`),
  ]);
  expect([...inner.stages!].toSorted()).toEqual(names);
  expect(source.calls).toHaveLength(1);
});

test('adding inner stages does not change the original source', async () => {
  const order: string[] = [];
  const staged = withStages(recordingSource(open), [logging('a', order)]);
  withInnerStages(staged, [logging('x', order)]);
  await staged.call(callOf(await findOpen(staged)));
  expect(order).toEqual(['a in', 'a out']);
  expect(staged.stages).toEqual(new Set(['a']));
});

test('inner stages can be added again, each nearer to the tool', async () => {
  const order: string[] = [];
  const outer = withStages(withStages(recordingSource(open), [logging('b', order)]), [logging('a', order)]);
  const twice = withInnerStages(withInnerStages(outer, [logging('c', order)]), [logging('d', order)]);
  await twice.call(callOf(await findOpen(twice)));
  expect(order.slice(0, 4)).toEqual(['a in', 'b in', 'c in', 'd in']);
});

test('tools hidden by outer stages stay hidden when inner stages are added, and unknown tools pass all of them', async () => {
  const seen: string[] = [];
  const note = (name: string): Stage => ({
    name,
    wrap: (tool, next) => (call) => (seen.push(`${name} ${tool.name}`), next(call)),
  });
  const outer = withStages(withStages(recordingSource(open, secret), [hideFromOthers]), [note('a')]);
  const staged = withInnerStages(outer, [note('x')]);
  expect(await staged.list(bob)).toEqual([open]);
  expect(await staged.find('secret', bob)).toBeUndefined();
  expect(await staged.find('secret', ada)).toBe(secret);
  expect(() => staged.call(callOf(absentTool('secret')))).toThrow('Unknown tool: secret');
  expect(seen).toEqual(['a secret', 'x secret']);
});

function logging(name: string, order: string[]): Stage {
  return {
    name,
    wrap: (_tool, next) => async (call) => {
      order.push(`${name} in`);
      const result = await next(call);
      order.push(`${name} out`);
      return result;
    },
  };
}

function toolCalled(name: string, handler: Tool['handler'] = () => ({ by: name })): Tool {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object', properties: {} }, handler };
}

async function findOpen(source: ToolSource): Promise<Tool> {
  return (await source.find('open', bob)) as Tool;
}

function callOf(tool: Tool): ToolCall {
  return createTestCall(tool, { caller: bob });
}
