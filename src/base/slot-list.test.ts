import { expect, test } from 'vitest';
import { SlotList } from './slot-list.ts';

test('what was taken in is there until its own place is let go of, and places are used again', () => {
  const slots = new SlotList<{ name: string }>();
  const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
  const [first, second] = [slots.add(a), slots.add(b)];
  expect(slots.remove(first, a)).toBe(true);
  expect(slots.remove(first, a)).toBe(false);
  expect(slots.add(c)).toBe(first);
  // Whoever lets go late takes nobody else out.
  expect(slots.remove(first, a)).toBe(false);
  expect(slots.all()).toEqual([c, b]);
  expect(slots.size).toBe(2);
  expect(slots.remove(second, b)).toBe(true);
  expect(slots.size).toBe(1);
});
