import { expect, test } from 'vitest';
import { BoundedMap, makeRoomIn } from './bounded-map.ts';

const LIMITS = {
  caller: { rows: 3, bytes: 100 },
  tenant: { rows: 5, bytes: 150 },
  total: { rows: 8, bytes: 200 },
};

/** A kept that notes what it dropped. */
function open(): {
  kept: BoundedMap<string>;
  dropped: string[];
  put: (id: string, owner: string, bytes?: number) => void;
} {
  const dropped: string[] = [];
  const kept = new BoundedMap<string>(LIMITS, (id) => dropped.push(id));
  return { kept, dropped, put: (id, owner, bytes = 1) => kept.set(id, id, { owner, bytes }) };
}

test('A8 a caller with too many entries loses its own oldest', () => {
  const { put, dropped, kept } = open();
  put('other', '1:a/bob');
  for (const id of ['1', '2', '3', '4']) put(id, '1:a/ada');
  expect(dropped).toEqual(['1']);
  expect([kept.get('other'), kept.get('1'), kept.get('4')]).toEqual(['other', undefined, '4']);
});

test('A8 a caller with too many bytes loses as many of its own entries as necessary', () => {
  const { put, dropped } = open();
  put('other', '1:a/bob', 40);
  put('1', '1:a/ada', 40);
  put('2', '1:a/ada', 40);
  put('3', '1:a/ada', 95);
  expect(dropped).toEqual(['1', '2']);
});

test('A8 a tenant with too many bytes loses its oldest entries, and no other tenant loses any', () => {
  const { put, dropped } = open();
  put('other', '1:b/ada', 40);
  for (const [n, bytes] of [60, 60, 60].entries()) put(`${n}`, `1:a/caller ${n}`, bytes);
  expect(dropped).toEqual(['0']);
});

test('A8 at the total limit, the tenant with most bytes loses entries', () => {
  const { put, dropped } = open();
  put('1', '1:a/ada', 90);
  put('2', '1:a/bob', 50);
  put('3', '1:b/ada', 50);
  put('4', '1:c/ada', 30);
  expect(dropped).toEqual(['1']);
});

test('a changed entry counts with its new size, and a deleted entry does not count', () => {
  const { put, dropped, kept } = open();
  put('1', '1:a/ada', 90);
  put('1', '1:a/ada', 10);
  put('2', '1:a/ada', 80);
  expect(dropped).toEqual([]);
  expect(kept.delete('2')).toBe(true);
  expect(kept.delete('2')).toBe(false);
  put('3', '1:a/ada', 85);
  expect(dropped).toEqual([]);
  expect(kept.values()).toEqual(['1', '3']);
});

test('a full map forgets the entry that was set longest ago, and no other', () => {
  const map = new Map([
    ['a', 1],
    ['b', 2],
  ]);
  makeRoomIn(map, 3);
  expect([...map.keys()]).toEqual(['a', 'b']);
  makeRoomIn(map, 2);
  expect([...map.keys()]).toEqual(['b']);
});
