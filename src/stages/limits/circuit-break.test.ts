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
  'after five failures that come %s the circuit opens, and callers learn when to retry',
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

test('control: without the stage every call still reaches the tool', async () => {
  const source = withStages({ list: () => [], find: () => undefined, call: out }, []);
  for (let count = 0; count < 10; count++)
    expect(() => source.call(createTestCall(search))).toThrow('The index does not answer.');
});

test('one trial call is let through; if it succeeds, the circuit closes', async () => {
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

test('if the trial call fails, the circuit stays open', async () => {
  const { call, clock, made, breakers } = await opened();
  clock.advance(30_000);
  await expect(call()).rejects.toThrow('The index does not answer.');
  expect([...breakers.states()]).toEqual([['search', 'open']]);
  const before = made();
  await expect(call()).rejects.toThrow('try again in 30 s');
  expect(made()).toBe(before);
});

test('if the trial call is cancelled or refused on the way, the next call is the trial', async () => {
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

test('a trial call that never ends does not keep the circuit open forever', async () => {
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
])('%s does not count as a failure', async (code) => {
  const { call, answer, made } = broken();
  answer(() => Promise.reject(new ToolcribError(code, 'No.')));
  for (let count = 0; count < 20; count++) await expect(call()).rejects.toMatchObject({ code });
  expect(made()).toBe(20);
});

test('a failed result and an unexpected exception do not count as failures', async () => {
  const { call, answer, made } = broken();
  answer(() => failed('Not found.'));
  for (let count = 0; count < 10; count++) expect(await call()).toMatchObject({ kind: 'failed' });
  answer(() => Promise.reject(new Error('bug')));
  for (let count = 0; count < 10; count++) await expect(call()).rejects.toThrow('bug');
  expect(made()).toBe(20);
});

test('an error after a cancelled call does not count as a failure, and a timeout does', async () => {
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

test('failures that are far apart, or have a success between them, do not add up', async () => {
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

test('each tool has a circuit of its own, which survives new options', async () => {
  const { call, breakers, clock, answer } = await opened();
  answer(() => DONE);
  expect(await call(createTestCall(toolCalled('other')))).toBe(DONE);
  const again = withStages({ list: () => [], find: () => undefined, call: () => DONE }, [
    circuitBreak({ failures: 1 }, { breakers, clock }),
  ]);
  expect(() => again.call(createTestCall(toolCalled('search')))).toThrow('search is not answering');
});

test('calls that were running when the circuit opened do not change it', async () => {
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

test('failures of calls that were running do not keep the circuit open for longer', async () => {
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

test('a synchronous call stays synchronous, and an unknown tool has no circuit', () => {
  const next = (): Result => DONE;
  expect(circuitBreak().wrap!(search, next)(createTestCall(search))).toBe(DONE);
  expect(circuitBreak().wrap!(absentTool('x'), next)).toBe(next);
});

test('failures that only one tenant sees open the circuit for that tenant only', async () => {
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

test('failures that several tenants see open the circuit for all, also when one tenant saw them first', async () => {
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

test('invalid options are refused', () => {
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
