import canonicalize from 'canonicalize';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { canonicalJson } from './canonical-json.ts';
import { readJson } from './parse-json.ts';

test('any JSON value gets the canonical form of RFC 8785', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }),
    { numRuns: propertyRuns() },
  );
  const value = { b: undefined, a: [undefined, new Date(0), -0, 1e21], é: 1, '10': 1, '9': 1 };
  expect(canonicalJson(value)).toBe(canonicalize(value));
});

test('text with unpaired surrogates reads back unchanged, so different texts have different forms', () => {
  expect(() => canonicalize('\ud800')).toThrow('Lone surrogate');
  const text = fc.string({ unit: fc.constantFrom('\ud800', '\udc00', '\ufffd', '\\', 'ud800', '"') });
  fc.assert(
    fc.property(fc.dictionary(text, text), (value) => {
      expect(readJson(canonicalJson(value))).toEqual({ ...value });
      expect(canonicalJson(value).isWellFormed()).toBe(true);
    }),
    { numRuns: propertyRuns() },
  );
});

test.each([NaN, Infinity, -Infinity])('%s is refused: JSON would write it as null', (number) => {
  expect(() => canonicalJson({ a: [number] })).toThrow('is not JSON');
});
