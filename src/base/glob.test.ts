import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { compileGlob, compileGlobTable } from './glob.ts';

test.each([
  ['search', 'search', true],
  ['search', 'searches', false],
  ['search', 'Search', false],
  ['*', '', true],
  ['*', 'anything.at-all', true],
  ['', '', true],
  ['', 'a', false],
  ['github.*', 'github.search', true],
  ['github.*', 'github.', true],
  ['github.*', 'github', false],
  ['github.*', 'my.github.search', false],
  ['*_delete', 'user_delete', true],
  ['*_delete', 'user_delete_all', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*b*c', 'a-c-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['*ab*ab*', 'ab-a-b', false],
  ['**', 'x', true],
  ['a**b', 'ab', true],
  ['a.c', 'abc', false],
  ['[ab]', 'a', false],
  ['a?', 'ab', false],
  ['(a+)+*', '(a+)+x', true],
  ['x\\*', 'x*', false],
])('%j %j: %j', (pattern, name, expected) => {
  expect(compileGlob(pattern)(name)).toBe(expected);
});

test('matching gives the same result as trying every possibility', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.'), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 10 });
  fc.assert(
    fc.property(text, name, (pattern, tried) => {
      expect(compileGlob(pattern)(tried)).toBe(tryEverything(pattern, tried));
    }),
    { numRuns: propertyRuns() },
  );
});

test('a long name that nearly matches is decided without backtracking', () => {
  const looked: number[] = [];
  const watched = {
    length: 100_000,
    startsWith: () => true,
    endsWith: () => true,
    indexOf: (_part: string, from: number) => (looked.push(from), from + 10),
  };
  compileGlob('a*a*a*a*b')(watched as unknown as string);
  expect(looked).toEqual([1, 12, 23]);
});

test('of several matching patterns the most specific one wins, in any order', () => {
  const rows = [
    ['*', 'all'],
    ['git*', 'git'],
    ['github.*', 'github'],
    ['github.*_all', 'github all'],
    ['github.search', 'exact'],
  ] as const;
  for (const ordered of [rows, rows.toReversed()]) {
    const pick = compileGlobTable<string>(Object.fromEntries(ordered));
    expect(pick('github.search')).toBe('exact');
    expect(pick('github.delete')).toBe('github');
    expect(pick('github.delete_all')).toBe('github all');
    expect(pick('gitlab')).toBe('git');
    expect(pick('other')).toBe('all');
  }
  expect(compileGlobTable({ 'a*': 1 })('b')).toBeUndefined();
});

test('a table has no inherited entries', () => {
  const pick = compileGlobTable<number>({});
  for (const name of ['constructor', '__proto__', 'toString']) expect(pick(name)).toBeUndefined();
});

function tryEverything(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  if (pattern[0] !== '*') return name[0] === pattern[0] && tryEverything(pattern.slice(1), name.slice(1));
  return Array.from({ length: name.length + 1 }, (_, skipped) => name.slice(skipped)).some((rest) =>
    tryEverything(pattern.slice(1), rest),
  );
}
