import { expect, test } from 'vitest';
import { z } from 'zod';
import { ToolcribError } from '../../base/errors.ts';
import { absentTool } from '../../core/absent-tool.ts';
import { requireConfirmation } from '../../core/authoring/confirmation.ts';
import { localCaller } from '../../core/caller.ts';
import { validateInput } from '../../core/essentials/validate.ts';
import { Interview } from '../../core/interview.ts';
import { CallRecord } from '../../core/record.ts';
import type { Result } from '../../core/result.ts';
import type { ToolSource } from '../../core/source.ts';
import { withStages } from '../../core/stage.ts';
import { changeTool, defineTool, type Hint, type Tool, type ToolAnnotations } from '../../core/tool.ts';
import { createFakeClock, createTestCall, recordingSource } from '../../testing.ts';
import { approve, type approveOptions } from './approve.ts';
import type { Decision, DecisionRequest, SafetyMode } from './decision.ts';
import { Grants } from './grants.ts';

const HINTS: readonly Hint[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

function toolOf(name: string, annotations: ToolAnnotations = {}, more: Partial<Tool> = {}): Tool {
  const input = z.strictObject({ id: z.string(), many: z.number().default(1) });
  const tool = defineTool({ name, description: `Does ${name}.`, input, annotations }, () => 'did it');
  return changeTool(tool, { place: { source: 'shop', name }, ...more });
}

const buy = toolOf('buy');
const look = toolOf('look', { readOnlyHint: true });
const feigned = toolOf('feigned', { readOnlyHint: true }, { assumedHints: HINTS });

type Answer = Decision | undefined | ((request: DecisionRequest) => Decision | Promise<Decision>);

const balanced: z.input<typeof approveOptions> = { mode: 'person', when: [], safety: ['balanced'] };

/** A line with a person who gives these answers in turn, and what the person was asked and the tool was called with. */
function lineOf(
  answers: readonly Answer[],
  options: z.input<typeof approveOptions> = {},
  tools: readonly Tool[] = [buy, look, feigned],
) {
  const clock = createFakeClock();
  const grants = new Grants(clock);
  const asked: DecisionRequest[] = [];
  const inside = recordingSource(...tools);
  const onToolCall = (request: DecisionRequest): Decision | Promise<Decision> => {
    const answer = answers[asked.push(request) - 1];
    return typeof answer === 'function' ? answer(request) : (answer as Decision);
  };
  const parts = { onToolCall, grants, clock, toolsOf: () => tools };
  const source = withStages(inside, [validateInput, approve({ ...balanced, ...options }, parts)]);
  return {
    clock,
    grants,
    asked,
    ran: () => inside.calls.map((call) => 'arguments' in call && call.arguments),
    call: async (tool: Tool, args: Record<string, unknown> = { id: 'a' }): Promise<Result> =>
      source.call(createTestCall(tool, { arguments: args })),
    send: async (tool: Tool, given: Parameters<typeof createTestCall>[1]): Promise<Result> =>
      source.call(createTestCall(tool, given)),
    start: (tool: Tool, args: Record<string, unknown> = { id: 'a' }) => {
      const call = createTestCall(tool, { arguments: args });
      return { call, ended: Promise.resolve(source.call(call)) };
    },
  };
}

test('a person sees the final arguments, the server and the annotations before a call (002-24, 004-21)', async () => {
  const { asked, call, ran } = lineOf(['allow']);
  await call(buy, { id: 'a' });
  expect(asked).toMatchObject([
    {
      tool: 'buy',
      server: 'shop',
      description: 'Does buy.',
      caller: 'local',
      arguments: { id: 'a', many: 1 },
      exactArguments: '{"id":"a","many":1}',
      hints: {},
      isTrusted: true,
      previous: undefined,
      serverTools: ['buy', 'feigned', 'look'],
    },
  ]);
  expect(ran()).toEqual([{ id: 'a', many: 1 }]);
});

test('a person can deny a call: the tool does not run, and the model gets the reason (002-04)', async () => {
  const { call, ran } = lineOf(['deny', { kind: 'deny', reason: 'Too dear.' }]);
  await expect(call(buy)).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('denied this call of buy.') as string,
  });
  await expect(call(buy)).rejects.toThrow('and says: "Too dear.".');
  expect(ran()).toEqual([]);
});

const modes: readonly [SafetyMode, Record<'look' | 'feigned' | 'buy', 'runs' | 'asks' | 'refused'>][] = [
  ['strict', { look: 'asks', feigned: 'asks', buy: 'asks' }],
  ['balanced', { look: 'runs', feigned: 'asks', buy: 'asks' }],
  ['restricted', { look: 'runs', feigned: 'refused', buy: 'refused' }],
  ['autonomous', { look: 'runs', feigned: 'runs', buy: 'runs' }],
];

for (const [mode, expected] of modes)
  test(`in the mode ${mode} annotations count only from trusted servers (001-52, 002-23, 003-13, 003-17, 004-22)`, async () => {
    for (const tool of [look, feigned, buy]) {
      const { call, asked, ran } = lineOf(['allow'], { safety: [mode] });
      const refusal = await call(tool).then(
        () => undefined,
        (error: unknown) => error,
      );
      const seen = refusal ? 'refused' : asked.length > 0 ? 'asks' : 'runs';
      expect([tool.name, seen]).toEqual([tool.name, expected[tool.name as 'look']]);
      expect(ran()).toHaveLength(refusal ? 0 : 1);
      if (refusal) expect(refusal).toMatchObject({ code: 'refused', message: /read-only/ });
    }
  });

test('of several modes the strictest applies to each call', async () => {
  const { call, asked } = lineOf(['allow', 'allow'], { safety: ['autonomous', 'strict', 'restricted'] });
  await call(look);
  expect(asked).toHaveLength(1);
  await expect(call(buy)).rejects.toMatchObject({ code: 'refused' });
});

test('without a way to ask a person, a call that needs one is refused (003-14)', async () => {
  const inside = recordingSource(buy);
  const source = withStages(inside, [approve(balanced)]);
  await expect(source.call(createTestCall(buy, { arguments: { id: 'a' } }))).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('nobody can be asked here') as string,
  });
  expect(inside.calls).toEqual([]);
});

test.each([undefined, null, true, 'yes', {}, { kind: 'allowAlways' }, { kind: 'edit' }, { kind: 'maybe' }])(
  'the answer %j does not approve the call (003-14)',
  async (answer) => {
    const { call, ran } = lineOf([answer as Decision]);
    await expect(call(buy)).rejects.toMatchObject({ code: 'refused' });
    expect(ran()).toEqual([]);
  },
);

test('a person who cannot be asked, or does not answer in time, has not approved', async () => {
  const hang = (): Promise<Decision> => new Promise(() => {});
  const broken = (): never => {
    throw new Error('secret detail');
  };
  const line = lineOf([hang, broken], { waitSeconds: 60 });
  const { ended } = line.start(buy);
  await settle();
  const { signal } = line.asked[0]!;
  line.clock.advance(59_999);
  expect(signal.aborted).toBe(false);
  line.clock.advance(1);
  await expect(ended).rejects.toMatchObject({ code: 'approval_required', message: /within 60 s/ });
  expect(signal.aborted).toBe(true);
  await expect(line.call(buy)).rejects.toThrow('Nothing was done: nobody could be asked about buy.');
  expect(line.ran()).toEqual([]);
});

test('a call that is cancelled while a person decides does not run, whatever the answer', async () => {
  let answer = (_decision: Decision): void => {};
  const line = lineOf([() => new Promise<Decision>((resolve) => (answer = resolve))]);
  const { call, ended } = line.start(buy);
  await settle();
  call.cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
  await expect(ended).rejects.toMatchObject({ code: 'cancelled' });
  expect(line.asked[0]!.signal.aborted).toBe(true);
  answer('allow');
  await settle();
  expect(line.ran()).toEqual([]);
});

test('a person may change the arguments: they are checked again, and the model is told', async () => {
  const line = lineOf([
    { kind: 'edit', arguments: { id: 'b' } },
    { kind: 'edit', arguments: { id: 7 } },
  ]);
  expect(await line.call(buy, { id: 'a', many: 5 })).toMatchObject({
    kind: 'done',
    content: [
      expect.anything(),
      { type: 'text', text: '[a person changed the arguments to {"id":"b","many":1}]' },
    ],
  });
  await expect(line.call(buy)).rejects.toMatchObject({ code: 'invalid_arguments' });
  expect(line.ran()).toEqual([{ id: 'b', many: 1 }]);
});

test("changed arguments go through the tool's own permission check, too", async () => {
  const guarded = toolOf('guarded', {}, { authorize: ({ id }) => id === 'a' || 'Only a.' });
  const line = lineOf([{ kind: 'edit', arguments: { id: 'b' } }], {}, [guarded]);
  await expect(line.call(guarded)).rejects.toThrow('Only a.');
  expect(line.ran()).toEqual([]);
});

test('changing the shown arguments in the callback does not change the arguments of the call', async () => {
  const line = lineOf([
    (request) => {
      (request.arguments as { id: string }).id = 'changed';
      return 'allow';
    },
  ]);
  await line.call(buy);
  expect(line.ran()).toEqual([{ id: 'a', many: 1 }]);
});

test('for a repeated call, the arguments of the last call are shown as well', async () => {
  const line = lineOf(['allow', 'allow']);
  await line.call(buy, { id: 'a' });
  await line.call(buy, { id: 'b' });
  expect(line.asked[1]).toMatchObject({ arguments: { id: 'b' }, previous: { id: 'a', many: 1 } });
});

test('a person gets one question at a time, and none about calls that were granted meanwhile', async () => {
  let answer = (_decision: Decision): void => {};
  const line = lineOf([() => new Promise<Decision>((resolve) => (answer = resolve)), 'deny']);
  const calls = [line.start(buy, { id: 'a' }), line.start(buy, { id: 'b' }), line.start(feigned)];
  await settle();
  expect(line.asked).toHaveLength(1);
  answer({ kind: 'allowAlways', scope: 'tool' });
  expect(await calls[0]!.ended).toMatchObject({ kind: 'done' });
  expect(await calls[1]!.ended).toMatchObject({ kind: 'done' });
  await expect(calls[2]!.ended).rejects.toMatchObject({ code: 'refused' });
  expect(line.asked.map(({ tool }) => tool)).toEqual(['buy', 'feigned']);
});

test('"always" for a call, a tool or a server is asked once, and covers nothing else (003-14)', async () => {
  const other = toolOf('other');
  const tools = [buy, other];
  const rows: readonly ['call' | 'tool' | 'server', number][] = [
    ['call', 3],
    ['tool', 2],
    ['server', 1],
  ];
  for (const [scope, questions] of rows) {
    const line = lineOf([{ kind: 'allowAlways', scope }, 'allow', 'allow', 'allow'], {}, tools);
    await line.call(buy, { id: 'a' });
    await line.call(buy, { id: 'a' });
    await line.call(buy, { id: 'b' });
    await line.call(other, { id: 'a' });
    expect([scope, line.asked.length]).toEqual([scope, questions]);
  }
});

test('grants can be listed and revoked, and expire, after an hour by default', async () => {
  const grant: Decision = { kind: 'allowAlways', scope: 'tool' };
  const line = lineOf([grant, grant, { ...grant, minutes: 5 }, 'deny']);
  await line.call(buy);
  const [first] = line.grants.list();
  expect(first).toMatchObject({ scope: 'tool', server: 'shop', tools: ['buy'] });
  expect(first!.expiresAt - first!.grantedAt).toBe(3_600_000);
  expect(line.grants.revoke(first!.id)).toBe(true);
  await line.call(buy);
  expect(line.asked).toHaveLength(2);
  line.clock.advance(3_600_000);
  await line.call(buy);
  expect(line.asked).toHaveLength(3);
  line.clock.advance(300_000);
  await expect(line.call(buy)).rejects.toMatchObject({ code: 'refused' });
  expect(line.grants.list()).toEqual([]);
});

test('a grant ends when the definition changes, also for a tool of a granted server', async () => {
  for (const scope of ['call', 'tool', 'server'] as const) {
    const line = lineOf([{ kind: 'allowAlways', scope }, 'deny', 'deny']);
    await line.call(buy);
    const changed = changeTool(buy, { description: 'Does buy, and tells everybody.' });
    await expect(line.call(changed)).rejects.toMatchObject({ code: 'refused' });
    await expect(line.call(buy)).rejects.toMatchObject({ code: 'refused' });
  }
});

test('a tool that a granted server adds later needs an approval', async () => {
  const tools = [buy];
  const line = lineOf([{ kind: 'allowAlways', scope: 'server' }, 'deny'], {}, tools);
  await line.call(buy);
  await expect(line.call(toolOf('new'))).rejects.toMatchObject({ code: 'refused' });
});

test('a grant for one caller does not count for another', async () => {
  const line = lineOf([{ kind: 'allowAlways', scope: 'server' }, 'deny']);
  await line.call(buy);
  const [grant] = line.grants.list();
  expect(
    line.grants.find(`${grant!.owner}2`, { tool: buy, arguments: { id: 'a', many: 1 } }),
  ).toBeUndefined();
});

test('a grant for one server does not count for a tool of the same name on another', async () => {
  const line = lineOf([{ kind: 'allowAlways', scope: 'tool' }]);
  await line.call({ ...buy, place: { source: 'shop', name: 'buy' } });
  const [grant] = line.grants.list();
  const other = { ...buy, place: { source: 'other', name: 'buy' } };
  expect(line.grants.find(grant!.owner, { tool: other, arguments: { id: 'a', many: 1 } })).toBeUndefined();
});

test('nobody is asked about an unknown tool, nor about a call that an outer stage has approved', async () => {
  const line = lineOf([]);
  await expect(line.call(absentTool('none'))).rejects.toMatchObject({ code: 'unknown_tool' });
  const { call } = { call: createTestCall(buy, { arguments: { id: 'a' } }) };
  call.record.approval = 'apr_1';
  const source = withStages(recordingSource(buy), [approve({ ...balanced, safety: ['restricted'] })]);
  expect(await source.call(call)).toMatchObject({ kind: 'done' });
  expect(line.asked).toEqual([]);
});

test('"always" for a call compares long numbers by every digit, and shows them', async () => {
  const line = lineOf([{ kind: 'allowAlways', scope: 'call' }, 'deny']);
  const send = (digits: string): Promise<Result> =>
    line.send(buy, { arguments: { id: 'a', many: Number(digits) }, longIntegers: { many: digits } });
  await send('12345678901234567891');
  await send('12345678901234567891');
  expect(line.asked).toHaveLength(1);
  await expect(send('12345678901234567892')).rejects.toMatchObject({ code: 'refused' });
  expect(line.asked[1]!.exactArguments).toBe('{"id":"a","many":12345678901234567892}');
});

test('answers that are sent before any question are refused, because the person does not see them', async () => {
  const line = lineOf(['allow']);
  const interview = new Interview(new Map([['to', 'EVIL']]));
  await expect(line.send(buy, { arguments: { id: 'a' }, interview })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
  expect([line.asked, line.ran()]).toEqual([[], []]);
});

test('a call that continues after a question keeps its approval, a few times and for a limited time', async () => {
  const clock = createFakeClock();
  let asked = 0;
  const onToolCall = (): Decision => {
    asked++;
    return 'allow';
  };
  const questions = new Map([['q', { kind: 'roots' as const }]]);
  const inside: ToolSource = {
    ...recordingSource(buy),
    call: () => ({ kind: 'needs_input', questions, answers: new Map() }),
  };
  const source = withStages(inside, [approve(balanced, { onToolCall, clock })]);
  const round = async (how: 'first' | 'resumed', id = 'a'): Promise<number> => {
    const call = createTestCall(buy, { arguments: { id }, record: new CallRecord(how) });
    await source.call(call);
    expect(call.record.approval).toBe('person');
    return asked;
  };
  // Nobody agreed to it before.
  expect(await round('resumed')).toBe(1);
  expect(await round('first')).toBe(2);
  expect(await round('resumed')).toBe(2);
  // Neither another call nor a new one like it.
  expect(await round('resumed', 'b')).toBe(3);
  expect(await round('first')).toBe(4);
  clock.advance(300_000);
  expect(await round('resumed')).toBe(5);
  expect(await round('first')).toBe(6);
  for (let times = 0; times < 10; times++) expect(await round('resumed')).toBe(6);
  expect(await round('resumed')).toBe(7);
});

test('a tool that needs a confirmation by the model is shown to a person only after the confirmation', async () => {
  const wipe = changeTool(requireConfirmation(toolOf('wipe')), { place: { source: 'shop', name: 'wipe' } });
  const line = lineOf(['deny'], {}, [wipe]);
  expect(await line.call(wipe)).toMatchObject({ data: { status: 'confirmation_required' } });
  expect(line.asked).toEqual([]);
  await expect(line.call(wipe, { id: 'a', confirmed: true })).rejects.toMatchObject({ code: 'refused' });
  expect(line.asked).toHaveLength(1);
});

test('of rules by kind, by name and by mode the strictest applies, whoever is asked', async () => {
  const options: z.input<typeof approveOptions> = {
    when: ['destructive'],
    tools: ['*.look'],
    safety: ['restricted'],
  };
  const line = lineOf(['deny'], options);
  await expect(line.call(buy)).rejects.toThrow('not proven to be read-only');
  expect(line.asked).toEqual([]);
  await expect(line.call(look)).rejects.toThrow('denied this call of look');
  const source = withStages(recordingSource(buy, look), [approve({ ...options, mode: 'argument' })]);
  const asking = (await source.list(localCaller)).find(({ name }) => name === 'look');
  expect(asking!.inputSchema.properties).toHaveProperty('confirmed');
  await expect(async () => source.call(createTestCall(buy, { arguments: { id: 'a' } }))).rejects.toThrow(
    'not proven to be read-only',
  );
});

test('an approval by a person in an outer stage is still on record when an inner stage asks the model', async () => {
  const inside = withStages(recordingSource(buy), [approve()]);
  const source = withStages(inside, [approve(balanced, { onToolCall: () => 'allow' })]);
  const call = createTestCall(buy, { arguments: { id: 'a' } });
  expect(await source.call(call)).toMatchObject({ kind: 'done' });
  expect(call.record.approval).toBe('person');
});

// Lets everything run that only waits for a turn.
async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await Promise.resolve();
}
