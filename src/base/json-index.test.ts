import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { canonicalJson } from './canonical-json.ts';
import { JsonIndex } from './json-index.ts';

const plenty = () => ({ steps: 1_000_000 });

test('two values are equal exactly when their canonical texts are', () => {
  const values = fc.array(fc.jsonValue({ maxDepth: 2, depthSize: 'small' }), { maxLength: 20 });
  fc.assert(
    fc.property(values, (list) => {
      const index = new JsonIndex(plenty());
      const texts: string[] = [];
      for (const value of list) {
        const text = canonicalJson(value);
        const place = texts.indexOf(text);
        expect(index.has(value)).toBe(place >= 0);
        expect(index.add(value)).toBe(place < 0 ? undefined : place);
        if (place < 0) texts.push(text);
      }
    }),
    { numRuns: propertyRuns(500) },
  );
});

test.each<[one: unknown, other: unknown, isSame: boolean]>([
  [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
  [{ a: 1, b: 2 }, { a: 2, b: 1 }, false],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [0, -0, true],
  [1, '1', false],
  [null, 'null', false],
  [true, 'true', false],
  ['__proto__', '__proto__', true],
  [JSON.parse('{"__proto__":1}'), {}, false],
  ['\ud800', '\ud801', false],
])('%j and %j are equal: %s', (one, other, isSame) => {
  const index = new JsonIndex(plenty());
  index.add(one);
  expect(index.has(other)).toBe(isSame);
});

test('the work for one comparison is limited', () => {
  const budget = { steps: 100 };
  const index = new JsonIndex(budget);
  expect(() => index.add(Array(200).fill(0))).toThrow(RangeError);
  budget.steps = 100;
  expect(() => index.add('x'.repeat(10_000)) ?? index.add(1)).toThrow(RangeError);
});
