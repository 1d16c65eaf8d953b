import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Entry } from './jail.ts';
import { inTurn } from './folder-turns.ts';

const folder: Entry = { name: '', path: '/', stats: statSync('/') };
const other: Entry = { name: 'etc', path: '/etc', stats: statSync('/etc') };
const { signal } = new AbortController();

/** Something under way until it is told to end. */
function work() {
  let end = (): void => {};
  const over = new Promise<void>((done) => (end = done));
  return { end, run: () => over };
}

test('D2 changes of one folder come one after the other, and those of another do not wait', async () => {
  const order: string[] = [];
  const first = work();
  const done = [
    inTurn([folder], signal, first.run).then(() => order.push('first')),
    inTurn([other, folder], signal, async () => void order.push('both')),
    inTurn([folder], signal, async () => void order.push('last')),
  ];
  await inTurn([{ ...other, stats: statSync('/usr') }], signal, async () => void order.push('elsewhere'));
  expect(order).toEqual(['elsewhere']);
  first.end();
  await Promise.all(done);
  expect(order).toEqual(['elsewhere', 'first', 'both', 'last']);
});

test('D5 a call that is cancelled does not wait for its turn, and lets nobody past', async () => {
  const order: string[] = [];
  const first = work();
  const cancelled = new AbortController();
  const done = inTurn([folder], signal, first.run);
  const waiting = inTurn([folder], cancelled.signal, async () => void order.push('cancelled'));
  const last = inTurn([folder], signal, async () => void order.push('last'));
  cancelled.abort(new Error('stop'));
  await expect(waiting).rejects.toThrow('stop');
  expect(order).toEqual([]);
  first.end();
  await Promise.all([done, last]);
  expect(order).toEqual(['last']);
});

test('D2 a change that fails does not keep the next one waiting', async () => {
  const failed = inTurn([folder], signal, () => Promise.reject(new Error('full')));
  const next = inTurn([folder], signal, () => Promise.resolve('next'));
  await expect(failed).rejects.toThrow('full');
  expect(await next).toBe('next');
});
