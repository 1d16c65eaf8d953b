import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { propertyRuns } from '../../../test/property-runs.ts';
import { ada, callBase, callOf, fragileJournal, recordInMemory } from '../../../test/recorded-calls.ts';
import { absentTool } from '../../core/absent-tool.ts';
import type { Caller } from '../../core/caller.ts';
import { definitionDigest } from '../../core/definition-digest.ts';
import { ToolcribError, type ErrorCode } from '../../base/errors.ts';
import { definePrompt } from '../../core/prompts/prompt.ts';
import { recorded } from '../../core/record.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { defineResource } from '../../core/resources/resource.ts';
import { withStages, type Stage } from '../../core/stage.ts';
import { defineTool } from '../../core/tool.ts';
import { audit, auditOptions } from './audit.ts';

const digestKey = 'k'.repeat(43);
const look = defineTool(
  {
    name: 'look',
    description: 'Looks.',
    input: z.looseObject({}),
    annotations: { readOnlyHint: true },
  },
  () => 'seen',
);

describe('every call is on record', () => {
  test('a call has one row with time, caller, credential, tool, rule, outcome and duration (000-39, 004-20)', async () => {
    const { store, clock, rows } = recordInMemory();
    const slow: Stage = {
      name: 'slow',
      wrap: (_tool, next) => (call) => {
        clock.advance(12);
        call.record.rule = 'access[2]';
        call.record.measure(321);
        call.record.traceId = 'a'.repeat(32);
        call.record.approval = 'grace';
        return next(call);
      },
    };
    const stage = audit({}, { journal: store.journal, digestKey, policyVersion: 'p1', clock });
    const source = withStages(new ToolRegistry().registerTool(look), [stage, slow]);
    const client = {
      name: 'inspector',
      version: '2.1',
      protocolVersion: '2026-07-28',
      capabilities: {},
    };
    const call = callOf(look, { arguments: { secret: 'xyzzy' }, client });
    expect(await source.call(call)).toMatchObject({ kind: 'done' });
    expect(store.entries.map(({ chain }) => chain)).toEqual(['acme']);
    expect(rows()).toEqual([
      {
        kind: 'call',
        call: call.record.id,
        at: '2026-01-01T00:00:00.012Z',
        tenant: 'acme',
        caller: 'ada',
        credential: 'key_1',
        client: 'inspector/2.1',
        protocol: '2026-07-28',
        tool: 'look',
        definition: definitionDigest(look),
        arguments: expect.stringMatching(/^[\w-]{22}$/),
        trace: 'a'.repeat(32),
        decision: 'allowed',
        outcome: 'done',
        ms: 12,
        bytes: 321,
        rule: 'access[2]',
        approval: 'grace',
        policy: 'p1',
      },
    ]);
  });

  test.each<[ErrorCode, 'refused' | 'allowed']>([
    ['refused', 'refused'],
    ['unknown_tool', 'refused'],
    ['invalid_arguments', 'refused'],
    ['key_reused', 'refused'],
    ['outcome_unknown', 'refused'],
    ['insufficient_scope', 'refused'],
    ['upstream_unavailable', 'refused'],
    ['timed_out', 'refused'],
    ['cancelled', 'allowed'],
  ])('a call that a stage ends with %s has a row, and is recorded as %s (003-21)', async (code, decision) => {
    const { source, rows } = setUp([failing(new ToolcribError(code, 'No.'))]);
    await expect(async () => source.call(callOf(look))).rejects.toMatchObject({ code });
    expect(rows()).toMatchObject([{ kind: 'call', tool: 'look', decision, outcome: code }]);
  });

  test.each<ErrorCode>(['refused', 'upstream_unavailable', 'timed_out', 'tool_failed'])(
    'a call that its tool ends with %s is recorded as allowed (003-21)',
    async (code) => {
      const annotations = { readOnlyHint: true };
      const broken = defineTool({ name: 'broken', description: 'Fails.', annotations }, () => {
        throw new ToolcribError(code, 'No.');
      });
      const { source, rows } = setUp([], new ToolRegistry().registerTool(broken));
      await expect(async () => source.call(callOf(broken))).rejects.toMatchObject({ code });
      expect(rows()).toMatchObject([{ kind: 'call', tool: 'broken', decision: 'allowed', outcome: code }]);
    },
  );

  test('an exception has a row without its text, and the caller gets a fixed error (003-21)', async () => {
    const accident = new Error('password: hunter2');
    const { source, store } = setUp([failing(accident)]);
    const error = await (async () => source.call(callOf(look)))().then(
      ({ kind }) => expect.fail(`It ended ${kind}.`),
      (thrown: unknown) => thrown as ToolcribError,
    );
    expect(error).toMatchObject({ code: 'internal', incident: expect.stringMatching(/^[\da-f]{8}$/) });
    expect(error.message).toBe(`The server failed unexpectedly (incident ${error.incident}).`);
    // The log has the cause; code further out that records refusals skips this one.
    expect(error.cause).toBe(accident);
    expect(recorded.has(error)).toBe(true);
    expect(store.entries).toHaveLength(1);
    expect(store.entries[0]!.body).toContain('"outcome":"internal"');
    expect(store.entries[0]!.body).not.toContain('hunter2');
  });

  test('an error that is on record is marked, so that it is not recorded again', async () => {
    const error = new ToolcribError('refused', 'No.');
    const { source } = setUp([failing(error)]);
    await expect(async () => source.call(callOf(look))).rejects.toBe(error);
    expect(recorded.has(error)).toBe(true);
  });

  test('a call that asks a question has a row that says so', async () => {
    const questions = { 'q-1': { method: 'elicitation/create' } } as never;
    const asking: Stage = { name: 'ask', wrap: () => () => ({ kind: 'needs_input', questions }) as never };
    const { source, rows } = setUp([asking]);
    await source.call(callOf(look));
    expect(rows()).toMatchObject([{ decision: 'allowed', outcome: 'needs_input' }]);
  });

  test('the row of a failed or a cached result says so', async () => {
    const cached: Stage = {
      name: 'cached',
      wrap: () => (call) => {
        call.record.answerFrom('cache');
        return { kind: 'failed', data: {} };
      },
    };
    const { source, rows } = setUp([cached]);
    await source.call(callOf(look));
    expect(rows()).toMatchObject([{ outcome: 'failed', from: 'cache' }]);
  });

  test('a call that has ended cannot continue, whatever its handler does', async () => {
    const { source, rows } = setUp();
    const call = callOf(look);
    await source.call(call);
    await call.record.beforeDetaching();
    expect(rows()).toMatchObject([{ kind: 'call', outcome: 'done' }]);
  });

  test('reads of resources, prompts and completions have rows', async () => {
    const resource = defineResource({ uri: 'file:///a.txt', name: 'a' }, () => 'text');
    const prompt = definePrompt(
      { name: 'greet', arguments: { who: { complete: () => ['Eve'] } } },
      () => 'hi',
    );
    const { source, rows } = setUp([], new ToolRegistry().registerResource(resource).registerPrompt(prompt));
    await source.call({ ...callBase(), kind: 'resource', resource, uri: 'file:///a.txt', variables: {} });
    await source.call({ ...callBase(), kind: 'prompt', prompt, arguments: { who: 'Eve' } });
    const argument = { name: 'who', value: 'E' };
    await source.call({ ...callBase(), kind: 'completion', target: prompt, argument, chosen: {} });
    expect(rows()).toMatchObject([
      { kind: 'call', caller: 'ada', resource: 'a', uri: 'file:///a.txt', outcome: 'done' },
      { kind: 'call', prompt: 'greet', arguments: expect.any(String), outcome: 'done' },
      { kind: 'call', completion: 'greet', outcome: 'done' },
    ]);
  });

  test('an unknown name is recorded, cut to 200 letters, without a definition', async () => {
    const { source, rows } = setUp();
    const tool = absentTool('x'.repeat(100_000));
    await expect(async () => source.call(callOf(tool))).rejects.toMatchObject({ code: 'unknown_tool' });
    expect(rows()).toMatchObject([{ tool: `${'x'.repeat(200)}…`, outcome: 'unknown_tool' }]);
    expect(rows()[0]).not.toHaveProperty('definition');
  });

  test('a caller that is refused before there is a call is recorded', async () => {
    const { stage, rows, clock } = setUp();
    stage.refuse({ caller: ada, method: 'tasks/get', target: 't1', code: 'unknown_task' });
    clock.advance(1_000);
    expect(rows('acme')).toMatchObject([
      {
        kind: 'refusal',
        caller: 'ada',
        method: 'tasks/get',
        target: 't1',
        outcome: 'unknown_task',
        count: 1,
      },
    ]);
  });

  test('arguments that are not JSON do not stop a call from being recorded', async () => {
    const { source, rows } = setUp();
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    await source.call(callOf(look, { arguments: loop }));
    await source.call(callOf(look, { arguments: { big: 1n } }));
    expect(rows()).toMatchObject([{ arguments: 'unreadable' }, { outcome: 'done' }]);
  });
});

describe('many refusals make few rows', () => {
  test('rate-limit refusals are one row per caller, tool and second, with a count', async () => {
    const { source, rows, clock } = setUp([failing(new ToolcribError('rate_limited', 'Slow down.'))]);
    const bob: Caller = { ...ada, id: 'bob' };
    for (let n = 0; n < 500; n++) {
      for (const caller of [ada, bob])
        await expect(async () => source.call(callOf(look, { caller }))).rejects.toMatchObject({
          code: 'rate_limited',
        });
    }
    expect(rows()).toEqual([]);
    clock.advance(1_000);
    expect(rows()).toMatchObject([
      { caller: 'ada', tool: 'look', decision: 'refused', outcome: 'rate_limited', count: 500 },
      { caller: 'bob', count: 500 },
    ]);
    await expect(async () => source.call(callOf(look))).rejects.toThrow();
    clock.advance(1_000);
    expect(rows()).toHaveLength(3);
  });

  test('names made up by callers are counted as one', async () => {
    const { source, rows, clock } = setUp([failing(new ToolcribError('rate_limited', 'Slow down.'))]);
    for (let n = 0; n < 100; n++)
      await expect(async () => source.call(callOf(absentTool(`t${n}`)))).rejects.toThrow();
    clock.advance(1_000);
    expect(rows()).toMatchObject([{ tool: 't0', count: 100 }]);
  });

  test('E3 of refusals before there is a call, ten targets of a caller are named each second, and the rest are counted together', () => {
    const { stage, rows, clock } = setUp();
    const refuse = (target: string, caller = ada): void =>
      stage.refuse({ caller, method: 'tools/call', target, code: 'invalid_params' });
    for (let n = 0; n < 1_000; n++) {
      refuse('pay');
      refuse(`made-up-${n}`);
    }
    refuse('pay', { ...ada, id: 'bob' });
    clock.advance(1_000);
    const counts = (): unknown[] => rows().map(({ caller, target, count }) => [caller, target, count]);
    expect(counts()).toEqual([
      ['ada', 'pay', 1_000],
      ...Array.from({ length: 9 }, (_, n) => ['ada', `made-up-${n}`, 1]),
      ['ada', undefined, 991],
      ['bob', 'pay', 1],
    ]);
    refuse('made-up-999');
    clock.advance(1_000);
    expect(counts().at(-1)).toEqual(['ada', 'made-up-999', 1]);
  });

  test('callers whose tenant and name look the same when joined have separate rows', async () => {
    const { stage, rows, clock } = setUp();
    for (const [id, method] of [
      ['a b', 'c'],
      ['a', 'b c'],
    ] as const)
      stage.refuse({ caller: { ...ada, id }, method, target: undefined, code: 'unknown_method' });
    clock.advance(1_000);
    expect(rows()).toMatchObject([{ caller: 'a b' }, { caller: 'a' }]);
  });

  test('open counts are written before the record is closed', async () => {
    const { source, rows, stage } = setUp([failing(new ToolcribError('busy', 'Later.'))]);
    await expect(async () => source.call(callOf(look))).rejects.toThrow();
    stage.flush();
    expect(rows()).toMatchObject([{ outcome: 'busy', count: 1 }]);
  });

  test('other refusals are written one by one', async () => {
    const { source, rows } = setUp([failing(new ToolcribError('refused', 'No.'))]);
    for (let n = 0; n < 3; n++) await expect(async () => source.call(callOf(look))).rejects.toThrow();
    expect(rows()).toHaveLength(3);
  });
});

describe('E3 R3 without a record nothing runs', () => {
  test('R3 a call is refused while no row can be written', async () => {
    const journal = fragileJournal();
    const runs: unknown[] = [];
    const source = withStages(new ToolRegistry().registerTool(counting(runs)), [
      audit({}, { journal, digestKey }),
    ]);
    journal.isReady = false;
    const tool = (await source.find('count', ada))!;
    expect(() => source.call(callOf(tool))).toThrow(
      expect.objectContaining({ code: 'record_unavailable' }) as Error,
    );
    expect(runs).toEqual([]);
    journal.isReady = true;
    await source.call(callOf(tool));
    expect(runs).toHaveLength(1);
  });

  test('R3 control: without the stage the same call runs', async () => {
    const runs: unknown[] = [];
    const tool = counting(runs);
    await withStages(new ToolRegistry().registerTool(tool), []).call(callOf(tool));
    expect(runs).toHaveLength(1);
  });

  test('R3 a result whose row cannot be written is not returned', async () => {
    const { stage, journal } = fragile();
    const source = withStages(new ToolRegistry().registerTool(look), [stage]);
    journal.failing = true;
    await expect(async () => source.call(callOf(look))).rejects.toThrow('disk full');
  });

  test('the response waits until its row is on stable storage', async () => {
    const { stage, journal } = fragile();
    let written = (): void => {};
    const entries: unknown[] = [];
    journal.append = (entry) =>
      new Promise((resolve) => {
        entries.push(entry);
        written = resolve;
      });
    const source = withStages(new ToolRegistry().registerTool(look), [stage]);
    let isAnswered = false;
    const answer = Promise.resolve(source.call(callOf(look))).then(() => (isAnswered = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect([entries.length, isAnswered]).toEqual([1, false]);
    written();
    await answer;
    expect(isAnswered).toBe(true);
  });
});

describe('E2 text of callers stays in one row', () => {
  const hostile = [
    'a\r\nb',
    'a\n@operator\t1\tx\t{"kind":"cut"}',
    '\t\t\t',
    '\u001b[2J\u001b]0;owned\u0007',
    '\u009b31m',
    'user\u202etxt.exe',
    '\u{e0061}\u{e0062}',
    '\u2028\u2029\u0000\ufeff\u200b',
    '","outcome":"done","x":"',
    '\ud800',
    '__proto__',
    '=cmd|calc!A1',
  ];

  test.each(hostile)('E2 %j in every field', async (text) => {
    const { source, store } = setUp();
    const client = { name: text, version: text, protocolVersion: text, capabilities: {} };
    const caller: Caller = { ...ada, id: text, credential: text, tenant: { ...ada.tenant, id: text } };
    const call = callOf(absentTool(text), { caller, client, arguments: { [text]: text } });
    call.record.rule = text;
    call.record.traceId = text;
    await expect(async () => source.call(call)).rejects.toMatchObject({ code: 'unknown_tool' });
    expect(store.entries).toHaveLength(1);
    const { chain, body } = store.entries[0]!;
    expect(body).toMatch(/^[\x20-\x7e]+$/);
    expect(chain).toMatch(/^[!-~]+$/);
    expect(JSON.parse(body)).toMatchObject({
      tool: text,
      caller: text,
      tenant: text,
      credential: text,
      client: `${text}/${text}`,
      rule: text,
      trace: text,
      outcome: 'unknown_tool',
    });
  });

  test('E2 any text in any field is one row that reads back unchanged', async () => {
    const { source, store } = setUp();
    const anything = fc.string({ unit: 'binary', maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(anything, anything, anything, async (name, id, value) => {
        const before = store.entries.length;
        const caller: Caller = { ...ada, id, tenant: { ...ada.tenant, id } };
        const client = { name, version: undefined, protocolVersion: undefined, capabilities: {} };
        const call = callOf(absentTool(name), { caller, client, arguments: { value } });
        await expect(async () => source.call(call)).rejects.toMatchObject({ code: 'unknown_tool' });
        expect(store.entries).toHaveLength(before + 1);
        const { body, chain } = store.entries.at(-1)!;
        expect(body).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
        expect(chain).toMatch(/^[!-~]+$/);
        expect(JSON.parse(body)).toMatchObject({ tool: name, caller: id, tenant: id, client: name });
      }),
      { numRuns: propertyRuns() },
    );
  });

  test('E2 no tenant can write to the chain of the operators or of another tenant', async () => {
    const { source, store } = setUp();
    const ids = [
      '@operator',
      '%40operator',
      '"@operator"',
      'acme',
      'acme ',
      'ACME',
      '',
      '\ud800',
      '\ud801',
      '%22%22',
    ];
    for (const id of ids)
      await source.call(callOf(look, { caller: { ...ada, tenant: { ...ada.tenant, id } } }));
    const chains = store.entries.map(({ chain }) => chain);
    expect(new Set(chains).size).toBe(ids.length);
    expect(chains).not.toContain('@operator');
  });
});

test('the options have exactly the documented defaults', () => {
  expect(auditOptions.parse({})).toEqual({
    arguments: 'hashed',
    retentionDays: 90,
    checkpoints: ['./toolcrib.checkpoints'],
    checkpointSeconds: 10,
  });
  expect(auditOptions.safeParse({ argument: 'none' }).success).toBe(false);
});

function setUp(stages: readonly Stage[] = [], registry = new ToolRegistry().registerTool(look)) {
  const record = recordInMemory();
  const stage = audit({}, { journal: record.store.journal, digestKey, clock: record.clock });
  return { ...record, stage, source: withStages(registry, [stage, ...stages]) };
}

function fragile() {
  const journal = fragileJournal();
  return { journal, stage: audit({}, { journal, digestKey }) };
}

function failing(error: Error): Stage {
  return {
    name: 'failing',
    wrap: () => () => {
      throw error;
    },
  };
}

function counting(runs: unknown[]) {
  return defineTool(
    { name: 'count', description: 'Counts.', input: z.object({}), annotations: { readOnlyHint: true } },
    () => {
      runs.push(1);
      return 'counted';
    },
  );
}
