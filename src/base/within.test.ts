import { expect, test } from 'vitest';
import { endsWithin, Overdue, within } from './within.ts';

const never = new Promise<never>(() => {});

test('work that ends in time keeps its result or error', async () => {
  const { signal } = new AbortController();
  expect(await within(60_000, signal, Promise.resolve('done'))).toBe('done');
  await expect(within(60_000, signal, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});

test('work that takes too long fails as overdue, and its later error is ignored', async () => {
  let fail: (error: Error) => void = () => {};
  const work = new Promise((_resolve, reject) => (fail = reject));
  await expect(within(1, undefined, work)).rejects.toBeInstanceOf(Overdue);
  fail(new Error('too late'));
});

test.each(['before', 'while'])(
  'work whose signal is aborted %s it runs fails with the reason',
  async (when) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    if (when === 'before') controller.abort(reason);
    const waiting = within(Infinity, controller.signal, never);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  },
);

test('a bounded wait says whether the work ended, and throws its error', async () => {
  expect(await endsWithin(60_000, Promise.resolve())).toBe(true);
  expect(await endsWithin(1, never)).toBe(false);
  await expect(endsWithin(60_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});
