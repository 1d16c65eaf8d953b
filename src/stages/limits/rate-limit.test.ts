import { expect, onTestFinished, test } from 'vitest';
import { absentTool } from '../../core/absent-tool.ts';
import type { ResourceCall, ToolCall } from '../../core/call.ts';
import { localCaller, type Caller } from '../../core/caller.ts';
import type { ToolcribError } from '../../base/errors.ts';
import { CallRecord } from '../../core/record.ts';
import { withStages, type Stage } from '../../core/stage.ts';
import type { ToolSource } from '../../core/source.ts';
import type { Tool } from '../../core/tool.ts';
import type { Quotas } from '../../store/store.ts';
import { createFakeClock, createTestCall, recordingSource } from '../../testing.ts';
import { CallCounts } from './call-counts.ts';
import { Buckets } from './buckets.ts';
import { rateLimit, rateLimitOptions } from './rate-limit.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const echo = toolCalled('echo');
const lookUp = toolCalled('look_up', { annotations: { readOnlyHint: true } });
const ada = callerCalled('ada');
const bob = callerCalled('bob');

test('a call over the limit is refused, and succeeds after the wait that the refusal names (000-37, 001-57, 002-21, 003-20, 004-18)', () => {
  const clock = createFakeClock();
  const source = limited(rateLimit({ perMinute: 60 }, { clock }));
  expect(admittedOf(60, () => source.call(createTestCall(echo)))).toBe(60);
  const refusal = refusalOf(() => source.call(createTestCall(echo)));
  expect(refusal).toMatchObject({
    code: 'rate_limited',
    message: 'Too many calls; try again in 1 s.',
    data: { retryAfterMs: 1_000 },
  });
  clock.advance(999);
  expect(refusalOf(() => source.call(createTestCall(echo)))).toMatchObject({ data: { retryAfterMs: 1 } });
  clock.advance(1);
  expect(source.call(createTestCall(echo))).toMatchObject({ kind: 'done' });
});

test('a refusal names the tool only if other tools could be called at once', () => {
  const clock = createFakeClock();
  const source = limited(rateLimit({ perMinute: 3, perTool: { echo: 2 } }, { clock }));
  for (let i = 0; i < 2; i++) void source.call(createTestCall(echo));
  expect(refusalOf(() => source.call(createTestCall(echo))).message).toMatch(/^Too many calls of echo; /);
  void source.call(createTestCall(lookUp));
  for (const tool of [echo, lookUp])
    expect(refusalOf(() => source.call(createTestCall(tool))).message).toMatch(/^Too many calls; /);
});

test('the default limit is 600 calls a minute (002-21)', () => {
  const source = limited(rateLimit({}, { clock: createFakeClock() }));
  expect(admittedOf(1_000, () => source.call(createTestCall(echo)))).toBe(600);
});

test('B13 an expensive tool has a lower limit of its own, and the most specific pattern applies (001-57)', () => {
  const clock = createFakeClock();
  const perTool = { '*': 50, 'report.*': 5, 'report.yearly': 2 };
  const source = limited(rateLimit({ perMinute: 100, perTool }, { clock }));
  const admitted = ['report.yearly', 'report.daily', 'other'].map((name) =>
    admittedOf(60, () => source.call(createTestCall(toolCalled(name)))),
  );
  expect(admitted).toEqual([2, 5, 50]);
  expect(admittedOf(60, () => source.call(createTestCall(toolCalled('another'))))).toBe(43);
});

test('B13 of 10,000 parallel calls at a limit of 100, 100 run; without the stage all of them do', async () => {
  const clock = createFakeClock();
  const flood = (source: ToolSource): Promise<number> =>
    Promise.all(
      Array.from({ length: 10_000 }, async () => {
        try {
          await source.call(createTestCall(echo));
          return 1;
        } catch {
          return 0;
        }
      }),
    ).then((admitted) => admitted.reduce<number>((total, one) => total + one, 0));
  expect(await flood(limited(rateLimit({ perMinute: 100 }, { clock })))).toBe(100);
  expect(await flood(limited())).toBe(10_000);
});

test('B13 other keys, scopes, clients, metadata, sessions or spellings give a caller no further calls', () => {
  const clock = createFakeClock();
  const source = limited(rateLimit({ perMinute: 100, perTool: { echo: 100 } }, { clock }));
  const disguises = (index: number): ToolCall =>
    createTestCall(index % 3 === 0 ? absentTool(`ECHO${index}`) : echo, {
      caller: {
        ...ada,
        tenant: { ...ada.tenant, name: `Acme ${index}` },
        credential: `key-${index}`,
        scopes: [`s${index}`],
        roles: [`r${index}`],
      },
      client: {
        name: `Client ${index}`,
        version: `${index}`,
        protocolVersion: '2025-06-18',
        capabilities: {},
      },
      meta: { session: index },
    });
  const outcomes = Array.from({ length: 1_000 }, (_, index) => codeOf(() => source.call(disguises(index))));
  expect(outcomes.filter((code) => code === 'rate_limited')).toHaveLength(900);
  expect(codeOf(() => source.call(createTestCall(echo, { caller: bob })))).toBe('done');
});

test('two callers whose tenant and name look the same when joined are counted separately', () => {
  const clock = createFakeClock();
  const source = limited(rateLimit({ perMinute: 1, perTool: { '*': 1 } }, { clock }));
  const callers = [
    callerCalled('c', 'a/b'),
    callerCalled('b/c', 'a'),
    callerCalled('/b/c', 'a'),
    callerCalled('a', 'tenant'),
    callerCalled('tenant', 'a'),
  ];
  for (const caller of callers)
    expect(codeOf(() => source.call(createTestCall(echo, { caller })))).toBe('done');
});

test('B13 setting the wall clock back an hour, or ahead, allows no burst', () => {
  const clock = createFakeClock();
  let offMs = 0;
  const moved = { ...clock, now: () => clock.now() + offMs };
  const source = limited(rateLimit({ perMinute: 100 }, { clock: moved }));
  expect(admittedOf(200, () => source.call(createTestCall(echo)))).toBe(100);
  for (const off of [-HOUR, HOUR]) {
    offMs = off;
    expect(admittedOf(200, () => source.call(createTestCall(echo)))).toBe(0);
  }
  // The control: time that really passed counts.
  clock.advance(MINUTE);
  expect(admittedOf(200, () => source.call(createTestCall(echo)))).toBe(100);
});

test('R19 over 1,000,000 decisions in bursts of every size, callers get exactly the rate they are entitled to', () => {
  // Hundreds of thousands of refusals: their stack traces would cost more than everything else.
  const { stackTraceLimit } = Error;
  onTestFinished(() => void (Error.stackTraceLimit = stackTraceLimit));
  Error.stackTraceLimit = 0;
  const random = seeded(19);
  const clock = createFakeClock();
  const buckets = new Buckets();
  const limits = [7, 60, 100, 601].map((perMinute, index) => {
    const burst = index % 2 === 0 ? perMinute : 10;
    const wrapped = rateLimit({ perMinute, burst }, { clock, buckets }).wrap!(echo, () => ({ kind: 'done' }));
    const call = createTestCall(echo, { caller: callerCalled(`caller-${perMinute}`) });
    return { perMinute, burst, wrapped, call, tokens: burst, filledAt: 0, entitled: 0, admitted: 0 };
  });
  for (let decisions = 0; decisions < 1_000_000;) {
    clock.advance(random() < 0.5 ? random() * 20 : random() * 8_000);
    const now = clock.ticks();
    for (const limit of limits) {
      limit.tokens = Math.min(
        limit.burst,
        limit.tokens + ((now - limit.filledAt) * limit.perMinute) / MINUTE,
      );
      limit.filledAt = now;
      const size = 1 + Math.floor(random() ** 4 * 150);
      decisions += size;
      for (let made = 0; made < size; made++) {
        if (limit.tokens >= 1 - 1e-9) {
          limit.tokens--;
          limit.entitled++;
        }
        limit.admitted += isAdmitted(limit.wrapped, limit.call) ? 1 : 0;
      }
    }
  }
  for (const { admitted, entitled } of limits) {
    expect(entitled).toBeGreaterThan(1_000);
    expect(admitted).toBeLessThanOrEqual(entitled * 1.01);
    expect(admitted).toBeGreaterThanOrEqual(entitled * 0.95);
  }
});

test('R21 a tenant at a hundred times its limit does not affect other tenants', () => {
  const clock = createFakeClock();
  const source = limited(rateLimit({ perMinute: 60, perTenant: 60, burst: 10 }, { clock }));
  const noisy = callerCalled('noisy', 'noisy');
  const others = ['acme', 'globex', 'initech'].map((tenant) => callerCalled('worker', tenant));
  let ofNoisy = 0;
  for (let second = 0; second < 120; second++) {
    ofNoisy += admittedOf(100, () => source.call(createTestCall(echo, { caller: noisy })));
    for (const caller of others)
      expect(codeOf(() => source.call(createTestCall(echo, { caller })))).toBe('done');
    clock.advance(1_000);
  }
  expect(ofNoisy).toBeLessThanOrEqual(10 + 120);
});

test('the callers of a tenant share its limit, and a refused call uses no other limit', () => {
  const clock = createFakeClock();
  const source = limited(rateLimit({ perMinute: 10, perTenant: 12 }, { clock }));
  expect(admittedOf(10, () => source.call(createTestCall(echo, { caller: ada })))).toBe(10);
  expect(admittedOf(100, () => source.call(createTestCall(echo, { caller: ada })))).toBe(0);
  expect(admittedOf(10, () => source.call(createTestCall(echo, { caller: bob })))).toBe(2);
  clock.advance(MINUTE / 2);
  expect(admittedOf(10, () => source.call(createTestCall(echo, { caller: bob })))).toBe(6);
});

test('a burst limits simultaneous calls, not the calls of a minute', () => {
  const clock = createFakeClock();
  const source = limited(rateLimit({ perMinute: 60, burst: 5, perTool: { slow: 3 } }, { clock }));
  expect(admittedOf(60, () => source.call(createTestCall(echo)))).toBe(5);
  let admitted = 0;
  for (let second = 0; second < 60; second++) {
    clock.advance(1_000);
    admitted += admittedOf(5, () => source.call(createTestCall(echo)));
  }
  expect(admitted).toBe(60);
  expect(admittedOf(60, () => source.call(createTestCall(toolCalled('slow'), { caller: bob })))).toBe(3);
});

test('a continued call was counted when it first came', () => {
  const source = limited(rateLimit({ perMinute: 1 }, { clock: createFakeClock() }));
  const resumed = (): ToolCall => createTestCall(echo, { record: new CallRecord('resumed') });
  expect(admittedOf(50, () => source.call(resumed()))).toBe(50);
  expect(admittedOf(50, () => source.call(createTestCall(echo)))).toBe(1);
});

test('B13 continuing a read-only call from the same state again and again is counted', () => {
  const source = limited(rateLimit({ perMinute: 3 }, { clock: createFakeClock() }));
  const resumed = (): ToolCall => createTestCall(lookUp, { record: new CallRecord('resumed') });
  expect(admittedOf(50, () => source.call(resumed()))).toBe(3);
});

test('calls of unknown names count too, and no name gets a limit of its own that takes memory', () => {
  const callCounts = new CallCounts();
  const buckets = new Buckets(callCounts);
  const source = limited(
    rateLimit({ perMinute: 50, perTool: { '*': 10 } }, { clock: createFakeClock(), buckets }),
  );
  const codes = Array.from({ length: 100 }, (_, index) =>
    codeOf(() => source.call(createTestCall(absentTool(`guess-${index}`)))),
  );
  expect(codes.filter((code) => code === 'unknown_tool')).toHaveLength(50);
  expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(50);
  expect(callCounts.size).toBe(1);
});

test('resource reads count like calls', async () => {
  const source = limited(rateLimit({ perMinute: 3 }, { clock: createFakeClock() }));
  const read = (): unknown => source.call(readingOf());
  for (let made = 0; made < 3; made++) expect(await read()).toMatchObject({ kind: 'done' });
  expect(refusalOf(read)).toMatchObject({
    code: 'rate_limited',
    message: 'Too many requests; try again in 20 s.',
  });
  expect(codeOf(() => source.call(createTestCall(echo)))).toBe('rate_limited');
});

test('new options keep the counts of the old ones', () => {
  const clock = createFakeClock();
  const buckets = new Buckets();
  const before = limited(rateLimit({ perMinute: 10 }, { clock, buckets }));
  expect(admittedOf(20, () => before.call(createTestCall(echo)))).toBe(10);
  const after = limited(rateLimit({ perMinute: 20 }, { clock, buckets }));
  expect(admittedOf(20, () => after.call(createTestCall(echo)))).toBe(0);
  clock.advance(MINUTE / 2);
  expect(admittedOf(20, () => after.call(createTestCall(echo)))).toBe(10);
  // The control: with buckets of its own it starts from nothing.
  expect(
    admittedOf(20, () => limited(rateLimit({ perMinute: 1 }, { clock })).call(createTestCall(echo))),
  ).toBeGreaterThan(1);
});

test('memory holds only recent callers, however many callers there ever were', () => {
  const clock = createFakeClock();
  const callCounts = new CallCounts();
  const buckets = new Buckets(callCounts);
  const wrapped = rateLimit({ perMinute: 60 }, { clock, buckets }).wrap!(echo, () => ({ kind: 'done' }));
  let largest = 0;
  for (let index = 0; index < 50_000; index++) {
    void wrapped(createTestCall(echo, { caller: callerCalled(`caller-${index}`) }));
    clock.advance(10);
    largest = Math.max(largest, callCounts.size);
  }
  // One call uses up a second and is kept for ten more, in which eleven hundred newcomers arrive.
  expect(largest).toBeLessThan(3_000);
});

test('the cleanup keeps every caller that is at its limit', () => {
  const clock = createFakeClock();
  const wrapped = rateLimit({ perMinute: 60 }, { clock }).wrap!(echo, () => ({ kind: 'done' }));
  expect(admittedOf(60, () => wrapped(createTestCall(echo, { caller: ada })))).toBe(60);
  for (let index = 0; index < 1_000; index++)
    void wrapped(createTestCall(echo, { caller: callerCalled(`x${index}`) }));
  expect(admittedOf(60, () => wrapped(createTestCall(echo, { caller: ada })))).toBe(0);
});

test('a synchronous call stays synchronous', () => {
  const source = limited(rateLimit({ perDay: 10 }, { clock: createFakeClock(), quotas: countingQuotas() }));
  expect(source.call(createTestCall(echo))).not.toBeInstanceOf(Promise);
});

test('a quota is for a day in UTC, says how long that is, and survives a restart', () => {
  const clock = createFakeClock(Date.UTC(2026, 0, 1, 18));
  const quotas = countingQuotas();
  const start = (): ToolSource => limited(rateLimit({ perDay: 5 }, { clock, quotas }));
  expect(admittedOf(3, () => start().call(createTestCall(echo)))).toBe(3);
  expect(admittedOf(10, () => start().call(createTestCall(echo)))).toBe(2);
  expect(refusalOf(() => start().call(createTestCall(echo)))).toMatchObject({
    code: 'rate_limited',
    data: { retryAfterMs: 6 * HOUR },
  });
  clock.advance(6 * HOUR);
  expect(admittedOf(10, () => start().call(createTestCall(echo)))).toBe(5);
});

test('a caller that has used its own quota does not use that of the tenant', async () => {
  const clock = createFakeClock();
  const quotas = countingQuotas({ isSlow: true });
  const source = limited(rateLimit({ perDay: 5, perTenantPerDay: 8 }, { clock, quotas }));
  const admitted = async (caller: Caller): Promise<number> => {
    let total = 0;
    for (let made = 0; made < 10; made++)
      total += (await Promise.resolve(source.call(createTestCall(echo, { caller }))).catch(() => undefined))
        ? 1
        : 0;
    return total;
  };
  expect(await admitted(ada)).toBe(5);
  expect(await admitted(bob)).toBe(3);
  expect(await admitted(callerCalled('carol', 'globex'))).toBe(5);
});

test('without its store a quota refuses calls with effects, allows and counts read-only calls, and rate limits still apply', () => {
  const buckets = new Buckets();
  const quotas: Quotas = {
    take() {
      throw new Error('disk full at /var/lib');
    },
  };
  const source = limited(
    rateLimit({ perMinute: 4, perDay: 100 }, { clock: createFakeClock(), quotas, buckets }),
  );
  const refusal = refusalOf(() => source.call(createTestCall(echo)));
  expect(refusal).toMatchObject({ code: 'record_unavailable' });
  expect(refusal.message).not.toContain('/var/lib');
  expect(admittedOf(10, () => source.call(createTestCall(lookUp)))).toBe(3);
  expect(buckets.unmetered).toBe(3);
});

test('a store that hangs delays one call a second, not every call, and is tried again later', async () => {
  const clock = createFakeClock();
  const hanging = countingQuotas({ isHanging: true });
  const source = limited(rateLimit({ perDay: 100 }, { clock, quotas: hanging }));
  const first = source.call(createTestCall(lookUp));
  clock.advance(1_000);
  expect(await first).toMatchObject({ kind: 'done' });
  expect(source.call(createTestCall(lookUp))).not.toBeInstanceOf(Promise);
  expect(codeOf(() => source.call(createTestCall(echo)))).toBe('record_unavailable');
  expect(hanging.asked).toBe(1);
  clock.advance(1_000);
  hanging.isHanging = false;
  expect(source.call(createTestCall(echo))).toMatchObject({ kind: 'done' });
});

test('quotas without a store are refused at setup', () => {
  expect(() => rateLimit({ perDay: 5 })).toThrow('pass quotas');
});

test('invalid options are refused', () => {
  for (const wrong of [
    { perMinute: 0 },
    { perMinute: 1.5 },
    { perTool: { a: -1 } },
    { burst: 0 },
    { per: 1 },
  ])
    expect(rateLimitOptions.safeParse(wrong).success).toBe(false);
});

function limited(...stages: readonly Stage[]): ToolSource {
  return withStages(recordingSource(), stages);
}

function callerCalled(id: string, tenant = 'acme'): Caller {
  return { ...localCaller, id, tenant: { id: tenant, name: tenant, data: {} } };
}

function admittedOf(calls: number, make: () => unknown): number {
  let admitted = 0;
  for (let made = 0; made < calls; made++) if (codeOf(make) === 'done') admitted++;
  return admitted;
}

function isAdmitted(wrapped: (call: ToolCall) => unknown, call: ToolCall): boolean {
  try {
    wrapped(call);
    return true;
  } catch {
    return false;
  }
}

function codeOf(make: () => unknown): string {
  try {
    make();
    return 'done';
  } catch (error) {
    return (error as ToolcribError).code;
  }
}

function refusalOf(make: () => unknown): ToolcribError {
  try {
    make();
  } catch (error) {
    return error as ToolcribError;
  }
  throw new Error('It was not refused.');
}

interface CountingQuotas extends Quotas {
  asked: number;
  isHanging: boolean;
}

function countingQuotas({ isSlow = false, isHanging = false } = {}): CountingQuotas {
  const counts = new Map<string, number>();
  return {
    asked: 0,
    isHanging,
    take(name, { startsAt, endsAt }) {
      this.asked++;
      if (this.isHanging) return new Promise(() => {});
      expect(endsAt - startsAt).toBe(DAY);
      const count = (counts.get(`${startsAt} ${name}`) ?? 0) + 1;
      counts.set(`${startsAt} ${name}`, count);
      return isSlow ? Promise.resolve(count) : count;
    },
  };
}

// The same numbers every time, so that a failure can be seen again.
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

function readingOf(): ResourceCall {
  const { tool: _tool, arguments: _arguments, ...base } = createTestCall(echo);
  const resource = { uri: 'note:1', name: 'note', read: () => 'text' };
  return { ...base, kind: 'resource', resource, uri: 'note:1', variables: {} };
}

function toolCalled(name: string, part: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: {} },
    handler: () => 'ok',
    ...part,
  };
}
