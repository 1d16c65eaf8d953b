import { expect, test } from 'vitest';
import { SlotList } from './slot-list.ts';

test('an entry stays until its own slot is released, and slots are reused', () => {
  const slots = new SlotList<{ name: string }>();
  const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
  const [first, second] = [slots.add(a), slots.add(b)];
  expect(slots.remove(first, a)).toBe(true);
  expect(slots.remove(first, a)).toBe(false);
  expect(slots.add(c)).toBe(first);
  // A late release does not remove another entry.
  expect(slots.remove(first, a)).toBe(false);
  expect(slots.all()).toEqual([c, b]);
  expect(slots.size).toBe(2);
  expect(slots.remove(second, b)).toBe(true);
  expect(slots.size).toBe(1);
});
