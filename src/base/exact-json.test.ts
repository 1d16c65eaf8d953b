import { expect, test } from 'vitest';
import {
  exactly,
  longIntegersAt,
  longIntegersOf,
  noteLongIntegers,
  notedLongIntegers,
  withLongIntegers,
  writeExact,
} from './exact-json.ts';

const TEXT = '{"a":[9007199254740993,{"b~/c":-12345678901234567890}],"d":1.5,"e":"9007199254740993"}';
const PLACES = { a: { 0: '9007199254740993', 1: { 'b~/c': '-12345678901234567890' } } };

test('integers too large for a number are found by their path', () => {
  expect(longIntegersOf(TEXT)).toEqual(PLACES);
  expect(longIntegersOf('{"a":[1,2.5,1e30]}')).toBeUndefined();
});

test('large integers are written with all their digits', () => {
  expect(writeExact(withLongIntegers(JSON.parse(TEXT), PLACES))).toBe(TEXT);
});

test('a value that replaces a large integer is written instead', () => {
  const changed = withLongIntegers({ a: [7, { 'b~/c': 'gone' }] }, PLACES);
  expect(writeExact(changed)).toBe('{"a":[7,{"b~/c":"gone"}]}');
});

test('a part of a document keeps the large integers below it', () => {
  expect(longIntegersAt(PLACES, 'a', 1)).toEqual({ 'b~/c': '-12345678901234567890' });
  expect(longIntegersAt(PLACES, 'b')).toBeUndefined();
  expect(longIntegersAt(undefined, 'a')).toBeUndefined();
});

test('many large integers below a long key are found as fast as below a short one', () => {
  const key = 'k'.repeat(200_000);
  const text = `{"${key}":[${'9007199254740993,'.repeat(10_000)}0]}`;
  const before = performance.now();
  const found = longIntegersOf(text)!;
  expect(performance.now() - before).toBeLessThan(2_000);
  expect(Object.keys(found[key]!)).toHaveLength(10_000);
  expect(writeExact(withLongIntegers(JSON.parse(text), found))).toBe(text);
});

test('what is noted of an object is written with it, and of no copy', () => {
  const value = JSON.parse(TEXT) as object;
  noteLongIntegers(value, PLACES);
  expect(writeExact(exactly(value))).toBe(TEXT);
  expect(notedLongIntegers({ ...value })).toBeUndefined();
});
