import { expect, test } from 'vitest';
import { z } from 'zod';
import { localCaller, type Caller } from '../../core/caller.ts';
import { requireConfirmation } from '../../core/authoring/confirmation.ts';
import { CallRecord } from '../../core/record.ts';
import { Interview } from '../../core/interview.ts';
import type { Memory } from '../../core/memory/memory.ts';
import { ToolRegistry } from '../../core/registry.ts';
import type { Result } from '../../core/result.ts';
import type { ToolSource } from '../../core/source.ts';
import { withStages } from '../../core/stage.ts';
import { defineTool, type Tool, type ToolAnnotations } from '../../core/tool.ts';
import { validateInput } from '../../core/essentials/validate.ts';
import { createInMemoryStore } from '../../store/memory/store.ts';
import { createFakeClock, createTestCall, recordingSource } from '../../testing.ts';
import { approve } from './approve.ts';
import { audit } from '../record/audit.ts';
import { commit } from '../record/commit.ts';
import { idempotency, idempotencyKey } from '../idempotency.ts';

const ada: Caller = { ...localCaller, id: 'ada', tenant: { id: 'acme', name: 'Acme', data: {} } };
const digestKey = 'k'.repeat(43);
const MINUTE_MS = 60_000;
const row = { chain: '@operator', body: '{"kind":"operator"}' };

function toolOf(name: string, annotations?: ToolAnnotations, description = `Does ${name}.`): Tool {
  const definition = { name, description, input: z.strictObject({ id: z.string() }) };
  return defineTool({ ...definition, ...(annotations && { annotations }) }, ({ id }) => ({ did: id }));
}

const wipe = toolOf('wipe');
const look = toolOf('look', { readOnlyHint: true });
const asking = requireConfirmation(toolOf('asking'));

interface Asking {
  readonly as?: Caller;
  readonly key?: string;
  readonly isResumed?: boolean;
  readonly answers?: ReadonlyMap<string, unknown>;
  readonly source?: ToolSource;
}

function setUp({ isOn = true, withCommit = true } = {}) {
  const clock = createFakeClock(Date.parse('2026-11-16T12:00:00Z'));
  const store = createInMemoryStore({ memory: {} as Memory, clock });
  const { journal, approvals } = store;
  const asked: string[] = [];
  const inside = recordingSource(wipe, look, asking);
  const lineFor = (source: ToolSource) =>
    withStages(source, [
      audit({}, { journal, digestKey, clock }),
      validateInput,
      idempotency({}, { reservations: store.reservations, clock }),
      ...(isOn
        ? [
            approve(
              { mode: 'operator', tools: ['look'] },
              { approvals, clock, onAsked: ({ id }) => asked.push(id) },
            ),
          ]
        : []),
      ...(withCommit ? [commit({ journal, digestKey, clock })] : []),
    ]);
  const line = lineFor(inside);
  const call = async (
    tool: Tool,
    args: Record<string, unknown>,
    { as = ada, key, isResumed = false, answers, source = line }: Asking = {},
  ): Promise<Result> => {
    const made = createTestCall(tool, {
      caller: as,
      arguments: args,
      record: new CallRecord(isResumed ? 'resumed' : 'first'),
      ...(answers && { interview: new Interview(answers) }),
      ...(key !== undefined && { meta: { [idempotencyKey]: key } }),
    });
    return source.call(made);
  };
  const decide = async (isApproved: boolean): Promise<void> => {
    const open = (await approvals.list()).filter(({ decision }) => !decision);
    const at = clock.now();
    for (const { id } of open)
      await approvals.decide(id, { isApproved, by: 'root', at, expiresAt: at + 5 * MINUTE_MS }, row);
  };
  const rows = (): Record<string, unknown>[] =>
    store.entries
      .filter(({ chain }) => chain !== row.chain)
      .map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  return { call, decide, rows, inside, asked, clock, lineFor, supervised: line };
}

test('B12 a call waits for an approval and then runs once, and the record says who approved it', async () => {
  const { call, decide, rows, inside, asked } = setUp();
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({
    code: 'approval_required',
    message: expect.stringMatching(/waits as apr_\w+ until 2026-11-16T12:05Z\..*same arguments/),
    data: { approval: expect.stringMatching(/^apr_/) },
  });
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ data: { approval: asked[0] } });
  expect(asked).toHaveLength(1);
  expect(inside.calls).toHaveLength(0);
  await decide(true);
  await expect(call(wipe, { id: 'a' })).resolves.toMatchObject({ data: { did: 'a' } });
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  expect(inside.calls).toHaveLength(1);
  expect(rows().map(({ kind, outcome, approval }) => [kind, outcome, approval])).toEqual([
    ['call', 'approval_required', asked[0]],
    ['call', 'approval_required', asked[0]],
    ['intent', undefined, asked[0]],
    ['outcome', 'done', undefined],
    ['call', 'approval_required', asked[1]],
  ]);
});

test('B12 control: without the stage the same call runs at once', async () => {
  const { call, inside } = setUp({ isOn: false });
  await call(wipe, { id: 'a' });
  expect(inside.calls).toHaveLength(1);
});

const bob: Caller = { ...ada, id: 'bob' };
const elsewhere: Caller = { ...ada, tenant: { id: 'other', name: 'Other', data: {} } };

test.each([
  ['arguments', { id: 'b' }, ada],
  ['requester', { id: 'a' }, bob],
  ['tenant', { id: 'a' }, elsewhere],
] as const)('B12 an approval does not count for another %s', async (_what, args, as) => {
  const { call, decide, inside } = setUp();
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(true);
  await expect(call(wipe, args, { as })).rejects.toMatchObject({ code: 'approval_required' });
  expect(inside.calls).toHaveLength(0);
  // It was good for something.
  await call(wipe, { id: 'a' });
  expect(inside.calls).toHaveLength(1);
});

test('B12 an approval does not count after the definition of the tool has changed', async () => {
  const { call, decide, lineFor } = setUp();
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(true);
  const swapped = toolOf('wipe', undefined, 'Does wipe, and more.');
  const after = recordingSource(swapped);
  await expect(call(swapped, { id: 'a' }, { source: lineFor(after) })).rejects.toMatchObject({
    code: 'approval_required',
  });
  expect(after.calls).toHaveLength(0);
});

test('B12 100 parallel calls use one approval once', async () => {
  for (const tool of [wipe, look]) {
    const { call, decide, inside } = setUp();
    await expect(call(tool, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
    await decide(true);
    const all = await Promise.allSettled(Array.from({ length: 100 }, () => call(tool, { id: 'a' })));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(inside.calls).toHaveLength(1);
  }
});

test('B12 requests and approvals expire', async () => {
  const { call, decide, inside, asked, clock } = setUp();
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  clock.advance(5 * MINUTE_MS);
  await decide(true);
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  expect(asked).toHaveLength(2);
  await decide(true);
  clock.advance(5 * MINUTE_MS);
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  expect(inside.calls).toHaveLength(0);
});

test('B12 a denied call is refused without a new request, until the denial expires', async () => {
  const { call, decide, asked, clock } = setUp();
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(false);
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('was denied'),
  });
  expect(asked).toHaveLength(1);
  clock.advance(5 * MINUTE_MS);
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
});

test('B12 a call repeated under an idempotency key gets the stored result and needs no new approval', async () => {
  const { call, decide, inside } = setUp();
  await expect(call(wipe, { id: 'a' }, { key: 'k' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(true);
  await expect(call(wipe, { id: 'a' }, { key: 'k' })).resolves.toMatchObject({ data: { did: 'a' } });
  await expect(call(wipe, { id: 'a' }, { key: 'k' })).resolves.toMatchObject({ data: { did: 'a' } });
  expect(inside.calls).toHaveLength(1);
});

test('B12 a call that continues after a question has the approval it had before, also on record', async () => {
  const { call, decide, inside, rows, asked, clock } = setUp();
  const goOn = () => call(wipe, { id: 'a' }, { isResumed: true });
  const refused = { code: 'approval_required', message: expect.stringContaining('from the beginning') };
  await expect(goOn()).rejects.toMatchObject(refused);
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(true);
  await expect(goOn()).rejects.toMatchObject(refused);
  await call(wipe, { id: 'a' });
  await goOn();
  expect(rows().findLast(({ kind }) => kind === 'intent')).toMatchObject({ approval: asked[0] });
  await expect(call(wipe, { id: 'b' }, { isResumed: true })).rejects.toMatchObject(refused);
  await expect(call(wipe, { id: 'a' }, { isResumed: true, as: bob })).rejects.toMatchObject(refused);
  clock.advance(5 * MINUTE_MS);
  await expect(goOn()).rejects.toMatchObject(refused);
  expect(inside.calls).toHaveLength(2);
});

test('B12 a denial stops a call that would continue, and a read-only call needs an approval each time', async () => {
  const { call, decide, inside } = setUp();
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(true);
  await call(wipe, { id: 'a' });
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(false);
  await expect(call(wipe, { id: 'a' }, { isResumed: true })).rejects.toMatchObject({
    code: 'approval_required',
  });
  await expect(call(look, { id: 'a' }, { isResumed: true })).rejects.toMatchObject({
    code: 'approval_required',
  });
  expect(inside.calls).toHaveLength(1);
});

test('B12 answers that are sent before any question are refused, because the operator does not see them', async () => {
  const { call, decide, inside } = setUp();
  const ahead = { answers: new Map([['to', 'EVIL']]) };
  await expect(call(wipe, { id: 'a' }, ahead)).rejects.toMatchObject({ code: 'invalid_arguments' });
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(true);
  await expect(call(wipe, { id: 'a' }, ahead)).rejects.toMatchObject({ code: 'invalid_arguments' });
  expect(inside.calls).toHaveLength(0);
});

test('B12 a confirmation by the model does not replace the approval of a person', async () => {
  const { call, supervised, inside } = setUp();
  const source = withStages(supervised, [approve({ mode: 'argument' })]);
  await expect(call(wipe, { id: 'a', confirmed: true }, { source })).rejects.toMatchObject({
    code: 'approval_required',
  });
  expect(inside.calls).toHaveLength(0);
});

test('B12 a read-only hint that is only a default does not skip the approval', async () => {
  const registry = new ToolRegistry({ annotationDefaults: 'saas' }).registerTool(wipe);
  const { call, lineFor } = setUp();
  const [hinted] = registry.list();
  await expect(call(hinted!, { id: 'a' }, { source: lineFor(registry) })).rejects.toMatchObject({
    code: 'approval_required',
  });
});

test('B12 a tool that asks for a confirmation by the model is confirmed first and approved then', async () => {
  const { call, decide, inside, asked } = setUp();
  await expect(call(asking, { id: 'a' })).resolves.toMatchObject({
    data: { status: 'confirmation_required' },
  });
  expect(asked).toEqual([]);
  await expect(call(asking, { id: 'a', confirmed: true })).rejects.toMatchObject({
    code: 'approval_required',
  });
  await decide(true);
  await call(asking, { id: 'a', confirmed: true });
  expect(inside.calls).toHaveLength(1);
});

test('B12 the number and the size of open approval requests are limited', async () => {
  const { call, asked } = setUp();
  for (let n = 0; n < 20; n++)
    await expect(call(wipe, { id: `${n}` })).rejects.toMatchObject({ code: 'approval_required' });
  await expect(call(wipe, { id: 'one more' })).rejects.toMatchObject({ code: 'busy' });
  await expect(call(wipe, { id: 'x'.repeat(20_000) })).rejects.toMatchObject({ code: 'invalid_arguments' });
  expect(asked).toHaveLength(20);
});

test('the stage names a missing part of its setup', async () => {
  expect(() => approve({ mode: 'operator' })).toThrow(/approvals: store\.approvals/);
  const { call, decide } = setUp({ withCommit: false });
  await expect(call(wipe, { id: 'a' })).rejects.toMatchObject({ code: 'approval_required' });
  await decide(true);
  await expect(call(wipe, { id: 'a' })).rejects.toThrow(/needs the commit stage/);
});
