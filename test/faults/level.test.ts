import { expect, test } from 'vitest';
import { growing, type Level } from './level.ts';

const flat: Level = { blockMs: 1, rssMb: 200, heapMb: 60, descriptors: 40, keptMb: 10 };
const levels = (of: (index: number) => Partial<Level>): Level[] =>
  Array.from({ length: 12 }, (_, index) => ({ ...flat, ...of(index) }));

test('values that rise at first and then stay are no growth', () => {
  expect(growing(levels((index) => ({ rssMb: Math.min(400, 100 + index * 100) })))).toEqual([]);
});

test.each(['rssMb', 'heapMb', 'descriptors', 'keptMb'] as const)(
  '%s that keeps growing is detected',
  (what) => {
    const found = growing(levels((index) => ({ [what]: flat[what] + index * flat[what] })));
    expect(found).toEqual([expect.stringContaining(what)]);
  },
);

test('a single peak is no growth', () => {
  expect(growing(levels((index) => (index === 10 ? { heapMb: 500 } : {})))).toEqual([]);
});
