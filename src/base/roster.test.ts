import { expect, test } from 'vitest';
import { Roster } from './roster.ts';

test('what was taken in is there until its own place is let go of, and places are used again', () => {
  const roster = new Roster<{ name: string }>();
  const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
  const [first, second] = [roster.add(a), roster.add(b)];
  expect(roster.remove(first, a)).toBe(true);
  expect(roster.remove(first, a)).toBe(false);
  expect(roster.add(c)).toBe(first);
  // Whoever lets go late takes nobody else out.
  expect(roster.remove(first, a)).toBe(false);
  expect(roster.all()).toEqual([c, b]);
  expect(roster.size).toBe(2);
  expect(roster.remove(second, b)).toBe(true);
  expect(roster.size).toBe(1);
});
