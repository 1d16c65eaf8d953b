import { expect, test } from 'vitest';
import { createFakeClock, createTestCall, recordingSource, type FakeClock } from '../../testing.ts';
import type { ResourceCall } from '../call.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { ToolcribError } from '../../base/errors.ts';
import { Interview } from '../interview.ts';
import { limitTime } from './limit-time.ts';
import type { ToolSource } from '../source.ts';
import { withStages, type Stage } from '../stage.ts';
import type { Result } from '../result.ts';
import type { Tool } from '../tool.ts';

const hang = (): Promise<never> => new Promise(() => {});

test('a call that takes too long is ended, and the signal of its tool is aborted (000-41)', async () => {
  const { source, clock } = limited();
  const call = createTestCall(toolCalled('slow', hang));
  const ended = source.call(call);
  clock.advance(999);
  expect(call.cancellation.reason).toBeUndefined();
  clock.advance(1);
  await expect(ended).rejects.toMatchObject({
    code: 'timed_out',
    message: 'slow took over 1 s and was stopped.',
  });
  expect(call.cancellation.signal.aborted).toBe(true);
});

test('control: without the stage the same call never ends (000-41)', async () => {
  const clock = createFakeClock();
  let isOver = false;
  const ended = withStages(recordingSource(), []).call(
    createTestCall(toolCalled('slow', hang)),
  ) as Promise<Result>;
  void ended.finally(() => (isOver = true));
  clock.advance(3_600_000);
  await settle();
  expect(isOver).toBe(false);
});

test('a call that ends in time leaves nothing behind', async () => {
  const { source, clock } = limited();
  const call = createTestCall(toolCalled('quick', () => Promise.resolve('ok')));
  expect(await source.call(call)).toMatchObject({ kind: 'done' });
  clock.advance(3_600_000);
  expect(call.cancellation.reason).toBeUndefined();
});

test('a call that is answered at once needs no deadline', () => {
  const { source } = limited();
  expect(source.call(createTestCall(toolCalled('quick', () => 'ok')))).toMatchObject({ kind: 'done' });
});

test('the time limit is paused while a person is asked, and continues with the answer', async () => {
  const { source, clock } = limited();
  let answer = (): void => {};
  const interview = new Interview(new Map(), {
    ask: () =>
      new Promise((resolve) => {
        answer = () => resolve(new Map([['sure', { action: 'accept', content: {} }]]));
      }),
  });
  const call = createTestCall(
    toolCalled('ask', async (_args, { elicit }) => {
      await elicit({ message: 'Sure?', schema: {}, key: 'sure' });
      await hang();
    }),
    { interview },
  );
  const ended = source.call(call);
  clock.advance(900);
  await settle();
  clock.advance(3_600_000);
  expect(call.cancellation.reason).toBeUndefined();
  answer();
  await settle();
  clock.advance(999);
  expect(call.cancellation.reason).toBeUndefined();
  clock.advance(1);
  await expect(ended).rejects.toMatchObject({ code: 'timed_out' });
});

test('a call that becomes a task has no limit', async () => {
  const { source, clock } = limited();
  const interview = new Interview();
  let finish = (): void => {};
  const call = createTestCall(
    toolCalled('task', async (_args, { detach }) => {
      detach();
      await new Promise<void>((resolve) => (finish = resolve));
      return 'ok';
    }),
    { interview, voice: { detach: () => interview.liftLimit() } },
  );
  const ended = source.call(call);
  clock.advance(3_600_000);
  expect(call.cancellation.reason).toBeUndefined();
  finish();
  expect(await ended).toMatchObject({ kind: 'done' });
});

test('a call that becomes a task later has no limit from then on', async () => {
  const { source, clock } = limited();
  const interview = new Interview();
  const call = createTestCall(toolCalled('task', hang), { interview });
  void source.call(call);
  clock.advance(500);
  interview.liftLimit();
  clock.advance(3_600_000);
  expect(call.cancellation.reason).toBeUndefined();
});

test('a cancelled call ends in this stage, so that the stages around it see how it ended', async () => {
  const seen: unknown[] = [];
  const { source } = limited(watching(seen));
  const call = createTestCall(toolCalled('deaf', hang));
  const ended = source.call(call);
  call.cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
  await expect(ended).rejects.toMatchObject({ code: 'cancelled' });
  expect(seen).toEqual([expect.objectContaining({ code: 'cancelled' })]);
});

test('a tool that goes on after its time is up cannot change the result', async () => {
  const seen: unknown[] = [];
  const { source, clock } = limited(watching(seen));
  for (const late of [() => 'late', () => Promise.reject(new Error('late'))]) {
    let wake = (): void => {};
    const slow = toolCalled('slow', async () => {
      await new Promise<void>((resolve) => (wake = resolve));
      return late();
    });
    const ended = source.call(createTestCall(slow));
    clock.advance(1_000);
    await expect(ended).rejects.toMatchObject({ code: 'timed_out' });
    wake();
    await settle();
  }
  expect(seen).toEqual([
    expect.objectContaining({ code: 'timed_out' }),
    expect.objectContaining({ code: 'timed_out' }),
  ]);
});

test('each tool has the limit for its name; resource reads have the general one', async () => {
  const clock = createFakeClock();
  const asked: (string | undefined)[] = [];
  const stage = limitTime({
    msFor: (name) => (asked.push(name), name === 'long' ? 5_000 : 1_000),
    deadlines: new Deadlines(clock),
  });
  const source = withStages(recordingSource(), [stage]);
  const long = createTestCall(toolCalled('long', hang));
  void Promise.resolve(source.call(long)).catch(() => {});
  const reading = source.call(readingOf(hang));
  clock.advance(1_000);
  await expect(reading).rejects.toMatchObject({
    code: 'timed_out',
    message: 'The request took over 1 s and was stopped.',
  });
  expect(long.cancellation.reason).toBeUndefined();
  clock.advance(4_000);
  expect(long.cancellation.reason).toMatchObject({ code: 'timed_out' });
  expect(new Set(asked)).toEqual(new Set(['long', undefined]));
});

function limited(...around: readonly Stage[]): { readonly source: ToolSource; readonly clock: FakeClock } {
  const clock = createFakeClock();
  const stage = limitTime({ msFor: () => 1_000, deadlines: new Deadlines(clock) });
  return { clock, source: withStages(recordingSource(), [...around, stage]) };
}

/** Notes how every call ended, as a stage that keeps a record would. */
function watching(seen: unknown[]): Stage {
  return {
    name: 'watching',
    wrap:
      (_tool, next) =>
      async (call): Promise<Result> => {
        try {
          const result = await next(call);
          seen.push(result);
          return result;
        } catch (error) {
          seen.push(error);
          throw error;
        }
      },
  };
}

// Lets everything run that only waits for a turn.
async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await Promise.resolve();
}

function toolCalled(name: string, handler: Tool['handler']): Tool {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object', properties: {} }, handler };
}

function readingOf(read: () => Promise<never>): ResourceCall {
  const { tool: _tool, arguments: _arguments, ...base } = createTestCall(toolCalled('a', hang));
  return {
    ...base,
    kind: 'resource',
    resource: { uri: 'note:1', name: 'note', read },
    uri: 'note:1',
    variables: {},
  };
}
