import { expect, test } from 'vitest';
import type { Clock } from '../../base/clock.ts';
import { createFakeClock } from '../../testing.ts';
import { ConnectLimit } from './connect-limit.ts';

const never = new Promise<never>(() => {});

test('all steps together have one limit, and the one that comes too late is named', async () => {
  const clock = createFakeClock();
  const limit = new ConnectLimit(clock, 10_000);
  expect(await limit.cover('the first step', Promise.resolve('done'))).toBe('done');
  clock.advance(7_000);
  expect(limit.leftMs).toBe(3_000);
  const late = limit.cover('the second step', never);
  clock.advance(3_000);
  await expect(late).rejects.toMatchObject({
    code: 'timed_out',
    message: 'the second step had no answer within the 10 s that connecting may take.',
  });
});

test('a step ends as it ends by itself, and leaves no timer behind', async () => {
  let timers = 0;
  const clock: Clock = { ...createFakeClock(), after: () => (timers++, () => timers--) };
  const limit = new ConnectLimit(clock, 1_000);
  expect(await limit.cover('a step', Promise.resolve('done'))).toBe('done');
  await expect(limit.cover('a step', Promise.reject(new Error('Refused.')))).rejects.toThrow('Refused.');
  expect(timers).toBe(0);
});

test('a limit that is over leaves just enough to fail, and one that begins anew all of it', async () => {
  const clock = createFakeClock();
  const limit = new ConnectLimit(clock, 1_000);
  clock.advance(5_000);
  expect(limit.leftMs).toBe(1);
  limit.restart();
  expect(limit.leftMs).toBe(1_000);
});
