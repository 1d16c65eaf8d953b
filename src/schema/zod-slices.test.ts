import { expect, test } from 'vitest';
import { z } from 'zod';
import { parserOfLarge } from './library-parsers.ts';

const ITEMS = 300;
const value = { list: Array.from({ length: ITEMS }, (_, index) => index) };

/** The check of a list of which the first items take some time each. */
function slowCheck(ms: number, items = ITEMS) {
  const times = { checked: 0 };
  const slow = z.number().refine((index) => {
    times.checked++;
    for (const until = performance.now() + (index < items ? ms : 0); performance.now() < until;);
    return true;
  });
  return { times, parse: parserOfLarge(z.object({ list: z.array(slow) })) };
}

test('others have their turns while many values are checked at once', async () => {
  const { times, parse } = slowCheck(0.1);
  const outcomes = Promise.all(Array.from({ length: 10 }, async () => parse(value)));
  let most = times.checked;
  const turn = () => new Promise<'turn'>((resolve) => setImmediate(() => resolve('turn')));
  for (let before = times.checked; (await Promise.race([outcomes, turn()])) === 'turn';) {
    most = Math.max(most, times.checked - before);
    before = times.checked;
  }
  expect(times.checked).toBe(10 * ITEMS);
  expect(most).toBeLessThan(250);
});

test('tenants take turns with values that take long to check', async () => {
  // Longer than a slice, so that each has one of its own.
  const { parse } = slowCheck(10, 10);
  const ended: string[] = [];
  const check = async (tenant: string): Promise<void> => {
    await parse(value, tenant);
    ended.push(tenant);
  };
  await Promise.all([...Array.from({ length: 6 }, () => check('one')), check('other')]);
  expect(ended).toHaveLength(7);
  expect(ended.indexOf('other')).toBeLessThan(3);
});
