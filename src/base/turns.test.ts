import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

test('they go in order, two turns of the loop apart: one for others to connect in, one to be answered in', async () => {
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

test('long work leaves others time for more than a turn or two before the next', async () => {
  const turns = new Turns();
  let loops = 0;
  const counting = { isOver: false };
  const count = (): void => {
    loops++;
    if (!counting.isOver) setImmediate(count);
  };
  const first = turns.next('t').then(() => {
    const until = performance.now() + 20;
    while (performance.now() < until);
    setImmediate(count);
  });
  await Promise.all([first, turns.next('t')]);
  counting.isOver = true;
  expect(loops).toBeGreaterThan(20);
});

test('a tenant with one piece of work waits for one of those of another, not for all of them', async () => {
  const turns = new Turns();
  const order: string[] = [];
  const work = ['a', 'a', 'a', 'b', 'a', 'b'].map((tenant) =>
    turns.next(tenant).then(() => order.push(tenant)),
  );
  await Promise.all(work);
  expect(order.join('')).toBe('ababaa');
});
