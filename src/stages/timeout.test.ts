import { expect, test } from 'vitest';
import { Deadlines } from '../base/deadlines.ts';
import { withStages, type Stage } from '../core/stage.ts';
import type { ToolSource } from '../core/source.ts';
import type { Tool } from '../core/tool.ts';
import { createFakeClock, createTestCall, recordingSource } from '../testing.ts';
import { timeout, timeoutOptions } from './timeout.ts';

const hang: Tool['handler'] = () => new Promise(() => {});

test('a call of over 30 s is ended, and the signal of its tool is aborted (000-41)', async () => {
  const clock = createFakeClock();
  let signal: AbortSignal | undefined;
  const slow = toolCalled('slow', {
    handler(_args, context) {
      signal = context.signal;
      return new Promise(() => {});
    },
  });
  const ended = withTimeout(timeout({}, { clock })).call(createTestCall(slow));
  clock.advance(29_999);
  expect(signal?.aborted).toBe(false);
  clock.advance(1);
  await expect(ended).rejects.toMatchObject({
    code: 'timed_out',
    message: 'slow took over 30 s and was stopped.',
  });
  expect(signal?.aborted).toBe(true);
});

test('a fetch of a tool ends with its call (000-41)', async () => {
  const clock = createFakeClock();
  let fetched: unknown;
  const fetching = toolCalled('fetching', {
    async handler(_args, { signal }) {
      // As fetch does: it fails with the reason of the signal it was given.
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }).catch((error: unknown) => (fetched = error));
    },
  });
  const ended = withTimeout(timeout({ seconds: 5 }, { clock })).call(createTestCall(fetching));
  clock.advance(5_000);
  await expect(ended).rejects.toMatchObject({ code: 'timed_out' });
  expect(fetched).toMatchObject({ code: 'timed_out' });
});

test('a tool may have a longer limit; the most specific pattern applies', async () => {
  const clock = createFakeClock();
  const source = withTimeout(
    timeout({ seconds: 10, perTool: { 'report.*': 60, 'report.quick': 5 } }, { clock }),
  );
  const over: string[] = [];
  for (const name of ['report.yearly', 'report.quick', 'other'])
    void Promise.resolve(source.call(createTestCall(toolCalled(name, { handler: hang })))).catch(() =>
      over.push(name),
    );
  const seen: string[][] = [];
  for (const ms of [4_999, 1, 5_000, 49_999, 1]) {
    clock.advance(ms);
    await settle();
    seen.push([...over]);
  }
  expect(seen).toEqual([
    [],
    ['report.quick'],
    ['report.quick', 'other'],
    ['report.quick', 'other'],
    ['report.quick', 'other', 'report.yearly'],
  ]);
});

test('the stage has the name that a server looks for, so that the server adds no second one', () => {
  expect(timeout().name).toBe('timeout');
});

test('several stages may share one set of deadlines', async () => {
  const clock = createFakeClock();
  const source = withTimeout(timeout({ seconds: 1 }, { deadlines: new Deadlines(clock) }));
  const ended = source.call(createTestCall(toolCalled('a', { handler: hang })));
  clock.advance(1_000);
  await expect(ended).rejects.toMatchObject({ code: 'timed_out' });
});

test('invalid options are refused', () => {
  for (const wrong of [{ seconds: 0 }, { seconds: 3_601 }, { perTool: { a: 0 } }, { ms: 1 }])
    expect(timeoutOptions.safeParse(wrong).success).toBe(false);
});

function withTimeout(stage: Stage): ToolSource {
  return withStages(recordingSource(), [stage]);
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
