import { expect, test } from 'vitest';
import { longIntegersAt, longIntegersOf, withLongIntegers, writeExact } from './exact-json.ts';

const TEXT = '{"a":[9007199254740993,{"b~/c":-12345678901234567890}],"d":1.5,"e":"9007199254740993"}';
const PLACES = { '/a/0': '9007199254740993', '/a/1/b~0~1c': '-12345678901234567890' };

test('integers that a number cannot hold are found by their place', () => {
  expect(longIntegersOf(TEXT)).toEqual(PLACES);
  expect(longIntegersOf('{"a":[1,2.5,1e30]}')).toBeUndefined();
});

test('they are written as they were', () => {
  expect(writeExact(withLongIntegers(JSON.parse(TEXT), PLACES))).toBe(TEXT);
});

test('what stands in their place now counts', () => {
  const changed = withLongIntegers({ a: [7, { 'b~/c': 'gone' }] }, PLACES);
  expect(writeExact(changed)).toBe('{"a":[7,{"b~/c":"gone"}]}');
});

test('a part of them begins at its own place', () => {
  expect(longIntegersAt(PLACES, '/a/1')).toEqual({ '/b~0~1c': '-12345678901234567890' });
  expect(longIntegersAt(PLACES, '/b')).toBeUndefined();
  expect(longIntegersAt(undefined, '/a')).toBeUndefined();
});
