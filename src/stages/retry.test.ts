import { expect, test } from 'vitest';
import { absentTool } from '../core/absent-tool.ts';
import type { ToolCall } from '../core/call.ts';
import { Cancellation } from '../base/cancellation.ts';
import { ToolcribError, type ErrorCode } from '../base/errors.ts';
import { Interview } from '../core/interview.ts';
import { ToolRegistry } from '../core/registry.ts';
import { failed, type Result } from '../core/result.ts';
import { withStages } from '../core/stage.ts';
import type { Tool, ToolAnnotations } from '../core/tool.ts';
import { createFakeClock, createTestCall, type FakeClock } from '../testing.ts';
import { retry, retryOptions } from './retry.ts';

const DONE: Result = { kind: 'done', data: 'ok' };
const readOnly = { readOnlyHint: true };
const idempotent = { idempotentHint: true };
const unavailable = (data?: Record<string, unknown>): ToolcribError =>
  new ToolcribError('upstream_unavailable', 'It does not answer.', data ? { data } : {});

test.each<[what: string, annotations: ToolAnnotations]>([
  ['reads', readOnly],
  ['may be called twice', idempotent],
])('a tool that %s is called again until it succeeds', async (_what, annotations) => {
  const { call, made, clock } = failing([unavailable(), unavailable(), DONE], annotations);
  const ended = call();
  await passTime(clock);
  expect(await ended).toBe(DONE);
  expect(made()).toBe(3);
});

test.each<[what: string, annotations: ToolAnnotations | undefined]>([
  ['says nothing', undefined],
  ['changes something', { readOnlyHint: false }],
  ['is destructive', { destructiveHint: true }],
  ['may not be called twice', { idempotentHint: false }],
])('a tool that %s is never called again', async (_what, annotations) => {
  const { call, made } = failing([unavailable(), DONE], annotations);
  await expect(call()).rejects.toThrow('It does not answer.');
  expect(made()).toBe(1);
});

test('a default hint of the registry does not allow a retry', () => {
  const registry = new ToolRegistry({ annotationDefaults: 'saas' });
  registry.registerTool(toolCalled('assumed'), toolCalled('declared', { annotations: readOnly }));
  const next = (): Result => DONE;
  expect(registry.find('assumed')!.annotations).toMatchObject({ readOnlyHint: true, idempotentHint: true });
  expect(retry().wrap!(registry.find('assumed')!, next)).toBe(next);
  expect(retry().wrap!(registry.find('declared')!, next)).not.toBe(next);
});

// The registry does not say which tools have an idempotent hint by default alone.
test('a tool that is marked as changing something is not retried because of a default hint', () => {
  const registry = new ToolRegistry({ annotationDefaults: 'saas' });
  registry.registerTool(toolCalled('pay', { annotations: { readOnlyHint: false } }));
  const next = (): Result => DONE;
  expect(retry().wrap!(registry.find('pay')!, next)).toBe(next);
});

test('after the last attempt the caller gets the error', async () => {
  const { call, made, clock } = failing([unavailable(), unavailable(), unavailable(), DONE], readOnly);
  const ended = call();
  await passTime(clock);
  await expect(ended).rejects.toThrow('It does not answer.');
  expect(made()).toBe(3);
});

test('a synchronous failure is retried like an asynchronous one', async () => {
  const clock = createFakeClock();
  let made = 0;
  const wrapped = retry({}, { clock }).wrap!(toolCalled('a', { annotations: readOnly }), () => {
    if (++made === 1) throw unavailable();
    return DONE;
  });
  const ended = wrapped(createTestCall(toolCalled('a')));
  await passTime(clock);
  expect(await ended).toBe(DONE);
});

test('the waits grow, vary, and stay below their maximum', async () => {
  const waits = async (random: () => number): Promise<number[]> => {
    const { call, clock, waited } = failing(
      Array.from({ length: 8 }, () => unavailable()),
      readOnly,
      {
        options: { attempts: 6, delayMs: 100, maxDelayMs: 500 },
        random,
      },
    );
    const ended = call();
    await passTime(clock);
    await expect(ended).rejects.toThrow();
    return waited();
  };
  expect(await waits(() => 1)).toEqual([100, 200, 400, 500, 500]);
  expect(await waits(() => 0)).toEqual([50, 100, 200, 250, 250]);
});

test('a short retry-after is waited for; with a long one the caller gets the error at once', async () => {
  const short = failing([unavailable({ retryAfterMs: 1_500 }), DONE], readOnly);
  const ended = short.call();
  await passTime(short.clock);
  expect(await ended).toBe(DONE);
  expect(short.waited()).toEqual([1_500]);
  const long = failing([unavailable({ retryAfterMs: 30_000 }), DONE], readOnly);
  await expect(long.call()).rejects.toMatchObject({ data: { retryAfterMs: 30_000 } });
  expect(long.made()).toBe(1);
});

test.each([Number.NaN, -1, -Infinity])('a wait of %d is ignored', async (retryAfterMs) => {
  const { call, clock, waited } = failing([unavailable({ retryAfterMs }), DONE], readOnly);
  const ended = call();
  await passTime(clock);
  expect(await ended).toBe(DONE);
  expect(waited()).toEqual([100]);
});

test.each<ErrorCode>([
  'timed_out',
  'invalid_arguments',
  'refused',
  'rate_limited',
  'busy',
  'tool_failed',
  'record_unavailable',
  'cancelled',
])('%s is not retried', async (code) => {
  const { call, made } = failing([new ToolcribError(code, 'No.'), DONE], readOnly);
  await expect(call()).rejects.toMatchObject({ code });
  expect(made()).toBe(1);
});

test('a failed result and a question are results, and not retried', async () => {
  for (const result of [failed('Not found.'), question()]) {
    const { call, made } = failing([result, DONE], readOnly);
    expect(await call()).toBe(result);
    expect(made()).toBe(1);
  }
});

test('a question in a second attempt ends the retries', async () => {
  const asked = question();
  const { call, made, clock } = failing([unavailable(), asked, DONE], readOnly);
  const ended = call();
  await passTime(clock);
  expect(await ended).toBe(asked);
  expect(made()).toBe(2);
});

test('a call that was given an answer is not retried: it would ask again', async () => {
  const answered = new Interview(new Map([['sure', { action: 'accept', content: {} }]]));
  await answered.put({ kind: 'form', message: 'Sure?', schema: { type: 'object', properties: {} } }, 'sure');
  const { call, made } = failing([unavailable(), DONE], readOnly);
  await expect(call({ interview: answered })).rejects.toThrow('It does not answer.');
  expect(made()).toBe(1);
});

test('a call that is cancelled stops waiting and is not retried', async () => {
  const { call, made, clock } = failing([unavailable(), DONE], readOnly);
  const cancellation = new Cancellation();
  const ended = call({ cancellation });
  await settle();
  cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
  await expect(ended).rejects.toMatchObject({ code: 'cancelled' });
  await passTime(clock);
  expect(made()).toBe(1);
});

test('a call that was cancelled before it failed is not retried', async () => {
  const { call, made } = failing([unavailable(), DONE], readOnly);
  const cancellation = new Cancellation();
  cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
  await expect(call({ cancellation })).rejects.toThrow('It does not answer.');
  expect(made()).toBe(1);
});

test('a synchronous call stays synchronous, and an unknown tool is not retried', () => {
  const next = (): Result => DONE;
  const tool = toolCalled('a', { annotations: readOnly });
  expect(retry().wrap!(tool, next)(createTestCall(tool))).toBe(DONE);
  expect(retry().wrap!(absentTool('x'), next)).toBe(next);
  expect(retry({ attempts: 1 }).wrap!(tool, next)).toBe(next);
});

test('invalid options are refused', () => {
  for (const wrong of [{ attempts: 0 }, { attempts: 100 }, { delayMs: 0 }, { maxDelayMs: -1 }, { times: 1 }])
    expect(retryOptions.safeParse(wrong).success).toBe(false);
});

interface Failing {
  readonly call: (part?: Partial<ToolCall>) => Promise<Result>;
  readonly made: () => number;
  /** How long it waited before each attempt but the first. */
  readonly waited: () => number[];
  readonly clock: FakeClock;
}

function failing(
  endings: readonly (Result | ToolcribError)[],
  annotations: ToolAnnotations | undefined,
  { options = {}, random = () => 1 }: { options?: Parameters<typeof retry>[0]; random?: () => number } = {},
): Failing {
  const clock = createFakeClock();
  const times: number[] = [];
  const tool = toolCalled('a', annotations && { annotations });
  const source = withStages(
    {
      list: () => [],
      find: () => undefined,
      async call() {
        const ending = endings[times.push(clock.ticks()) - 1]!;
        if (ending instanceof ToolcribError) throw ending;
        return ending;
      },
    },
    [retry(options, { clock, random })],
  );
  return {
    clock,
    made: () => times.length,
    waited: () => times.slice(1).map((time, index) => time - times[index]!),
    call: async (part) => source.call(createTestCall(tool, part)),
  };
}

function question(): Result {
  return { kind: 'needs_input', questions: new Map(), answers: new Map() };
}

async function passTime(clock: FakeClock): Promise<void> {
  for (let step = 0; step < 200; step++) {
    await settle();
    clock.advance(25);
  }
  await settle();
}

// Lets everything run that only waits for a turn.
async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await Promise.resolve();
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
