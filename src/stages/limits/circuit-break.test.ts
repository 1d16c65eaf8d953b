import { expect, test } from 'vitest';
import { absentTool } from '../../core/absent-tool.ts';
import type { ToolCall } from '../../core/call.ts';
import { localCaller } from '../../core/caller.ts';
import { ToolcribError, type ErrorCode } from '../../base/errors.ts';
import { failed, type Result } from '../../core/result.ts';
import { withStages } from '../../core/stage.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Tool } from '../../core/tool.ts';
import { createFakeClock, createTestCall, type FakeClock } from '../../testing.ts';
import { Breakers } from './breakers.ts';
import { circuitBreak, circuitBreakOptions } from './circuit-break.ts';

const search = toolCalled('search');
const DONE: Result = { kind: 'done', data: 'ok' };
const out = (): never => {
  throw new ToolcribError('upstream_unavailable', 'The index does not answer.');
};
const outLater = (): Promise<never> => Promise.reject(new ToolcribError('timed_out', 'Took too long.'));

test.each([
  ['at once', out],
  ['later', outLater],
])(
  'after five outages that come %s a tool is left alone, and callers hear when to try again',
  async (_when, fails) => {
    const { call, clock, made, answer } = broken();
    answer(fails);
    for (let count = 0; count < 5; count++) await expect(call()).rejects.toThrow(/does not answer|too long/);
    answer(() => DONE);
    clock.advance(10_000);
    await expect(call()).rejects.toMatchObject({
      code: 'upstream_unavailable',
      message: 'search is not answering; try again in 20 s.',
      data: { retryAfterMs: 20_000 },
    });
    expect(made()).toBe(5);
  },
);

test('without the stage every call still reaches it', async () => {
  const source = withStages({ list: () => [], find: () => undefined, call: out }, []);
  for (let count = 0; count < 10; count++)
    expect(() => source.call(createTestCall(search))).toThrow('The index does not answer.');
});

test('one call tries it again; if it is answered, all pass', async () => {
  const { call, clock, answer, breakers } = await opened();
  clock.advance(30_000);
  let finish!: (result: Result) => void;
  answer(() => new Promise((resolve) => (finish = resolve)));
  const probe = call();
  expect([...breakers.states()]).toEqual([['search', 'half_open']]);
  await expect(call()).rejects.toMatchObject({ code: 'upstream_unavailable' });
  finish(DONE);
  expect(await probe).toBe(DONE);
  expect([...breakers.states()]).toEqual([['search', 'closed']]);
  answer(() => DONE);
  for (let count = 0; count < 3; count++) expect(await call()).toBe(DONE);
});

test('if the one that tries fails too, it is left alone again', async () => {
  const { call, clock, made, breakers } = await opened();
  clock.advance(30_000);
  await expect(call()).rejects.toThrow('The index does not answer.');
  expect([...breakers.states()]).toEqual([['search', 'open']]);
  const before = made();
  await expect(call()).rejects.toThrow('try again in 30 s');
  expect(made()).toBe(before);
});

test('if the one that tries is cancelled or refused on the way, the next one tries', async () => {
  const { call, clock, answer, breakers } = await opened();
  clock.advance(30_000);
  answer(() => Promise.reject(new ToolcribError('cancelled', 'Enough.')));
  await expect(call()).rejects.toMatchObject({ code: 'cancelled' });
  answer(() => Promise.reject(new ToolcribError('busy', 'Later.')));
  await expect(call()).rejects.toMatchObject({ code: 'busy' });
  expect([...breakers.states()]).toEqual([['search', 'half_open']]);
  answer(() => DONE);
  expect(await call()).toBe(DONE);
  expect([...breakers.states()]).toEqual([['search', 'closed']]);
});

test('one that tries and never comes back does not keep the tool shut for ever', async () => {
  const { call, clock, answer } = await opened();
  clock.advance(30_000);
  answer(() => new Promise(() => {}));
  void call();
  answer(() => DONE);
  clock.advance(29_999);
  await expect(call()).rejects.toMatchObject({ code: 'upstream_unavailable' });
  clock.advance(1);
  expect(await call()).toBe(DONE);
});

test.each<ErrorCode>([
  'invalid_arguments',
  'refused',
  'rate_limited',
  'busy',
  'cancelled',
  'tool_failed',
  'invalid_output',
])('%s is no outage', async (code) => {
  const { call, answer, made } = broken();
  answer(() => Promise.reject(new ToolcribError(code, 'No.')));
  for (let count = 0; count < 20; count++) await expect(call()).rejects.toMatchObject({ code });
  expect(made()).toBe(20);
});

test('a failed result and an unexpected exception are no outages', async () => {
  const { call, answer, made } = broken();
  answer(() => failed('Not found.'));
  for (let count = 0; count < 10; count++) expect(await call()).toMatchObject({ kind: 'failed' });
  answer(() => Promise.reject(new Error('bug')));
  for (let count = 0; count < 10; count++) await expect(call()).rejects.toThrow('bug');
  expect(made()).toBe(20);
});

test('what a tool says after its call was cancelled is no outage, running out of time is', async () => {
  const { call, answer, breakers } = broken();
  answer(({ cancellation }) => {
    cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
    return out();
  });
  for (let count = 0; count < 10; count++) await expect(call()).rejects.toThrow('does not answer');
  expect([...breakers.states()]).toEqual([['search', 'closed']]);
  answer(({ cancellation }) => {
    cancellation.abort(new ToolcribError('timed_out', 'Too long.'));
    return Promise.reject(cancellation.reason!);
  });
  for (let count = 0; count < 5; count++) await expect(call()).rejects.toThrow('Too long.');
  expect([...breakers.states()]).toEqual([['search', 'open']]);
});

test('outages far apart, or with an answer between them, do not add up', async () => {
  const { call, clock, answer, breakers } = broken();
  for (let count = 0; count < 20; count++) {
    answer(out);
    await expect(call()).rejects.toThrow();
    clock.advance(7_501);
  }
  expect([...breakers.states()]).toEqual([['search', 'closed']]);
  clock.advance(30_000);
  for (let count = 0; count < 20; count++) {
    answer(count % 4 === 3 ? () => failed('Not found.') : out);
    await call().catch(() => {});
  }
  expect([...breakers.states()]).toEqual([['search', 'closed']]);
});

test('each tool has a breaker of its own, which outlasts new options', async () => {
  const { call, breakers, clock, answer } = await opened();
  answer(() => DONE);
  expect(await call(createTestCall(toolCalled('other')))).toBe(DONE);
  const again = withStages({ list: () => [], find: () => undefined, call: () => DONE }, [
    circuitBreak({ failures: 1 }, { breakers, clock }),
  ]);
  expect(() => again.call(createTestCall(toolCalled('search')))).toThrow('search is not answering');
});

test('calls that were under way when a tool was given up change nothing', async () => {
  const { call, clock, answer, breakers } = broken();
  let finish!: (result: Result) => void;
  answer(() => new Promise((resolve) => (finish = resolve)));
  const early = call();
  answer(out);
  for (let count = 0; count < 5; count++) await expect(call()).rejects.toThrow();
  finish(DONE);
  expect(await early).toBe(DONE);
  expect([...breakers.states()]).toEqual([['search', 'open']]);
  clock.advance(29_999);
  await expect(call()).rejects.toMatchObject({ data: { retryAfterMs: 1 } });
});

test('outages of calls that were under way do not keep a tool shut for longer', async () => {
  const { call, clock, answer } = broken();
  const fails: ((error: Error) => void)[] = [];
  answer(() => new Promise((_resolve, reject) => fails.push(reject)));
  const early = Array.from({ length: 10 }, () => call().catch(() => {}));
  answer(out);
  for (let count = 0; count < 5; count++) await expect(call()).rejects.toThrow();
  clock.advance(20_000);
  for (const fail of fails) fail(new ToolcribError('timed_out', 'Took too long.'));
  await Promise.all(early);
  clock.advance(10_000);
  answer(() => DONE);
  expect(await call()).toBe(DONE);
});

test('a call that is answered at once is answered at once, and a tool that does not exist has no breaker', () => {
  const next = (): Result => DONE;
  expect(circuitBreak().wrap!(search, next)(createTestCall(search))).toBe(DONE);
  expect(circuitBreak().wrap!(absentTool('x'), next)).toBe(next);
});

test('outages that one tenant alone sees keep that tenant away and nobody else', async () => {
  const { call, clock, made, answer } = broken();
  const of = (tenant: string): ToolCall => callOfTenant(tenant);
  answer(({ caller }) => (caller.tenant.id === 'acme' ? outLater() : DONE));
  for (let count = 0; count < 5; count++) await expect(call(of('acme'))).rejects.toThrow('too long');
  await expect(call(of('acme'))).rejects.toThrow('search is not answering; try again in 30 s.');
  expect(made()).toBe(5);
  for (let count = 0; count < 10; count++) expect(await call(of('globex'))).toBe(DONE);
  clock.advance(30_000);
  answer(() => DONE);
  expect(await call(of('acme'))).toBe(DONE);
  expect(await call(of('acme'))).toBe(DONE);
});

test('outages that several tenants see keep everybody away, also when one of them saw them first', async () => {
  const { call, answer } = broken();
  answer(out);
  for (const tenant of ['acme', 'globex', 'acme', 'globex', 'acme'])
    await expect(call(callOfTenant(tenant))).rejects.toThrow('does not answer');
  await expect(call(callOfTenant('initech'))).rejects.toThrow('search is not answering');

  const later = broken();
  later.answer(out);
  for (const tenant of ['acme', 'globex'])
    for (let count = 0; count < 5; count++)
      await expect(later.call(callOfTenant(tenant))).rejects.toThrow('does not answer');
  await expect(later.call(callOfTenant('initech'))).rejects.toThrow('search is not answering');
  expect([...later.breakers.states()]).toEqual([['search', 'open']]);
});

test('options that make no sense are refused', () => {
  for (const wrong of [{ failures: 0 }, { withinSeconds: 0 }, { openSeconds: -1 }, { after: 1 }])
    expect(circuitBreakOptions.safeParse(wrong).success).toBe(false);
});

interface Broken {
  readonly call: (call?: ToolCall) => Promise<Result>;
  readonly answer: (how: (call: ToolCall) => Awaitable<Result>) => void;
  readonly made: () => number;
  readonly clock: FakeClock;
  readonly breakers: Breakers;
}

function broken(): Broken {
  const clock = createFakeClock();
  const breakers = new Breakers();
  let made = 0;
  let how: (call: ToolCall) => Awaitable<Result> = () => DONE;
  const source = withStages(
    { list: () => [], find: () => undefined, call: (call) => (made++, how(call as ToolCall)) },
    [circuitBreak({}, { clock, breakers })],
  );
  return {
    clock,
    breakers,
    made: () => made,
    answer: (next) => (how = next),
    call: async (call = createTestCall(search)) => source.call(call),
  };
}

async function opened(): Promise<Broken> {
  const parts = broken();
  parts.answer(out);
  for (let count = 0; count < 5; count++) await expect(parts.call()).rejects.toThrow();
  return parts;
}

function callOfTenant(id: string): ToolCall {
  return createTestCall(search, { caller: { ...localCaller, tenant: { id, name: id, data: {} } } });
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
