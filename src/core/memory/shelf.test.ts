import { expect, test } from 'vitest';
import { Shelf } from './shelf.ts';

const LIMITS = {
  caller: { rows: 3, bytes: 100 },
  tenant: { rows: 5, bytes: 150 },
  total: { rows: 8, bytes: 200 },
};

/** A shelf that notes what it dropped. */
function open(): {
  shelf: Shelf<string>;
  dropped: string[];
  put: (id: string, owner: string, bytes?: number) => void;
} {
  const dropped: string[] = [];
  const shelf = new Shelf<string>(LIMITS, (id) => dropped.push(id));
  return { shelf, dropped, put: (id, owner, bytes = 1) => shelf.set(id, id, { owner, bytes }) };
}

test('A8 a caller with too many things loses its own oldest', () => {
  const { put, dropped, shelf } = open();
  put('other', '1:a/bob');
  for (const id of ['1', '2', '3', '4']) put(id, '1:a/ada');
  expect(dropped).toEqual(['1']);
  expect([shelf.get('other'), shelf.get('1'), shelf.get('4')]).toEqual(['other', undefined, '4']);
});

test('A8 a caller with too much loses as many of its own as it takes', () => {
  const { put, dropped } = open();
  put('other', '1:a/bob', 40);
  put('1', '1:a/ada', 40);
  put('2', '1:a/ada', 40);
  put('3', '1:a/ada', 95);
  expect(dropped).toEqual(['1', '2']);
});

test('A8 a tenant with many callers loses its oldest, whosever it is, and no other tenant does', () => {
  const { put, dropped } = open();
  put('other', '1:b/ada', 40);
  for (const [n, bytes] of [60, 60, 60].entries()) put(`${n}`, `1:a/caller ${n}`, bytes);
  expect(dropped).toEqual(['0']);
});

test('A8 where everything is too much, the tenant that has most loses', () => {
  const { put, dropped } = open();
  put('1', '1:a/ada', 90);
  put('2', '1:a/bob', 50);
  put('3', '1:b/ada', 50);
  put('4', '1:c/ada', 30);
  expect(dropped).toEqual(['1']);
});

test('a thing that changes its size is counted with the new one, and what is deleted not at all', () => {
  const { put, dropped, shelf } = open();
  put('1', '1:a/ada', 90);
  put('1', '1:a/ada', 10);
  put('2', '1:a/ada', 80);
  expect(dropped).toEqual([]);
  expect(shelf.delete('2')).toBe(true);
  expect(shelf.delete('2')).toBe(false);
  put('3', '1:a/ada', 85);
  expect(dropped).toEqual([]);
  expect(shelf.values()).toEqual(['1', '3']);
});
