import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { fitsPlainly } from './plain-check.ts';
import type { JsonSchema } from './schema.ts';
import { validatorOf } from './validator.ts';

test.each([
  [{ type: 'object' }, {}, true],
  [{ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }, { a: 1 }, true],
  [{ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }, {}, false],
  [{ type: 'object', properties: { a: { type: 'integer' } } }, { a: 1.5 }, false],
  [{ properties: {}, additionalProperties: false }, { a: 1 }, false],
  [{ additionalProperties: false }, { a: 1 }, false],
  [{ type: ['string', 'null'] }, null, true],
  [{ enum: ['a', 'b'] }, 'c', false],
  [{ items: { type: 'string', minLength: 1, maxLength: 2 } }, ['a', '💡💡'], true],
  [{ items: { minimum: 1, maximum: 2 }, minItems: 1, maxItems: 2 }, [1, 3], false],
  [{ type: 'string', format: 'date' }, '2026-01-01', undefined],
  [{ type: 'object', properties: { a: { pattern: '^a' } } }, { a: 'a' }, undefined],
  [{ type: 'object', properties: { a: { pattern: '^a' } } }, {}, true],
  [{ $ref: '#' }, {}, undefined],
  [{ anyOf: [] }, {}, undefined],
  [{ enum: [[1]] }, [1], undefined],
  [{ type: 'text' }, 'a', undefined],
  [{ $schema: 'http://json-schema.org/draft-04/schema#' }, {}, undefined],
])('the plain check of the schema %j with the value %j gives %s', (schema, value, fits) => {
  expect(fitsPlainly(schema, value)).toBe(fits);
});

test('a number that needs a bigint is left to the full validator', () => {
  expect(fitsPlainly({ type: 'integer' }, 2n ** 60n)).toBeUndefined();
});

test('a value that passes the plain check passes the full validator', () => {
  const name = fc.constantFrom('a', 'b', '__proto__', 'toString');
  const leaf = fc.constantFrom(0, -1, 1.5, 2, 'a', 'ab', '💡', true, null, 'date');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value')),
    ),
  }));
  const type = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null');
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      fc.constantFrom({}, { type: 'string' }, { type: 'integer', default: 1 }),
      fc.record(
        {
          type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
          enum: fc.uniqueArray(leaf, { minLength: 1, maxLength: 5 }),
          const: leaf,
          required: fc.uniqueArray(name, { maxLength: 2 }),
          properties: fc.dictionary(name, tie('schema'), { maxKeys: 3 }),
          additionalProperties: fc.boolean(),
          items: tie('schema'),
          minItems: fc.nat(2),
          maxItems: fc.nat(3),
          minLength: fc.nat(2),
          maxLength: fc.nat(2),
          minimum: fc.integer({ min: -2, max: 2 }),
          maximum: fc.integer({ min: -2, max: 2 }),
          default: leaf,
          format: fc.constantFrom('date', 'email'),
        },
        { requiredKeys: [] },
      ),
    ),
  }));
  const property = fc.property(schema, value, (declared, given) => {
    fc.pre(fitsPlainly(declared, given) === true);
    expect(validatorOf(declared as JsonSchema)(given)).not.toHaveProperty('issues');
  });
  fc.assert(property, { numRuns: propertyRuns(300), maxSkipsPerRun: 1_000 });
});
