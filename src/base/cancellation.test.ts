import { expect, test } from 'vitest';
import { Cancellation } from './cancellation.ts';

const first = new Error('first');
const second = new Error('second');

test('a call that is not stopped has no reason, and its signal is not aborted', () => {
  const cancellation = new Cancellation();
  expect(cancellation.reason).toBeUndefined();
  expect(cancellation.signal.aborted).toBe(false);
});

test('the signal is always the same object', () => {
  const cancellation = new Cancellation();
  expect(cancellation.signal).toBe(cancellation.signal);
});

test('a signal taken before the call is stopped is aborted with the reason', () => {
  const cancellation = new Cancellation();
  const { signal } = cancellation;
  cancellation.abort(first);
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toBe(first);
});

test('a signal taken after the call was stopped is aborted with the reason', () => {
  const cancellation = new Cancellation();
  cancellation.abort(first);
  expect(cancellation.signal.aborted).toBe(true);
  expect(cancellation.signal.reason).toBe(first);
});

test('the first reason is kept', () => {
  const cancellation = new Cancellation();
  cancellation.abort(first);
  cancellation.abort(second);
  expect(cancellation.reason).toBe(first);
  expect(cancellation.signal.reason).toBe(first);
});

test('work that ends before the call is stopped keeps its result', async () => {
  expect(await new Cancellation().race(Promise.resolve('done'))).toBe('done');
  await expect(new Cancellation().race(Promise.reject(first))).rejects.toBe(first);
});

test('running work is abandoned as soon as the call is stopped', async () => {
  const cancellation = new Cancellation();
  const race = cancellation.race(new Promise(() => {}));
  cancellation.abort(first);
  await expect(race).rejects.toBe(first);
});

test('work of a stopped call is abandoned at once', async () => {
  const cancellation = new Cancellation();
  cancellation.abort(first);
  await expect(cancellation.race(Promise.resolve('done'))).rejects.toBe(first);
});

test.each([
  ['before', (cancellation: Cancellation) => cancellation.abort(first)],
  ['after', () => {}],
])(
  'work that fails after the call was stopped causes no unhandled rejection (stopped %s the race)',
  async (_when, before) => {
    const cancellation = new Cancellation();
    let fail: (reason: Error) => void = () => {};
    before(cancellation);
    const race = cancellation.race(new Promise((_resolve, reject) => (fail = reject)));
    cancellation.abort(first);
    fail(second);
    await expect(race).rejects.toBe(first);
  },
);
