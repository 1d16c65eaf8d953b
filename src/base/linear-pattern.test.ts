import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { isLinearPattern, linearPattern } from './linear-pattern.ts';

const named = String.raw`^(?<quote>["'])x\k<quote>$`;

test('A15 a named back-reference is refused, wherever it is', () => {
  for (const pattern of [named, String.raw`\k<quote>(?<quote>a)`, String.raw`a|(?:\k<quote>)+`]) {
    expect(() => linearPattern(pattern)).toThrow('Back-references are not linear.');
    expect([pattern, isLinearPattern(pattern)]).toEqual([pattern, false]);
  }
});

test('A15 control: the engine itself takes a named back-reference for plain text', () => {
  const pattern = RE2JS.compile(RE2JS.translateRegExp(named));
  expect([pattern.test('"x"'), pattern.test('"xk<quote>')]).toEqual([false, true]);
});

test.each([
  ['a numbered back-reference', String.raw`(a)\1`],
  ['a look-ahead', 'a(?=b)'],
  ['a look-ahead for what is not there', 'a(?!b)'],
  ['a look-behind', '(?<=a)b'],
  ['a look-behind for what is not there', '(?<!a)b'],
  ['too many repetitions', '((a{100}){100}){100}'],
  ['no pattern', '('],
])('A15 %s is refused: %s', (_what, pattern) => {
  expect(() => linearPattern(pattern)).toThrow();
  expect(isLinearPattern(pattern)).toBe(false);
});

test('a named group without a reference to it is accepted', () => {
  expect(isLinearPattern('^(?<year>[0-9]{4})$')).toBe(true);
  expect(linearPattern('^(?<year>[0-9]{4})$').test('2024')).toBe(true);
  expect(linearPattern('^(?<year>[0-9]{4})$').test('24')).toBe(false);
});

test('A15 a pattern on which another engine backtracks endlessly gives an answer', () => {
  expect(linearPattern('^(a+)+$').test(`${'a'.repeat(50_000)}!`)).toBe(false);
});

test('every match is replaced by the result of the function', () => {
  const digits = linearPattern('[0-9]+');
  expect(digits.matcher('a1b22').replaceAll((match) => `<${match}>`)).toBe('a<1>b<22>');
});
