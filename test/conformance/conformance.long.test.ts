import { expect, test } from 'vitest';
import { problemsOf, runSuite } from './suite.ts';

test('every scenario of the official suite passes on every revision', { timeout: 180_000 }, async () => {
  const legs = await runSuite();
  expect(
    legs.flatMap(({ title, scenarios }) => scenarios.flatMap(problemsOf).map((each) => `${title}: ${each}`)),
  ).toEqual([]);
  expect(legs.map(({ title, scenarios, required }) => [title, scenarios.length, required.length])).toEqual([
    ['required by 2025-11-25', 33, 30],
    ['required by 2026-07-28', 50, 37],
    ['pending and extensions', 17, 0],
    ['all of 2025-03-26', 1, 0],
    ['all of 2025-06-18', 27, 0],
    ['all of 2025-11-25', 33, 0],
    ['all of 2026-07-28', 40, 0],
  ]);
});
