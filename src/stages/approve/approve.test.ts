import { expect, test } from 'vitest';
import { z } from 'zod';
import { absentTool } from '../../core/absent-tool.ts';
import { localCaller } from '../../core/caller.ts';
import { requireConfirmation } from '../../core/authoring/confirmation.ts';
import type { Memory } from '../../core/memory/memory.ts';
import type { Result } from '../../core/result.ts';
import { withStages, type Stage } from '../../core/stage.ts';
import { defineTool, type Tool, type ToolAnnotations } from '../../core/tool.ts';
import { validateInput, validateOutput } from '../../core/essentials/validate.ts';
import { createInMemoryStore } from '../../store/memory/store.ts';
import { createTestCall, recordingSource, type RecordingSource } from '../../testing.ts';
import { approve } from './approve.ts';
import { audit } from '../record/audit.ts';
import { cache } from '../cache/cache.ts';
import { commit } from '../record/commit.ts';
import { idempotency, idempotencyKey } from '../idempotency.ts';

const digestKey = 'k'.repeat(43);

function toolOf(name: string, annotations?: ToolAnnotations): Tool {
  const definition = { name, description: `Does ${name}.`, input: z.strictObject({ id: z.string() }) };
  return defineTool({ ...definition, ...(annotations && { annotations }) }, ({ id }) => ({
    did: id,
  }));
}

const wipe = toolOf('wipe', { destructiveHint: true });
const look = toolOf('look', { readOnlyHint: true });
const add = toolOf('add', { destructiveHint: false });
const silent = toolOf('silent');

interface Line {
  readonly inside: RecordingSource;
  readonly list: () => Promise<readonly Tool[]>;
  readonly rows: () => Record<string, unknown>[];
  call(name: string, args: Record<string, unknown>, key?: string): Promise<Result>;
}

function lineOf(stage: Stage, ...tools: readonly Tool[]): Line {
  const inside = recordingSource(...tools);
  const store = createInMemoryStore({ memory: {} as Memory });
  const { journal } = store;
  const source = withStages(inside, [
    audit({}, { journal, digestKey }),
    validateInput,
    idempotency({}, { reservations: store.reservations }),
    stage,
    cache({}, { policyVersion: '1' }),
    validateOutput,
    commit({ journal, digestKey }),
  ]);
  return {
    inside,
    list: async () => source.list(localCaller),
    rows: () => store.entries.map(({ body }) => JSON.parse(body) as Record<string, unknown>),
    async call(name, args, key) {
      const tool = (await source.find(name, localCaller)) ?? absentTool(name);
      const meta = key === undefined ? {} : { [idempotencyKey]: key };
      return source.call(createTestCall(tool, { arguments: args, meta }));
    },
  };
}

const waiting = { kind: 'done', data: { status: 'confirmation_required' } };

test('tools that are destructive, or have no hint, get a `confirmed` parameter and say that they need it (000-32, 000-33)', async () => {
  const tools = await lineOf(approve(), wipe, look, add, silent).list();
  const asking = tools.filter(({ inputSchema }) => 'confirmed' in inputSchema.properties!);
  expect(asking.map(({ name }) => name)).toEqual(['silent', 'wipe']);
  for (const { description } of asking)
    expect(description).toMatch(/\. DESTRUCTIVE - requires confirmation\.$/);
  expect(tools.find(({ name }) => name === 'look')).toBe(look);
});

test('without a confirmation the tool does not run, the result is not an error, and the record says refused (000-33)', async () => {
  const { call, inside, rows } = lineOf(approve({ mode: 'argument', when: ['destructive'] }), wipe);
  const result = await call('wipe', { id: 'a' });
  expect(result).toEqual({
    kind: 'done',
    data: {
      status: 'confirmation_required',
      message: expect.stringMatching(
        /^Please confirm deletion by calling with confirmed=true\. .*wipe would run with \{"id":"a"\}.*again/,
      ) as string,
    },
  });
  expect(inside.calls).toEqual([]);
  expect(rows()).toMatchObject([
    { kind: 'call', tool: 'wipe', decision: 'refused', outcome: 'approval_required' },
  ]);
  expect(rows()[0]).not.toHaveProperty('approval');
});

test('with a confirmation the tool runs without seeing it, and the record says how it was confirmed (000-34)', async () => {
  const { call, inside, rows } = lineOf(approve(), wipe);
  expect(await call('wipe', { id: 'a', confirmed: true })).toEqual({ kind: 'done', data: { did: 'a' } });
  expect(inside.calls.map((seen) => 'arguments' in seen && seen.arguments)).toEqual([{ id: 'a' }]);
  expect(rows()).toMatchObject([
    { kind: 'intent', tool: 'wipe', decision: 'allowed', approval: 'argument' },
    { kind: 'outcome', outcome: 'done' },
  ]);
});

test('B12 control: with the stage off the same call runs at once', async () => {
  const { call, inside } = lineOf(approve({ when: [] }), wipe);
  expect(await call('wipe', { id: 'a' })).toEqual({ kind: 'done', data: { did: 'a' } });
  expect(inside.calls).toHaveLength(1);
});

test.each(['true', 1, null, {}])('B12 %j as `confirmed` is refused', async (confirmed) => {
  const { call, inside } = lineOf(approve(), wipe);
  await expect(call('wipe', { id: 'a', confirmed })).rejects.toMatchObject({ code: 'invalid_arguments' });
  expect(inside.calls).toEqual([]);
});

test.each(['true', 1])(
  'B12 %j does not confirm, even without an argument check before the stage',
  async (confirmed) => {
    const inside = recordingSource(wipe);
    const source = withStages(inside, [approve()]);
    const tool = (await source.find('wipe', localCaller))!;
    expect(await source.call(createTestCall(tool, { arguments: { id: 'a', confirmed } }))).toMatchObject(
      waiting,
    );
    expect(inside.calls).toEqual([]);
  },
);

test('B12 a confirmation does not count for other arguments, nor for the same arguments later', async () => {
  const { call, inside } = lineOf(approve(), wipe);
  await call('wipe', { id: 'a', confirmed: true });
  expect(await call('wipe', { id: 'b' })).toMatchObject(waiting);
  expect(await call('wipe', { id: 'a' })).toMatchObject(waiting);
  expect(inside.calls).toHaveLength(1);
});

test('B12 an unconfirmed call under an idempotency key stores nothing under the key', async () => {
  const { call, inside } = lineOf(approve(), wipe);
  expect(await call('wipe', { id: 'a' }, 'key-1')).toMatchObject(waiting);
  expect(await call('wipe', { id: 'a', confirmed: true }, 'key-1')).toEqual({
    kind: 'done',
    data: { did: 'a' },
  });
  expect(await call('wipe', { id: 'a', confirmed: true }, 'key-1')).toEqual({
    kind: 'done',
    data: { did: 'a' },
  });
  expect(inside.calls).toHaveLength(1);
});

test('B12 the result of a confirmed call is not replayed to an unconfirmed one', async () => {
  const { call } = lineOf(approve(), wipe);
  await call('wipe', { id: 'a', confirmed: true }, 'key-1');
  await expect(call('wipe', { id: 'a' }, 'key-1')).rejects.toMatchObject({ code: 'key_reused' });
});

test('B12 a cached result is given only to a confirmed call', async () => {
  const report = { ...look, name: 'report', cache: { seconds: 60 } };
  const { call, inside, rows } = lineOf(approve({ when: [], tools: ['rep*'] }), report, look);
  expect(await call('report', { id: 'a', confirmed: true })).toMatchObject({ data: { did: 'a' } });
  expect(await call('report', { id: 'a', confirmed: true })).toMatchObject({ data: { did: 'a' } });
  expect(inside.calls).toHaveLength(1);
  expect(rows().at(-1)).toMatchObject({ from: 'cache', approval: 'argument' });
  expect(await call('report', { id: 'a' })).toMatchObject(waiting);
  expect(await call('look', { id: 'a' })).toMatchObject({ data: { did: 'a' } });
});

test('tools can be listed by name, and then only they need a confirmation', async () => {
  const { call } = lineOf(approve({ when: [], tools: ['look', 'a*'] }), wipe, look, add);
  expect(await call('wipe', { id: 'a' })).toMatchObject({ data: { did: 'a' } });
  expect(await call('look', { id: 'a' })).toMatchObject(waiting);
  expect(await call('add', { id: 'a' })).toMatchObject(waiting);
});

test('B12 a tool that is hidden from a caller stays unknown, confirmed or not', async () => {
  const hiding: Stage = { name: 'hiding', expose: (tool) => (tool.name === 'wipe' ? null : tool) };
  const inside = recordingSource(wipe, look);
  const source = withStages(inside, [hiding, approve({ tools: ['*'] })]);
  expect(await source.find('wipe', localCaller)).toBeUndefined();
  expect((await source.list(localCaller)).map(({ name }) => name)).toEqual(['look']);
  const { call } = lineOf(approve({ tools: ['*'] }), look);
  for (const confirmed of [false, true])
    await expect(call('wipe', { id: 'a', confirmed })).rejects.toMatchObject({ code: 'unknown_tool' });
});

test('B12 a tool that was not found through the stage cannot bypass it', async () => {
  const inside = recordingSource(wipe);
  const source = withStages(inside, [validateInput, approve()]);
  expect(await source.call(createTestCall(wipe, { arguments: { id: 'a' } }))).toMatchObject(waiting);
  expect(inside.calls).toEqual([]);
});

test.each([{}, { when: [], tools: ['own'] }])(
  'B12 a `confirmed` parameter of the tool itself does not switch the stage off, with %j',
  async (options) => {
    const own = defineTool(
      {
        name: 'own',
        description: 'Books a room.',
        input: z.object({ confirmed: z.boolean().default(false) }),
        annotations: { destructiveHint: true },
      },
      ({ confirmed }) => ({ confirmed }),
    ) as Tool;
    const { call, list, inside, rows } = lineOf(approve(options), own);
    expect(Object.keys((await list())[0]!.inputSchema.properties!)).toEqual([
      'confirmed',
      'toolcrib_confirmed',
    ]);
    for (const args of [{}, { confirmed: true }]) expect(await call('own', args)).toMatchObject(waiting);
    expect(inside.calls).toEqual([]);
    const agreed = { confirmed: false, toolcrib_confirmed: true };
    expect(await call('own', agreed)).toMatchObject({ data: { confirmed: false } });
    expect(rows().map(({ kind, approval }) => [kind, approval])).toEqual([
      ['call', undefined],
      ['call', undefined],
      ['intent', 'argument'],
      ['outcome', undefined],
    ]);
  },
);

test('B12 control: if tools with a `confirmed` parameter were skipped, every tool could opt out', async () => {
  const input = z.object({ id: z.string(), confirmed: z.boolean().default(true) });
  const sly = defineTool({ name: 'sly', description: 'Wipes.', input }, () => ({ did: 'wipe' })) as Tool;
  const stage = approve();
  const naive: Stage = {
    name: 'approve',
    wrap: (tool, next) => ('confirmed' in tool.inputSchema.properties! ? next : stage.wrap!(tool, next)),
  };
  expect(await lineOf(naive, sly).call('sly', { id: 'a' })).toMatchObject({ data: { did: 'wipe' } });
  expect(await lineOf(stage, sly).call('sly', { id: 'a' })).toMatchObject(waiting);
});

test.each(['one line', 'a line behind a line'])(
  'B12 two such stages in %s ask once, and the record has one confirmation',
  async (place) => {
    for (const tool of [wipe, requireConfirmation(wipe)]) {
      const inside = recordingSource(tool);
      const source =
        place === 'one line'
          ? withStages(inside, [validateInput, approve(), approve({ tools: ['*'] }), validateInput])
          : withStages(withStages(inside, [validateInput, approve()]), [validateInput, approve()]);
      const found = (await source.find('wipe', localCaller))!;
      expect(Object.keys(found.inputSchema.properties!)).toEqual(['id', 'confirmed']);
      expect(found.description.split('confirmation')).toHaveLength(2);
      const first = createTestCall(found, { arguments: { id: 'a' } });
      expect(await source.call(first)).toMatchObject(waiting);
      expect(first.record).toMatchObject({ refusal: 'approval_required', approval: undefined });
      const second = createTestCall(found, { arguments: { id: 'a', confirmed: true } });
      expect(await source.call(second)).toMatchObject({ data: { did: 'a' } });
      expect(second.record).toMatchObject({ refusal: undefined, approval: 'argument' });
      expect(inside.calls).toHaveLength(1);
    }
  },
);

test.each([{}, { when: [] }])(
  'a tool made with requireConfirmation is confirmed once, before anything is recorded, with the options %j',
  async (options) => {
    const { call, inside, rows, list } = lineOf(approve(options), requireConfirmation(wipe));
    expect((await list())[0]?.description.match(/requires confirmation/g)).toHaveLength(1);
    expect(await call('wipe', { id: 'a' }, 'key-1')).toMatchObject(waiting);
    expect(inside.calls).toEqual([]);
    expect(await call('wipe', { id: 'a', confirmed: true }, 'key-1')).toMatchObject({ data: { did: 'a' } });
    expect(rows()).toMatchObject([
      { kind: 'call', decision: 'refused', outcome: 'approval_required' },
      { kind: 'intent', approval: 'argument' },
      { kind: 'outcome', outcome: 'done' },
    ]);
  },
);

test('a tool with its own question keeps its words behind the stage (000-33)', async () => {
  const message = 'Please confirm deletion by calling with confirmed=true';
  const { call } = lineOf(approve(), requireConfirmation(wipe, { message }));
  expect(await call('wipe', { id: 'a' })).toMatchObject({
    data: { message: `${message}. Nothing was done. wipe would run with {"id":"a"}.` },
  });
});

test('without the stage a tool made with requireConfirmation still needs a confirmation', async () => {
  const inside = recordingSource(requireConfirmation(wipe));
  const source = withStages(inside, [validateInput]);
  const tool = (await source.find('wipe', localCaller))!;
  expect(await source.call(createTestCall(tool, { arguments: { id: 'a' } }))).toMatchObject(waiting);
});

test('the handler does not get `confirmed` if arguments are checked in an inner stage', async () => {
  const seen: unknown[] = [];
  const loose = defineTool(
    { name: 'loose', description: 'Looks.', input: z.looseObject({}) },
    (args) => void seen.push(args),
  ) as Tool;
  const source = withStages(recordingSource(loose), [approve(), validateInput]);
  const tool = (await source.find('loose', localCaller))!;
  await source.call(createTestCall(tool, { arguments: { id: 'a', confirmed: true } }));
  expect(seen).toEqual([{ id: 'a' }]);
});
