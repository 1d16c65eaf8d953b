import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ToolCall } from '../core/call.ts';
import { CallRecord } from '../core/record.ts';
import { localCaller, type Caller } from '../core/caller.ts';
import { ownerOf } from '../core/caller.ts';
import { ToolcribError } from '../base/errors.ts';
import { Interview } from '../core/interview.ts';
import type { Memory } from '../core/memory/memory.ts';
import { ToolRegistry } from '../core/registry.ts';
import type { Result } from '../core/result.ts';
import type { ToolSource } from '../core/source.ts';
import { withStages, type Stage } from '../core/stage.ts';
import { defineTool, type Tool } from '../core/tool.ts';
import { validateInput, validateOutput } from '../core/essentials/validate.ts';
import { createInMemoryStore, type InMemoryStore } from '../store/memory/store.ts';
import type { Journal, Reservations } from '../store/store.ts';
import { createFakeClock, createTestCall, recordingSource } from '../testing.ts';
import { idempotency, idempotencyOptions } from './idempotency.ts';

const ada: Caller = { ...localCaller, id: 'ada' };
const bob: Caller = { ...localCaller, id: 'bob' };
const strangerAda: Caller = { ...ada, tenant: { ...ada.tenant, id: 'other' } };
const KEY = 'dev.toolcrib/idempotencyKey';
const HOUR_MS = 3_600_000;

describe('R6 effects happen once', () => {
  test('R6 1,000 parallel calls with one key run the tool exactly once', async () => {
    const { pay, source, runs } = setUp();
    const endings = await Promise.allSettled(
      Array.from({ length: 1_000 }, async () => source.call(callOf(pay))),
    );
    expect(runs).toHaveLength(1);
    expect(endings.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refusals = endings.flatMap((ending) => (ending.status === 'rejected' ? [ending.reason] : []));
    for (const reason of refusals) expect(reason).toMatchObject({ code: 'outcome_unknown' });
    // A refused caller gets the outcome by calling again.
    expect(await source.call(callOf(pay))).toEqual(paid(1));
    expect(runs).toHaveLength(1);
  });

  test('R6 1,000 parallel calls through as many processes that share a store run the tool exactly once', async () => {
    const { pay, runs, store, processOf } = setUp();
    const endings = await Promise.allSettled(
      Array.from({ length: 1_000 }, async () => processOf(store).call(callOf(pay))),
    );
    expect(runs).toHaveLength(1);
    expect(endings.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('R6 control: without the stage every one of the parallel calls runs the tool', async () => {
    const { pay, registry, store, runs } = setUp();
    const open = withStages(registry, [commitTo(store.journal)]);
    await Promise.all(Array.from({ length: 1_000 }, async () => open.call(callOf(pay))));
    expect(runs).toHaveLength(1_000);
  });

  test('R6 the same key with other arguments, for another tool or another version of it is refused', async () => {
    const { pay, refund, source, runs, processOf, store } = setUp();
    await source.call(callOf(pay));
    await expectRefusal(source, callOf(pay, { args: { amount: 6 } }), 'key_reused');
    await expectRefusal(source, callOf(refund), 'key_reused');
    const changed: Tool = { ...pay, description: 'Pays somebody else.' };
    await expectRefusal(processOf(store, changed), callOf(changed), 'key_reused');
    expect(runs).toHaveLength(1);
    // The order of the arguments makes no difference.
    const reordered = callOf(pay, { args: { to: 'Eve', amount: 5 } });
    expect(await source.call(reordered)).toEqual(paid(1));
  });

  test('R6 after a crash during a call the retry gets "outcome unknown", and the tool does not run again', async () => {
    const { pay, runs, store, processOf } = setUp();
    void processOf(crashing(store)).call(callOf(pay));
    await settle();
    expect(runs).toHaveLength(1);
    const survivor = processOf(store);
    for (let attempt = 0; attempt < 3; attempt++) {
      const error = await expectRefusal(survivor, callOf(pay), 'outcome_unknown');
      expect(error.message).toContain('was begun and its outcome is not known');
    }
    await expectRefusal(survivor, callOf(pay, { args: { amount: 6 } }), 'key_reused');
    expect(runs).toHaveLength(1);
  });

  test('R6 a key is stored for 24 hours, and a shorter time cannot be set', async () => {
    const { pay, source, runs, clock } = setUp();
    await source.call(callOf(pay));
    clock.advance(24 * HOUR_MS - 1);
    expect(await source.call(callOf(pay))).toEqual(paid(1));
    clock.advance(1);
    expect(await source.call(callOf(pay))).toEqual(paid(2));
    expect(runs).toHaveLength(2);
    expect(() => idempotencyOptions.parse({ keepHours: 23.9 })).toThrow();
  });

  test('B12 100 calls with one key run the tool once, however they are spread over time', async () => {
    const { pay, source, runs } = setUp();
    for (let n = 0; n < 100; n++) {
      const send = async (): Promise<Result> => source.call(callOf(pay));
      await Promise.allSettled([send(), send()]);
    }
    expect(runs).toHaveLength(1);
  });
});

describe('A9/B9 keys are private', () => {
  test('A9/B9 equal keys of another caller or another tenant are different keys', async () => {
    const { pay, source, runs } = setUp();
    expect(await source.call(callOf(pay, { caller: ada }))).toEqual(paid(1));
    expect(await source.call(callOf(pay, { caller: bob }))).toEqual(paid(2));
    expect(await source.call(callOf(pay, { caller: strangerAda }))).toEqual(paid(3));
    // Other arguments under the foreign key are no conflict either: nothing tells that it is in use.
    expect(
      await source.call(callOf(pay, { caller: { ...bob, tenant: strangerAda.tenant }, args: { amount: 9 } })),
    ).toEqual(paid(4));
    expect(runs).toHaveLength(4);
  });

  test('A9/B9 simultaneous calls of other callers under the same key do not affect each other', async () => {
    const { pay, source } = setUp();
    const callers = [ada, bob, strangerAda];
    const results = await Promise.all(callers.map(async (caller) => source.call(callOf(pay, { caller }))));
    expect(results.map(({ kind }) => kind)).toEqual(['done', 'done', 'done']);
  });

  test("A9/B9 control: callers that were confused would get each other's result", async () => {
    const { pay, source } = setUp();
    expect(await source.call(callOf(pay, { caller: ada }))).toEqual(paid(1));
    expect(await source.call(callOf(pay, { caller: { ...bob, id: 'ada' } }))).toEqual(paid(1));
  });
});

describe('outcomes', () => {
  test('a replay is the first result, unchanged, and marked as a replay', async () => {
    const rich: Result = {
      kind: 'done',
      content: [
        { type: 'text', text: 'Grüße \u{1f600}\u2028' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
      data: { list: [1, null, { deep: 'yes' }], empty: {}, '': 0 },
      meta: { 'dev.example/note': true },
      extra: { later: ['field'] },
    };
    const { store, processOf, wire } = setUp();
    const source = processOf(
      store,
      wire(() => rich),
    );
    const first = callOf(wire());
    expect(await source.call(first)).toEqual(rich);
    expect(first.record.answeredFrom).toBeUndefined();
    const again = callOf(wire());
    expect(await source.call(again)).toEqual(rich);
    expect(again.record.answeredFrom).toBe('replay');
  });

  test('a failed result is replayed too', async () => {
    const { wire, source, runs } = setUp();
    const tool = wire(() => ({ kind: 'failed', content: [{ type: 'text', text: 'No money.' }] }));
    expect(await source.call(callOf(tool))).toMatchObject({ kind: 'failed' });
    expect(await source.call(callOf(tool))).toEqual({
      kind: 'failed',
      content: [{ type: 'text', text: 'No money.' }],
    });
    expect(runs).toHaveLength(1);
  });

  test('an error for the model is replayed with the same code, message and data', async () => {
    const { wire, source, runs } = setUp();
    const tool = wire(() => {
      throw new ToolcribError('tool_failed', 'The card was refused.', { data: { retryAfter: 5 } });
    });
    for (let n = 0; n < 2; n++) {
      const error = await expectRefusal(source, callOf(tool), 'tool_failed');
      expect(error.message).toBe('The card was refused.');
      expect(error.data).toEqual({ retryAfter: 5 });
    }
    expect(runs).toHaveLength(1);
  });

  test('output that breaks the output schema is a failure of a call that ran, and is replayed', async () => {
    const { store, runs, processOf, wire } = setUp();
    const tool: Tool = {
      ...wire(() => ({ kind: 'done', data: 'no number' })),
      outputSchema: { type: 'number' },
    };
    const source = processOf(store, tool);
    for (let n = 0; n < 2; n++) await expectRefusal(source, callOf(tool), 'invalid_output');
    expect(runs).toHaveLength(1);
  });

  test.each(['timed_out', 'cancelled', 'internal', 'upstream_unavailable'] as const)(
    'after %s the outcome is unknown, and the call is not run again',
    async (code) => {
      const { wire, source, runs } = setUp();
      const tool = wire(() => {
        throw new ToolcribError(code, 'It is over.');
      });
      await expectRefusal(source, callOf(tool), code);
      await expectRefusal(source, callOf(tool), 'outcome_unknown');
      expect(runs).toHaveLength(1);
    },
  );

  test('the error of a call that was stopped is not stored as its outcome', async () => {
    const { wire, source, runs } = setUp();
    const call = callOf(
      wire(() => {
        call.cancellation.abort(new ToolcribError('cancelled', 'Gone.'));
        throw new ToolcribError('tool_failed', 'The connection was closed.');
      }),
    );
    await expectRefusal(source, call, 'tool_failed');
    await expectRefusal(source, callOf(call.tool), 'outcome_unknown');
    expect(runs).toHaveLength(1);
  });

  test('while the first call runs, a second one is told to wait; other arguments are refused', async () => {
    const { wire, source } = setUp();
    let finish = (_result: Result): void => {};
    const tool = wire(() => new Promise<Result>((resolve) => (finish = resolve)));
    const first = source.call(callOf(tool));
    await settle();
    const error = await expectRefusal(source, callOf(tool), 'outcome_unknown');
    expect(error.message).toContain('still running');
    await expectRefusal(source, callOf(tool, { args: { amount: 6 } }), 'key_reused');
    finish({ kind: 'done', data: 'at last' });
    expect(await first).toEqual({ kind: 'done', data: 'at last' });
    expect(await source.call(callOf(tool))).toEqual({ kind: 'done', data: 'at last' });
  });

  test('when the outcome cannot be stored, the caller still gets the result; a retry gets "outcome unknown" and runs nothing', async () => {
    const { pay, runs, store, processOf } = setUp();
    const full: Reservations = {
      find: (owner, key) => store.reservations.find(owner, key),
      finish: () => Promise.reject(new ToolcribError('record_unavailable', 'The disk is full.')),
      release: (owner, key) => store.reservations.release(owner, key),
    };
    const source = processOf({ ...store, reservations: full });
    expect(await source.call(callOf(pay))).toEqual(paid(1));
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await expectRefusal(source, callOf(pay), 'outcome_unknown');
      expect(error.message).toContain('was begun and its outcome is not known');
    }
    expect(runs).toHaveLength(1);
  });
});

test('A8 a retry of a call whose outcome was too large to store learns that it ended, and runs nothing', async () => {
  const { registry, store, runs, processOf } = setUp();
  const archive = defineTool({ name: 'export', description: 'Exports.', input: z.looseObject({}) }, () => {
    runs.push(1);
    return 'x'.repeat(3 * 1_048_576);
  });
  registry.registerTool(archive);
  const source = processOf(store);
  expect(await source.call(callOf(archive))).toMatchObject({ kind: 'done' });
  const error = await expectRefusal(source, callOf(archive), 'outcome_not_kept');
  expect(error.message).toMatch(
    /has ended, and is not run again\. Its outcome \(3145\d{3} bytes, SHA-256 [\w-]{43}\)/,
  );
  expect(error.data).toMatchObject({ bytes: expect.any(Number), digest: expect.any(String) });
  await expectRefusal(source, callOf(archive, { args: { other: 1 } }), 'key_reused');
  expect(runs).toHaveLength(1);
});

describe('what is not stored', () => {
  test('a refusal before the intent leaves the key unused', async () => {
    const { pay, registry, store, runs, clock } = setUp();
    let isAllowed = false;
    const approve: Stage = {
      name: 'approve',
      wrap: (_tool, next) => (call) => {
        if (!isAllowed) throw new ToolcribError('refused', 'Nobody agreed.');
        return next(call);
      },
    };
    const { reservations, journal } = store;
    const source = withStages(registry, [
      idempotency({}, { reservations, clock }),
      approve,
      commitTo(journal),
    ]);
    await expectRefusal(source, callOf(pay), 'refused');
    isAllowed = true;
    expect(await source.call(callOf(pay))).toEqual(paid(1));
    expect(runs).toHaveLength(1);
  });

  test('invalid arguments leave the key unused', async () => {
    const { pay, source } = setUp();
    await expectRefusal(source, callOf(pay, { args: { amount: 'five' } }), 'invalid_arguments');
    expect(await source.call(callOf(pay))).toEqual(paid(1));
  });

  test('a question releases the key, the answer continues under it, and then the key is used', async () => {
    const { store, processOf, wire } = setUp();
    const effects: string[] = [];
    const ask: Tool['handler'] = async (_args, ctx) => {
      const { action } = await ctx.elicit({
        message: 'Sure?',
        schema: { type: 'object', properties: { yes: { type: 'boolean' } } },
      });
      effects.push(action);
      return `It was ${action}.`;
    };
    const tool: Tool = { ...wire(), handler: ask };
    const source = processOf(store, tool);
    expect(await source.call(callOf(tool))).toMatchObject({ kind: 'needs_input' });
    expect(store.reservations.find(ownerOf(ada), 'k-1')).toBeUndefined();

    const answer = { action: 'accept', content: { yes: true } };
    const resumed = (): ToolCall => {
      const interview = new Interview(new Map([['question-1', answer]]));
      return { ...callOf(tool), interview, record: new CallRecord('resumed') };
    };
    const done = { kind: 'done', content: [{ type: 'text', text: 'It was accept.' }] };
    expect(await source.call(resumed())).toEqual(done);
    expect(await source.call(resumed())).toEqual(done);
    expect(await source.call(callOf(tool))).toEqual(done);
    expect(effects).toEqual(['accept']);
  });

  test('a call does not continue if another round under its key crashed', async () => {
    const { pay, runs, store, processOf } = setUp();
    void processOf(crashing(store)).call(callOf(pay));
    await settle();
    const resumed = { ...callOf(pay), record: new CallRecord('resumed') };
    await expectRefusal(processOf(store), resumed, 'outcome_unknown');
    expect(runs).toHaveLength(1);
  });

  test('a question before the intent releases no key', async () => {
    const { pay, registry, store, clock } = setUp();
    const released: string[] = [];
    const reservations: Reservations = {
      find: (owner, key) => store.reservations.find(owner, key),
      finish: (owner, key, outcome) => store.reservations.finish(owner, key, outcome),
      release: async (_owner, key) => void released.push(key),
    };
    const approve: Stage = {
      name: 'approve',
      wrap: () => () => ({ kind: 'needs_input', questions: new Map(), answers: new Map() }),
    };
    const source = withStages(registry, [
      idempotency({}, { reservations, clock }),
      approve,
      commitTo(store.journal),
    ]);
    expect(await source.call(callOf(pay))).toMatchObject({ kind: 'needs_input' });
    expect(released).toEqual([]);
  });
});

describe('keys', () => {
  test.each(['', ' ', 'a b', 'x'.repeat(256), 'ä', 'a\n', '\u200b', 7, null, {}])(
    'the key %j is refused with a text that says what a key is',
    async (key) => {
      const { pay, source, runs } = setUp();
      const error = await expectRefusal(source, callOf(pay, { key }), 'invalid_arguments');
      expect(error.message).toContain('1 to 255 visible ASCII characters');
      expect(runs).toEqual([]);
    },
  );

  test('without a key each call runs, unless keys are required', async () => {
    const { pay, source, runs, registry, store } = setUp();
    for (let n = 0; n < 2; n++) await source.call(callOf(pay, { key: undefined }));
    expect(runs).toHaveLength(2);
    const { reservations, journal } = store;
    const strict = withStages(registry, [
      idempotency({ required: true }, { reservations }),
      commitTo(journal),
    ]);
    const error = await expectRefusal(strict, callOf(pay, { key: undefined }), 'invalid_arguments');
    expect(error.message).toContain(KEY);
    expect(runs).toHaveLength(2);
    expect(await strict.call(callOf(pay))).toEqual(paid(3));
  });

  test('calls of a read-only tool are not changed', () => {
    const { pay, store } = setUp();
    const next = (): Result => ({ kind: 'done' });
    const stage = idempotency({ required: true }, { reservations: store.reservations });
    const reading: Tool = { ...pay, annotations: { readOnlyHint: true } };
    expect(stage.wrap!(reading, next)).toBe(next);
    expect(stage.wrap!(pay, next)).not.toBe(next);
  });

  test('a key is refused with arguments that cannot be compared', async () => {
    const { store, processOf, runs } = setUp();
    const tool = defineTool(
      {
        name: 'tag',
        description: 'Tags.',
        input: z.object({ tags: z.string().transform((text) => new Set(text.split(','))) }),
      },
      () => runs.push({}),
    ) as unknown as Tool;
    const source = processOf(store, tool);
    await expectRefusal(source, callOf(tool, { args: { tags: 'a,b' } }), 'invalid_arguments');
    expect(runs).toEqual([]);
  });
});

test('a configuration without commit after idempotency fails at the first call with a key', async () => {
  const { store, pay } = setUp();
  const source = withStages(recordingSource(pay), [idempotency({}, { reservations: store.reservations })]);
  await expectRefusal(source, callOf(pay, { key: 'k-1' }), 'invalid_setup');
});

interface SetUp {
  readonly pay: Tool;
  readonly refund: Tool;
  readonly runs: unknown[];
  readonly registry: ToolRegistry;
  readonly source: ToolSource;
  readonly store: InMemoryStore;
  readonly clock: ReturnType<typeof createFakeClock>;
  /** A process with a stage of its own on a store, and tools beside the usual ones. */
  readonly processOf: (
    store: Pick<InMemoryStore, 'journal' | 'reservations'>,
    ...tools: Tool[]
  ) => ToolSource;
  /** The tool whose function is a step of its own, so that it can end in any way. */
  readonly wire: (work?: () => Result | Promise<Result>) => Tool;
}

function setUp(): SetUp {
  const runs: unknown[] = [];
  const clock = createFakeClock();
  // Nothing here uses what the protocol remembers.
  const store = createInMemoryStore({ clock, memory: {} as Memory });
  const toolCalled = (name: string, description: string): Tool => ({
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: { amount: { type: 'number', default: 5 }, to: { type: 'string', default: 'Eve' } },
    },
    handler: (args) => ({ receipt: runs.push(args) }),
  });
  const pay = toolCalled('pay', 'Pays.');
  const refund = toolCalled('refund', 'Refunds.');
  const wired = toolCalled('wire', 'Wires.');
  let work: () => Result | Promise<Result> = () => ({ kind: 'done' });
  const last: Stage = {
    name: 'last',
    wrap: (tool, next) => (call) => {
      if (tool.name !== 'wire' || tool.handler !== wired.handler) return next(call);
      runs.push(call.arguments);
      return work();
    },
  };
  const registry = new ToolRegistry().registerTool(pay, refund);
  const processOf: SetUp['processOf'] = ({ journal, reservations }, ...tools) => {
    const all = tools.length === 0 ? [pay, refund, wired] : tools;
    const stages = [
      validateInput,
      idempotency({}, { reservations, clock }),
      validateOutput,
      commitTo(journal),
      last,
    ];
    return withStages(new ToolRegistry().registerTool(...all), stages);
  };
  return {
    pay,
    refund,
    runs,
    registry,
    source: processOf(store),
    store,
    clock,
    processOf,
    wire: (does) => {
      if (does) work = does;
      return wired;
    },
  };
}

/** What the commit stage does, as far as keys go. */
function commitTo(journal: Journal): Stage {
  return {
    name: 'commit',
    wrap: (_tool, next) => async (call) => {
      const answer = await journal.commit({ chain: 'acme', body: 'intent' }, call.record.reservation);
      if (answer === 'taken') throw new ToolcribError('outcome_unknown', 'A call was begun elsewhere.');
      call.record.noteIntent();
      call.record.letRun();
      return next(call);
    },
  };
}

/** A process that dies when the tool has run: what it would have kept never reaches the store. */
function crashing({ journal, reservations }: InMemoryStore): Pick<InMemoryStore, 'journal' | 'reservations'> {
  return {
    journal,
    reservations: {
      find: (owner, key) => reservations.find(owner, key),
      finish: () => new Promise(() => {}),
      release: () => new Promise(() => {}),
    },
  };
}

interface CallOptions {
  readonly caller?: Caller;
  readonly args?: Record<string, unknown>;
  readonly key?: unknown;
}

function callOf(tool: Tool, options: CallOptions = {}): ToolCall {
  const { caller = ada, args = { amount: 5, to: 'Eve' } } = options;
  const key = 'key' in options ? options.key : 'k-1';
  return createTestCall(tool, { arguments: args, caller, meta: key === undefined ? {} : { [KEY]: key } });
}

function paid(receipt: number): Result {
  return { kind: 'done', data: { receipt } };
}

async function expectRefusal(source: ToolSource, call: ToolCall, code: string): Promise<ToolcribError> {
  const error = await (async () => source.call(call))().then(
    (result) => expect.fail(`It ended ${result.kind}.`),
    (thrown: unknown) => thrown as ToolcribError,
  );
  expect(error).toMatchObject({ code });
  return error;
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
