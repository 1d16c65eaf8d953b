import { expect, test } from 'vitest';
import type { ToolCall } from '../call.ts';
import { localCaller, type Caller } from '../caller.ts';
import type { Clock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { permit } from './permit.ts';
import { ToolRegistry } from '../registry.ts';
import type { Result } from '../result.ts';
import { withStages, type Next, type Stage } from '../stage.ts';
import { defineTool, type Authorize, type Tool } from '../tool.ts';
import { createFakeClock, createTestCall } from '../../testing.ts';

const ada: Caller = { ...localCaller, id: 'ada' };
const bob: Caller = { ...localCaller, id: 'bob' };
const ownOnly: Authorize = ({ owner }, { id }) => owner === id || `Only ${String(owner)} may read this.`;

test("registry.execute runs the tool's permission check before every call (000-40)", async () => {
  const ran: unknown[] = [];
  const registry = new ToolRegistry().registerTool(noteTool(ownOnly, ran));
  expect(await registry.execute('note', { owner: 'ada' }, { caller: ada })).toBe('text');
  await expect(registry.execute('note', { owner: 'ada' }, { caller: bob })).rejects.toMatchObject({
    code: 'refused',
    message: 'Only ada may read this.',
  });
  expect(await registry.execute('note', { owner: 'ada' }, { caller: ada })).toBe('text');
  await expect(registry.execute('note', { owner: 'bob' }, { caller: ada })).rejects.toThrow('Only bob');
  expect(ran).toEqual([{ owner: 'ada' }, { owner: 'ada' }]);
});

test("the stage runs the tool's permission check before every call; without the stage the same call runs (000-40)", async () => {
  const ran: unknown[] = [];
  const registry = new ToolRegistry().registerTool(noteTool(ownOnly, ran));
  const tool = registry.find('note')!;
  const guarded = withStages(registry, [permitting()]);
  expect(() => guarded.call(callOf(tool, { owner: 'ada' }, bob))).toThrow('Only ada may read this.');
  expect(ran).toEqual([]);
  expect(await guarded.call(callOf(tool, { owner: 'bob' }, bob))).toMatchObject({ kind: 'done' });
  expect(await registry.call(callOf(tool, { owner: 'ada' }, bob))).toMatchObject({ kind: 'done' });
});

test.each<[what: string, answer: unknown]>([
  ['no', false],
  ['nothing', undefined],
  ['null', null],
  ['a number', 1],
  ['an object', { allowed: true }],
  ['an empty text', ''],
  ['a later no', Promise.resolve(false)],
  ['a later nothing', Promise.resolve()],
])('only true allows a call: %s does not (000-40)', async (_what, answer) => {
  const ran: unknown[] = [];
  const tool = noteTool((() => answer) as Authorize, ran);
  const registry = new ToolRegistry().registerTool(tool);
  await expect(registry.execute('note', { owner: 'ada' })).rejects.toMatchObject({ code: 'refused' });
  const guarded = withStages(registry, [permitting()]);
  await expect(later(() => guarded.call(callOf(tool, {}, ada)))).rejects.toMatchObject({ code: 'refused' });
  expect(ran).toEqual([]);
});

test('an asynchronous permission check is awaited', async () => {
  const ran: unknown[] = [];
  const tool = noteTool(() => Promise.resolve(true), ran);
  const guarded = withStages(new ToolRegistry().registerTool(tool), [permitting()]);
  expect(await guarded.call(callOf(tool, {}, ada))).toMatchObject({ kind: 'done' });
  expect(ran).toHaveLength(1);
});

test.each<[when: string, authorize: Authorize]>([
  [
    'at once',
    () => {
      throw new Error('db down');
    },
  ],
  ['later', () => Promise.reject(new Error('db down'))],
])('a permission check that fails %s does not allow the call', async (_when, authorize) => {
  const ran: unknown[] = [];
  const tool = noteTool(authorize, ran);
  const registry = new ToolRegistry().registerTool(tool);
  await expect(registry.execute('note', { owner: 'ada' })).rejects.toThrow('db down');
  await expect(
    later(() => withStages(registry, [permitting()]).call(callOf(tool, {}, ada))),
  ).rejects.toThrow();
  expect(ran).toEqual([]);
});

test('a refusal without a reason names the refused tool', async () => {
  const registry = new ToolRegistry().registerTool(noteTool(() => false, []));
  await expect(registry.execute('note', { owner: 'ada' })).rejects.toThrow(
    'You may not use note with these arguments.',
  );
});

test('the permission check gets arguments that are checked and complete', async () => {
  const seen: unknown[] = [];
  const tool = defineTool(
    {
      name: 'list',
      description: 'Lists notes.',
      input: { properties: { limit: { type: 'integer', default: 10 } } },
      authorize: (args) => (seen.push(args), true),
    },
    () => 'ok',
  );
  const registry = new ToolRegistry().registerTool(tool);
  await registry.execute('list', {});
  await expect(registry.execute('list', { limit: 'all' })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
  expect(seen).toEqual([{ limit: 10 }]);
});

test('the record names the rule that decided, and a tool without a check has no extra cost', () => {
  const call = callOf(
    noteTool(() => true, []),
    {},
    ada,
  );
  const next: Next = (): Result => ({ kind: 'done' });
  const stage = permitting();
  void stage.wrap!(call.tool, next)(call);
  expect(call.record.rule).toBe('note.authorize');
  const { authorize: _authorize, ...open } = call.tool;
  expect(stage.wrap!(open, next)).toBe(next);
});

test('a permission check that never ends is ended by the time limit and by cancellation', async () => {
  const clock = createFakeClock();
  const stage = permitting(clock);
  const waiting = (): ToolCall =>
    callOf(
      noteTool(() => new Promise<boolean>(() => {}), []),
      {},
      ada,
    );
  const slow = waiting();
  const ended = stage.wrap!(slow.tool, () => ({ kind: 'done' }))(slow);
  clock.advance(1_001);
  await expect(ended).rejects.toMatchObject({ code: 'timed_out' });
  const left = waiting();
  const stopped = stage.wrap!(left.tool, () => ({ kind: 'done' }))(left);
  left.cancellation.abort(new Error('gone'));
  await expect(stopped).rejects.toThrow('gone');
});

function permitting(clock: Clock = createFakeClock()): Stage {
  return permit({ msFor: () => 1_000, deadlines: new Deadlines(clock) });
}

async function later<T>(work: () => T | Promise<T>): Promise<T> {
  return work();
}

function noteTool(authorize: Authorize, ran: unknown[]): Tool {
  return {
    name: 'note',
    description: 'Reads a note.',
    inputSchema: { type: 'object', properties: { owner: { type: 'string' } } },
    authorize,
    handler: (args) => (ran.push(args), 'text'),
  };
}

function callOf(tool: Tool, args: ToolCall['arguments'], caller: Caller): ToolCall {
  return createTestCall(tool, { arguments: args, caller });
}
