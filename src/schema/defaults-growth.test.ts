import { expect, test } from 'vitest';
import { checkSchema } from './check.ts';
import { fitsPlainly } from './plain-check.ts';
import type { JsonSchema } from './schema.ts';
import { validatorOf } from './validator.ts';

const filled = (schema: JsonSchema, value: unknown): unknown => {
  checkSchema(schema, 'input');
  return validatorOf(schema)(value);
};
const tooMuch = { issues: [{ message: 'becomes too much with the defaults of this schema' }] };

/** Each level is filled in with so many of the next. */
function multiplied(levels: number, times: number): JsonSchema {
  if (levels === 0) return { type: 'object' };
  const few = Array.from({ length: times }, () => ({}));
  return { properties: { a: { default: few, items: multiplied(levels - 1, times) } } };
}

/** The same, with the defaults and what they are filled in with in different branches. */
function branched(levels: number): JsonSchema {
  if (levels === 0) return {};
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, { default: {} }]);
  return {
    allOf: [{ additionalProperties: branched(levels - 1) }, { properties: Object.fromEntries(names) }],
  };
}

test.each([
  ['lists of objects that are filled in again', multiplied(10, 10), {}],
  ['the same where a caller begins it', { properties: { b: multiplied(10, 10) } }, { b: {} }],
  ['members that another branch fills in again', branched(10), {}],
  ['objects that contain themselves', { properties: { a: { $ref: '#', default: {} } } }, {}],
  [
    'long texts in each of many items',
    { items: { properties: { a: { default: Array.from({ length: 200 }, String) } } } },
    Array.from({ length: 10_000 }, () => ({})),
  ],
])('defaults that make too much of a value are not filled in: %s', (_title, schema, value) => {
  expect(filled(schema, value)).toEqual(tooMuch);
  expect(fitsPlainly(schema, value)).toBeUndefined();
});

test('defaults that are lists and objects are filled in, in what is filled in too', () => {
  const schema = {
    properties: {
      list: { default: [{}, { n: 2 }], items: { properties: { n: { default: 1 } } } },
      options: { default: {}, properties: { deep: { default: {}, properties: { n: { default: 3 } } } } },
    },
  };
  const value = { list: [{ n: 1 }, { n: 2 }], options: { deep: { n: 3 } } };
  expect(filled(schema, {})).toEqual({ value });
  expect(filled(multiplied(3, 3), {})).not.toEqual(tooMuch);
});

test('a large value of a schema with such defaults is checked', () => {
  const schema = {
    properties: { tags: { default: ['x'] }, items: { items: { properties: { n: { type: 'number' } } } } },
  };
  const items = Array.from({ length: 40_000 }, (_, n) => ({ n }));
  expect(filled(schema, { items })).toEqual({ value: { items, tags: ['x'] } });
});
