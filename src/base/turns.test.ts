import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

test('work runs in order, two turns of the event loop apart, so that others can connect and be answered', async () => {
  const turns = new Turns();
  let loops = 0;
  const counting = { isOver: false };
  const count = (): void => {
    loops++;
    if (!counting.isOver) setImmediate(count);
  };
  setImmediate(count);
  const taken = await Promise.all(
    ['first', 'second', 'third'].map(async (name) => {
      await turns.next('t');
      return { name, at: loops };
    }),
  );
  counting.isOver = true;
  const [first, second, third] = taken.toSorted((a, b) => a.at - b.at);
  expect([first!.name, second!.name, third!.name]).toEqual(['first', 'second', 'third']);
  expect([second!.at - first!.at, third!.at - second!.at]).toEqual([2, 2]);
});

test('work that comes when the queue is empty gets its turn', async () => {
  const turns = new Turns();
  await turns.next('t');
  await expect(turns.next('t')).resolves.toBeUndefined();
});

test('after long work the next waits until other work had time, too', async () => {
  const turns = new Turns();
  let hadTime = false;
  const first = turns.next('t').then(() => {
    const until = performance.now() + 20;
    while (performance.now() < until);
    setTimeout(() => (hadTime = true), 4);
  });
  await Promise.all([first, turns.next('t')]);
  expect(hadTime).toBe(true);
});

test('tenants take turns: one piece of work waits for one of another tenant, not for all', async () => {
  const turns = new Turns();
  const order: string[] = [];
  const work = ['a', 'a', 'a', 'b', 'a', 'b'].map((tenant) =>
    turns.next(tenant).then(() => order.push(tenant)),
  );
  await Promise.all(work);
  expect(order.join('')).toBe('ababaa');
});
