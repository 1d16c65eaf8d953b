import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { copierOf } from './copy-for-defaults.ts';
import { copyJson } from '../base/json.ts';
import type { JsonSchema } from './schema.ts';
import { validatorOf } from './validator.ts';

test('only the objects that defaults are written into are copied', () => {
  const schema = {
    type: 'object',
    properties: {
      limit: { type: 'integer', default: 10 },
      filter: { type: 'object', properties: { active: { type: 'boolean', default: true } } },
      load: {},
    },
  };
  const value = { filter: { name: 'x' }, load: { deep: [{ a: 1 }] } };
  const copy = copierOf(schema)!(value) as typeof value;
  expect(copy).toEqual(value);
  expect(copy).not.toBe(value);
  expect(copy.filter).not.toBe(value.filter);
  expect(copy.load).toBe(value.load);
});

test('a schema without defaults copies nothing', () => {
  expect(copierOf({ type: 'object', properties: { limit: { type: 'integer' } } })).toBeUndefined();
});

// Defaults in every place a schema may have them, and references to one that has.
const filled = { type: 'object', properties: { a: { default: 2 } } };
const { schema: anySchema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<JsonSchema>({}, { default: 1 }, filled, { $ref: '#/properties/a' }),
    fc.record(
      {
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3 }),
        items: tie('schema'),
        additionalProperties: tie('schema'),
        allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<JsonSchema>,
  ),
}));
const anyValue = fc.object({
  key: fc.constantFrom('a', 'b', 'c'),
  maxDepth: 4,
  values: [fc.integer(), fc.string()],
});

test('a check with any schema leaves the checked value unchanged', () => {
  fc.assert(
    fc.property(anySchema, anyValue, ({ properties, ...rest }, value) => {
      const before = copyJson(value);
      validatorOf({ ...rest, properties: { ...(properties as object), a: filled } })(value);
      expect(value).toEqual(before);
    }),
    { numRuns: propertyRuns(300) },
  );
});
