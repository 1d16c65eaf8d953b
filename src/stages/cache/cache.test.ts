import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { propertyRuns } from '../../../test/property-runs.ts';
import type { ToolCall, Voice } from '../../core/call.ts';
import { CallRecord } from '../../core/record.ts';
import { localCaller, type Caller } from '../../core/caller.ts';
import type { Clock } from '../../base/clock.ts';
import type { ToolContext } from '../../core/context.ts';
import { ToolcribError } from '../../base/errors.ts';
import { Interview } from '../../core/interview.ts';
import { ToolRegistry } from '../../core/registry.ts';
import type { Result } from '../../core/result.ts';
import type { ToolSource } from '../../core/source.ts';
import { withStages, type Stage } from '../../core/stage.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { validateInput } from '../../core/essentials/validate.ts';
import { createFakeClock, createTestCall } from '../../testing.ts';
import { cache } from './cache.ts';
import { ResultCache } from './result-cache.ts';

const acme = { id: 'acme', name: 'Acme', data: {} };
const rival = { id: 'rival', name: 'Rival', data: {} };
const ada: Caller = { ...localCaller, id: 'ada', tenant: acme };
const bob: Caller = { ...localCaller, id: 'bob', tenant: acme };
const rivalAda: Caller = { ...ada, tenant: rival };

describe('cached results', () => {
  test('a result is cached for 300 s under a key of tenant, tool and arguments (001-56)', async () => {
    const { source, runs, clock } = setUp(noting('look'), noting('peek'));
    const first = await source.call(callOf('look'));
    clock.advance(299_999);
    expect(await source.call(callOf('look'))).toEqual(first);
    expect(runs).toHaveLength(1);
    await source.call(callOf('look', { args: { q: 'other' } }));
    await source.call(callOf('peek'));
    await source.call(callOf('look', { caller: rivalAda }));
    expect(runs).toHaveLength(4);
    clock.advance(1);
    expect(await source.call(callOf('look'))).not.toEqual(first);
    expect(runs).toHaveLength(5);
  });

  test('the record says that a result came from the cache, and the order of arguments does not matter', async () => {
    const { source, runs } = setUp(noting('look'));
    const first = callOf('look', { args: { a: 1, q: 'x' } });
    const second = callOf('look', { args: { q: 'x', a: 1 } });
    await source.call(first);
    await source.call(second);
    expect([first.record.answeredFrom, second.record.answeredFrom]).toEqual([undefined, 'cache']);
    expect(runs).toHaveLength(1);
  });

  test('only tools that are read-only and ask for caching are cached', () => {
    const next = (): Result => ({ kind: 'done' });
    const stage = cache({}, { policyVersion: '1' });
    const look = noting('look')([], []);
    const { cache: _cache, ...unasked } = look;
    const { annotations: _annotations, ...undeclared } = look;
    const assumed: Tool = { ...look, assumedHints: ['readOnlyHint'] };
    for (const tool of [unasked, undeclared, assumed, { ...look, cache: { seconds: Number.NaN } }])
      expect(stage.wrap!(tool, next)).toBe(next);
    expect(stage.wrap!(look, next)).not.toBe(next);
  });

  test('no tool caches for longer than the configuration allows', async () => {
    const { source, runs, clock } = setUp({ options: { maxSeconds: 10 } }, noting('look'));
    await source.call(callOf('look'));
    clock.advance(10_000);
    await source.call(callOf('look'));
    expect(runs).toHaveLength(2);
  });

  test('failures are not cached, whether returned or thrown', async () => {
    let isBroken = true;
    const flaky = noting('look', () => {
      if (isBroken) throw new ToolcribError('tool_failed', 'Not now.');
      return { ok: true };
    });
    const sorry = noting('peek', () => ({ error: 'Nothing there.' }));
    const { source, runs } = setUp(flaky, sorry);
    await expect(send(source, callOf('look'))).rejects.toMatchObject({ code: 'tool_failed' });
    isBroken = false;
    expect(await source.call(callOf('look'))).toEqual({ kind: 'done', data: { ok: true } });
    for (let n = 0; n < 2; n++) expect(await source.call(callOf('peek'))).toMatchObject({ kind: 'failed' });
    expect(runs).toHaveLength(4);
  });

  test('changing a returned result does not change the cached one', async () => {
    const { source } = setUp(noting('look', () => ({ list: [1] })));
    for (let n = 0; n < 3; n++) {
      const result = (await source.call(callOf('look'))) as { data: { list: number[] } };
      expect(result.data.list).toEqual([1]);
      result.data.list.push(2);
    }
  });

  test('a call whose arguments cannot be compared is never answered from the cache', async () => {
    const tags = (runs: unknown[]): Tool =>
      defineTool(
        {
          name: 'tags',
          description: 'Counts tags.',
          input: z.object({ tags: z.string().transform((text) => new Set(text.split(','))) }),
          annotations: { readOnlyHint: true },
          cache: { seconds: 300 },
        },
        ({ tags: given }) => {
          runs.push(given);
          return { count: given.size };
        },
      );
    const { source, runs } = setUp(tags);
    expect(await source.call(callOf('tags', { args: { tags: 'a' } }))).toMatchObject({ data: { count: 1 } });
    expect(await source.call(callOf('tags', { args: { tags: 'a,b' } }))).toMatchObject({
      data: { count: 2 },
    });
    expect(runs).toHaveLength(2);
  });
});

describe('B10 results are cached for their own caller', () => {
  const whoami = noting('whoami', (_args, { caller, tenant }) => ({
    nonce: crypto.randomUUID(),
    caller: caller.id,
    tenant: tenant.id,
  }));

  test('B10 two callers with the same tool and arguments each get their own result', async () => {
    const { source } = setUp(whoami);
    const seen = new Map<Caller, unknown>();
    for (const caller of [ada, bob, rivalAda]) {
      const result = await source.call(callOf('whoami', { caller }));
      expect(result).toMatchObject({ data: { caller: caller.id, tenant: caller.tenant.id } });
      seen.set(caller, result);
    }
    for (const [caller, result] of seen)
      expect(await source.call(callOf('whoami', { caller }))).toEqual(result);
  });

  test('B10 control: with shared, callers of one tenant get the same result, and other tenants still do not', async () => {
    const shared = (runs: unknown[]): Tool => ({
      ...whoami(runs, []),
      cache: { seconds: 300, shared: true },
    });
    const { source } = setUp(shared);
    const first = await source.call(callOf('whoami', { caller: ada }));
    expect(await source.call(callOf('whoami', { caller: bob }))).toEqual(first);
    expect(await source.call(callOf('whoami', { caller: rivalAda }))).toMatchObject({
      data: { tenant: 'rival' },
    });
  });

  test.each([
    ['a role is taken away', { ...ada, roles: ['admin'] }, { ...ada, roles: [] }],
    ['a scope is taken away', { ...ada, scopes: ['a', 'b'] }, { ...ada, scopes: ['a'] }],
    ['the tenant changes', ada, { ...ada, tenant: { ...acme, data: { plan: 'free' } } }],
  ])('B10 when %s, the next call misses', async (_what, before, after) => {
    const { source, runs } = setUp(noting('look'));
    await source.call(callOf('look', { caller: before }));
    await source.call(callOf('look', { caller: { ...before } }));
    expect(runs).toHaveLength(1);
    await source.call(callOf('look', { caller: after }));
    expect(runs).toHaveLength(2);
  });

  test('B10 when the policy or the tool changes, the next call misses; when neither changes, a new configuration keeps the cache', async () => {
    const results = new ResultCache();
    const runs: unknown[] = [];
    const look = noting('look')(runs, []);
    const sourceOf = (policyVersion: string, tool = look): ToolSource =>
      withStages(new ToolRegistry().registerTool(tool), [cache({}, { policyVersion, results })]);
    await sourceOf('1').call(callOf(look));
    await sourceOf('1').call(callOf(look));
    expect(runs).toHaveLength(1);
    await sourceOf('2').call(callOf(look));
    expect(runs).toHaveLength(2);
    const changed = { ...look, description: 'Looks elsewhere.' };
    await sourceOf('2', changed).call(callOf(changed));
    expect(runs).toHaveLength(3);
    // A shared result is not used for a single caller.
    const opened = { ...look, cache: { seconds: 300, shared: true } };
    await sourceOf('2', opened).call(callOf(opened));
    expect(runs).toHaveLength(4);
  });
});

describe('equal calls at the same time', () => {
  test('share one run, and each caller gets its own copy of the result', async () => {
    const { source, runs, finish } = setUp(waiting('look'));
    const calls = Array.from({ length: 100 }, () => callOf('look'));
    const results = Promise.all(calls.map((call) => send(source, call)));
    await settle();
    finish({ found: [1] });
    const all = (await results) as { data: { found: number[] } }[];
    expect(runs).toHaveLength(1);
    all[0]!.data.found.push(2);
    for (const { data } of all.slice(1)) expect(data).toEqual({ found: [1] });
    expect(new Set(all.slice(1).map(({ data }) => data)).size).toBe(99);
    expect(calls.map(({ record }) => record.answeredFrom)).toEqual([
      undefined,
      ...calls.slice(1).map(() => 'joined'),
    ]);
  });

  test.each([true, false])(
    'have the same size on record, and a failure says whether the tool ran: %s',
    async (hasRun) => {
      const look = noting('look')([], []);
      const line = cache({}, { policyVersion: '1' }).wrap!(look, async ({ arguments: { q }, record }) => {
        await settle();
        if (hasRun) record.letRun();
        record.measure(7);
        if (q === 'far') throw new ToolcribError('upstream_unavailable', 'It does not answer.');
        return { kind: 'done', data: 'seen' };
      });
      const calls = ['x', 'x', 'far', 'far'].map((q) => callOf(look, { args: { q } }));
      await Promise.allSettled(calls.map(async (call) => line(call)));
      const [, done, , failed] = calls.map(({ record }) => record);
      expect(done).toMatchObject({ answeredFrom: 'joined', bytes: 7 });
      expect(failed).toMatchObject({ answeredFrom: 'joined', hasRun });
    },
  );

  test('the first caller may cancel: it gets an error at once, and the run continues for the others', async () => {
    const { source, waits, finish } = setUp(waiting('look'));
    const calls = [callOf('look'), callOf('look'), callOf('look')] as const;
    const [first, second, third] = [...calls].map((call) => send(source, call));
    await settle();
    calls[0].cancellation.abort(new ToolcribError('cancelled', 'Gone.'));
    await expect(first).rejects.toMatchObject({ code: 'cancelled' });
    calls[1].cancellation.abort(new ToolcribError('cancelled', 'Gone too.'));
    await expect(second).rejects.toMatchObject({ message: 'Gone too.' });
    expect(waits[0]!.context.signal.aborted).toBe(false);
    finish({ found: 1 });
    expect(await third).toEqual({ kind: 'done', data: { found: 1 } });
  });

  test('when all callers have cancelled, the run is stopped, and the next caller gets a new run', async () => {
    const { source, runs, waits, finish } = setUp(waiting('look'));
    const calls = [callOf('look'), callOf('look')];
    const sent = calls.map((call) => send(source, call));
    await settle();
    for (const { cancellation } of calls) cancellation.abort(new ToolcribError('cancelled', 'Gone.'));
    await Promise.allSettled(sent);
    expect(waits[0]!.context.signal.aborted).toBe(true);
    const next = send(source, callOf('look'));
    await settle();
    // What the stopped run still comes to is neither given out nor kept.
    finish({ found: 'late' }, 0);
    await settle();
    finish({ found: 'fresh' }, 1);
    expect(await next).toEqual({ kind: 'done', data: { found: 'fresh' } });
    expect(runs).toHaveLength(2);
    expect(await source.call(callOf('look'))).toEqual({ kind: 'done', data: { found: 'fresh' } });
  });

  test('a caller that joins while the first one cancels keeps the run alive', async () => {
    const { source, waits, finish } = setUp(waiting('look'));
    const leaving = callOf('look');
    const left = send(source, leaving);
    await settle();
    leaving.cancellation.abort(new ToolcribError('cancelled', 'Gone.'));
    const stays = send(source, callOf('look'));
    await expect(left).rejects.toMatchObject({ code: 'cancelled' });
    expect(waits[0]!.context.signal.aborted).toBe(false);
    finish({ found: 1 });
    expect(await stays).toMatchObject({ kind: 'done' });
  });

  test('a failure is given to all callers, each as an error of its own, and is not cached', async () => {
    const { source, runs, finish } = setUp(waiting('look'));
    const sent = [1, 2, 3].map(() => send(source, callOf('look')));
    await settle();
    finish(Promise.reject(new ToolcribError('tool_failed', 'It broke.', { data: { at: 3 } })));
    const errors = (await Promise.allSettled(sent)).map((ending) =>
      ending.status === 'rejected' ? (ending.reason as unknown) : undefined,
    );
    for (const error of errors)
      expect(error).toMatchObject({ code: 'tool_failed', message: 'It broke.', data: { at: 3 } });
    expect(new Set(errors).size).toBe(3);
    expect(runs).toHaveLength(1);
    void send(source, callOf('look'));
    await settle();
    expect(runs).toHaveLength(2);
  });

  test('calls of another caller, or with other arguments, do not join', async () => {
    const { source, runs } = setUp(waiting('look'));
    for (const caller of [ada, bob, rivalAda]) void send(source, callOf('look', { caller }));
    void send(source, callOf('look', { args: { q: 'other' } }));
    await settle();
    expect(runs).toHaveLength(4);
  });
});

describe('questions', () => {
  const asking = noting('ask', async (_args, { elicit }) => {
    const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
    const answer = await elicit({ message: 'Who?', schema });
    return answer.action === 'accept' ? answer.content : {};
  });
  const answerOf = (name: string): unknown => ({ action: 'accept', content: { name } });

  test('B10 a question goes to the first caller alone; the other callers get runs of their own', async () => {
    const { source, runs } = setUp(asking);
    const calls = [callOf('ask'), callOf('ask'), callOf('ask')];
    const results = await Promise.all(calls.map((call) => send(source, call)));
    expect(results.map(({ kind }) => kind)).toEqual(['needs_input', 'needs_input', 'needs_input']);
    expect(runs).toHaveLength(3);
    expect(calls.map(({ record }) => record.answeredFrom)).toEqual([undefined, undefined, undefined]);
  });

  test('B10 a resumed call is neither answered from the cache nor shared nor cached', async () => {
    const { source, runs, finish } = setUp(noting('look'), waiting('wait'));
    const resumed = (name: string): ToolCall => {
      return { ...callOf(name), record: new CallRecord('resumed') };
    };
    await source.call(resumed('look'));
    await source.call(callOf('look'));
    await source.call(resumed('look'));
    expect(runs).toHaveLength(3);
    const sent = [callOf('wait'), resumed('wait')].map((call) => send(source, call));
    await settle();
    expect(runs).toHaveLength(5);
    finish({}, 0);
    finish({}, 1);
    await Promise.all(sent);
  });

  test('B10 a resumed call with other answers does not get the result of the first', async () => {
    const { source } = setUp(asking);
    for (const name of ['Ada', 'Bob']) {
      const interview = new Interview(new Map([['question-1', answerOf(name)]]));
      const call = { ...callOf('ask', { interview }), record: new CallRecord('resumed') };
      expect(await source.call(call)).toMatchObject({ data: { name } });
    }
    expect(await source.call(callOf('ask'))).toMatchObject({ kind: 'needs_input' });
  });

  test('B10 a result that depends on answers is not cached, even without a sign of an earlier round', async () => {
    const { source } = setUp(asking);
    const call = callOf('ask', { interview: new Interview(new Map([['question-1', answerOf('Eve')]])) });
    expect(await source.call(call)).toMatchObject({ data: { name: 'Eve' } });
    expect(await source.call(callOf('ask'))).toMatchObject({ kind: 'needs_input' });
  });

  test('B10 where the client answers during the call, no other caller waits for its user or gets the result', async () => {
    const { source } = setUp(asking);
    let answer = (_answers: ReadonlyMap<string, unknown>): void => {};
    const asker = {
      ask: () => new Promise<ReadonlyMap<string, unknown>>((resolve) => (answer = resolve)),
    };
    const interview = new Interview(undefined, asker);
    const first = send(source, callOf('ask', { interview }));
    const second = send(source, callOf('ask'));
    expect(await second).toMatchObject({ kind: 'needs_input' });
    answer(new Map([['question-1', answerOf('Ada')]]));
    expect(await first).toMatchObject({ data: { name: 'Ada' } });
    expect(interview.asker).toBe(asker);
    expect(await source.call(callOf('ask'))).toMatchObject({ kind: 'needs_input' });
  });

  test('no other caller waits for a call that becomes a task', async () => {
    const { source, runs, finish, waits } = setUp(waiting('look'));
    let detached = 0;
    const first = send(source, callOf('look', { voice: { detach: () => detached++ } }));
    const second = send(source, callOf('look'));
    await settle();
    waits[0]!.context.detach();
    await settle();
    expect(detached).toBe(1);
    expect(runs).toHaveLength(2);
    finish({ found: 'mine' }, 1);
    expect(await second).toMatchObject({ data: { found: 'mine' } });
    finish({ found: 'task' }, 0);
    expect(await first).toMatchObject({ data: { found: 'task' } });
  });

  test('progress of a shared run goes to the first caller, cleaned by inner stages', async () => {
    const said: unknown[] = [];
    const cleanWith = vi.fn<Voice['cleanWith'] & {}>();
    const voice: Voice = { report: (progress) => void said.push(progress), detach: () => {}, cleanWith };
    const clean = <T>(text: T): T => text;
    const inner: Stage = {
      name: 'sanitize',
      wrap: (_tool, next) => (call) => {
        call.voice.cleanWith?.(clean);
        return next(call);
      },
    };
    const { source, finish, waits } = setUp({ inner }, waiting('look'));
    const first = send(source, callOf('look', { voice }));
    const deaf: Voice = { report: () => expect.fail('It is not its run.') };
    const second = send(source, callOf('look', { voice: deaf }));
    await settle();
    waits[0]!.context.progress(1, 2);
    finish({});
    await Promise.all([first, second]);
    expect(said).toEqual([{ progress: 1, total: 2 }]);
    expect(cleanWith).toHaveBeenCalledWith(clean);
  });
});

describe('limits', () => {
  test('the least recently used results are removed first', () => {
    const results = new ResultCache({ maxEntries: 2, maxBytes: 1_000 });
    results.keep('a', { text: '"A"', expiresAt: 100 });
    results.keep('b', { text: '"B"', expiresAt: 100 });
    expect(results.find('a', 0)?.text).toBe('"A"');
    results.keep('c', { text: '"C"', expiresAt: 100 });
    expect(['a', 'b', 'c'].map((key) => results.find(key, 0)?.text)).toEqual(['"A"', undefined, '"C"']);
  });

  test('the cache stays within its byte limit, and one result over the limit removes nothing', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(20), fc.nat(150), fc.nat(50)), { maxLength: 60 }),
        fc.integer({ min: 1, max: 300 }),
        (puts, smaller) => {
          const results = new ResultCache({ maxEntries: 8, maxBytes: 100 });
          puts.forEach(([key, length, expiresAt], now) => {
            const before = results.size;
            results.keep(`${key}`, { text: JSON.stringify('x'.repeat(length)), expiresAt });
            if (length > 100) expect(results.size).toBeGreaterThanOrEqual(before - 1);
            results.find(`${key}`, now);
            expect(results.bytes).toBeLessThanOrEqual(100);
            expect(results.size).toBeLessThanOrEqual(8);
          });
          results.limit({ maxEntries: 3, maxBytes: smaller });
          expect(results.bytes).toBeLessThanOrEqual(Math.min(100, smaller));
          expect(results.size).toBeLessThanOrEqual(3);
          for (let key = 0; key <= 20; key++) results.find(`${key}`, 1_000);
          expect([results.bytes, results.size]).toEqual([0, 0]);
        },
      ),
      { numRuns: propertyRuns() },
    );
  });

  test('setting the wall clock back keeps no result for longer', async () => {
    const clock = createFakeClock();
    let wall = clock.now();
    const { source, runs } = setUp({ clock: { ...clock, now: () => wall } }, noting('look'));
    await source.call(callOf('look'));
    wall -= 86_400_000;
    clock.advance(300_000);
    await source.call(callOf('look'));
    expect(runs).toHaveLength(2);
  });
});

test('B10 for any order of calls, ends and cancellations, no caller gets the result of another tenant or caller', async () => {
  const callers: readonly Caller[] = [ada, bob, rivalAda, { ...bob, tenant: rival }];
  const step = fc.oneof(
    fc.record({
      do: fc.constant('call' as const),
      caller: fc.nat(callers.length - 1),
      isShared: fc.boolean(),
      q: fc.nat(1),
    }),
    fc.record({ do: fc.constant('finish' as const), nth: fc.nat(5), fails: fc.boolean() }),
    fc.record({ do: fc.constant('cancel' as const), nth: fc.nat(5) }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 400_000) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const { source, clock, finishOwn } = setUp(waiting('own'), waiting('shared', { shared: true }));
      const open: ToolCall[] = [];
      const ended: Promise<void>[] = [];
      for (const each of steps) {
        if (each.do === 'call') {
          const caller = callers[each.caller]!;
          const call = callOf(each.isShared ? 'shared' : 'own', { caller, args: { q: `${each.q}` } });
          open.push(call);
          ended.push(send(source, call).then((result) => expectOwn(result, call), expectKnown));
        } else if (each.do === 'finish') finishOwn(each.nth, each.fails);
        else if (each.do === 'cancel')
          open[each.nth]?.cancellation.abort(new ToolcribError('cancelled', 'Gone.'));
        else clock.advance(each.ms);
        await settle();
      }
      for (let nth = 0; nth < 2 * steps.length; nth++) {
        finishOwn(0, false);
        await settle();
      }
      await Promise.all(ended);
    }),
    { numRuns: propertyRuns() },
  );
});

function expectOwn(result: Result, { caller, tool, arguments: args }: ToolCall): void {
  expect(result).toMatchObject({ kind: 'done', data: { tenant: caller.tenant.id, tool: tool.name, args } });
  if (tool.name === 'own') expect(result).toMatchObject({ data: { caller: caller.id } });
}

function expectKnown(error: unknown): void {
  expect((error as ToolcribError).code).toMatch(/^(cancelled|tool_failed)$/);
}

type MakeTool = (runs: unknown[], waits: Wait[]) => Tool;

interface Wait {
  readonly context: ToolContext;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly settle: (value: unknown) => void;
  isOver: boolean;
}

interface SetUp {
  readonly source: ToolSource;
  readonly runs: unknown[];
  /** The runs of waiting tools, ended or not. */
  readonly waits: Wait[];
  readonly clock: ReturnType<typeof createFakeClock>;
  /** Ends the nth run of a waiting tool, the only one unless said. */
  readonly finish: (value: unknown, nth?: number) => void;
  /** Ends the nth of those that still run, with what it knows about itself. */
  readonly finishOwn: (nth: number, fails: boolean) => void;
}

interface Settings {
  readonly options?: Parameters<typeof cache>[0];
  readonly clock?: Clock;
  readonly inner?: Stage;
}

// The tools of the last set-up, so that calls can be written down by name.
const tools = new Map<string, Tool>();

function setUp(...given: readonly (MakeTool | Settings)[]): SetUp {
  const runs: unknown[] = [];
  const waits: Wait[] = [];
  const clock = createFakeClock();
  const settings = given.find((each): each is Settings => typeof each !== 'function') ?? {};
  const made = given.flatMap((each) => (typeof each === 'function' ? [each(runs, waits)] : []));
  tools.clear();
  for (const tool of made) tools.set(tool.name, tool);
  const stage = cache(settings.options ?? {}, { policyVersion: '1', clock: settings.clock ?? clock });
  const stages = [validateInput, stage, ...(settings.inner ? [settings.inner] : [])];
  const end = (wait: Wait | undefined, value: unknown): void => {
    if (!wait) return;
    wait.isOver = true;
    wait.settle(value);
  };
  return {
    source: withStages(new ToolRegistry().registerTool(...made), stages),
    runs,
    waits,
    clock,
    finish: (value, nth = 0) => end(waits[nth], value),
    finishOwn(nth, fails) {
      const wait = waits.filter(({ isOver }) => !isOver)[nth];
      if (wait) end(wait, fails ? Promise.reject(new ToolcribError('tool_failed', 'It broke.')) : wait.facts);
    },
  };
}

/** A tool that notes its runs and answers at once with what it is told to, or with how many there were. */
function noting(name: string, handler?: Tool['handler']): MakeTool {
  return (runs) => ({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
    annotations: { readOnlyHint: true },
    cache: { seconds: 300 },
    handler(args, context) {
      const run = runs.push(args);
      return handler ? handler(args, context) : { run };
    },
  });
}

/** A tool that ends when it is told to. */
function waiting(name: string, { shared = false } = {}): MakeTool {
  return (runs, waits) => ({
    ...noting(name)(runs, waits),
    cache: { seconds: 300, shared },
    handler(args, context) {
      runs.push(args);
      const { caller, tenant } = context;
      const facts = { caller: caller.id, tenant: tenant.id, tool: name, args };
      return new Promise((settleRun) => waits.push({ context, facts, settle: settleRun, isOver: false }));
    },
  });
}

type CallOptions = Partial<Pick<ToolCall, 'caller' | 'interview' | 'voice'>> & {
  readonly args?: Record<string, unknown>;
};

function callOf(tool: Tool | string, { args = { q: 'x' }, ...parts }: CallOptions = {}): ToolCall {
  return createTestCall(typeof tool === 'string' ? tools.get(tool)! : tool, {
    arguments: args,
    caller: ada,
    ...parts,
  });
}

async function send(source: ToolSource, call: ToolCall): Promise<Result> {
  return source.call(call);
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
