import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { HeldEntry } from './jail.ts';
import { inTurn } from './folder-turns.ts';

const folder: HeldEntry = { name: '', path: '/', stats: statSync('/') };
const other: HeldEntry = { name: 'etc', path: '/etc', stats: statSync('/etc') };
const { signal } = new AbortController();

/** Work that runs until the test ends it. */
function work() {
  let end = (): void => {};
  const over = new Promise<void>((done) => (end = done));
  return { end, run: () => over };
}

test('D2 changes in one folder run one after the other, and changes in another folder do not wait', async () => {
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

test('D5 a cancelled call does not wait for its turn, and does not let another call pass', async () => {
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

test('D2 a failed change does not block the next one', async () => {
  const failed = inTurn([folder], signal, () => Promise.reject(new Error('full')));
  const next = inTurn([folder], signal, () => Promise.resolve('next'));
  await expect(failed).rejects.toThrow('full');
  expect(await next).toBe('next');
});
