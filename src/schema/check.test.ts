import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { checkSchema } from './check.ts';
import { ToolcribError } from '../base/errors.ts';
import type { JsonSchema } from './schema.ts';
import { validatorOf } from './validator.ts';

test.each<[problem: string, schema: object, says: string]>([
  ['an unknown type', { type: 'text' }, 'input.type must be one of string, number, integer'],
  ['an unknown type in a list', { type: ['string', 'int'] }, 'input.type must be one of string'],
  ['an empty list of types', { type: [] }, 'input.type must be one of string'],
  ['one name where a list belongs', { required: 'x' }, 'input.required must be a list of names, not "x"'],
  ['a number among the required names', { required: ['x', 1] }, 'input.required must be a list of names'],
  ['a list of properties', { properties: [] }, 'input.properties must be an object of schemas by name'],
  ['a text where a schema belongs', { items: 'string' }, 'input.items must be a schema'],
  ['an old-style tuple', { items: [{ type: 'string' }] }, 'input.items must be a schema'],
  ['an empty allOf', { allOf: [] }, 'input.allOf must be a list of at least one schema'],
  ['an anyOf that is no list', { anyOf: {} }, 'input.anyOf must be a list of at least one schema'],
  ['an empty enum', { enum: [] }, 'input.enum must be a list of at least one value'],
  ['an enum that is no list', { enum: 'a' }, 'input.enum must be a list of at least one value'],
  ['a description that is no text', { description: 1 }, 'input.description must be a string'],
  ['a limit written as text', { minimum: '1' }, 'input.minimum must be a number'],
  ['an infinite limit', { maximum: Infinity }, 'input.maximum must be a number'],
  ['a step of nothing', { multipleOf: 0 }, 'input.multipleOf must be a number above 0'],
  ['a negative length', { minLength: -1 }, 'input.minLength must be a whole number from 0'],
  ['half an item', { maxItems: 1.5 }, 'input.maxItems must be a whole number from 0'],
  ['a flag written as text', { uniqueItems: 'yes' }, 'input.uniqueItems must be true or false'],
  ['a broken pattern', { pattern: '(' }, 'input.pattern is not a pattern that can be checked in linear time'],
  ['a look-behind', { pattern: '(?<=a)b' }, 'linear time (no look-around, no back-references): (?<=a)b'],
  ['a look-ahead', { pattern: 'a(?=b)' }, 'no look-around'],
  ['a back-reference', { pattern: '(a)\\1' }, 'no back-references'],
  ['a pattern that grows too large', { pattern: '((a{99}){99}){99}' }, 'input.pattern is not a pattern'],
  ['a broken property pattern', { patternProperties: { '(?!x)': {} } }, 'input.patternProperties is not a'],
  [
    'one dependent name without a list',
    { dependentRequired: { a: 'b' } },
    'input.dependentRequired.a must be',
  ],
  ['a remote reference', { $ref: 'https://example.com/x.json' }, 'input.$ref must point inside this schema'],
  ['a file reference', { $ref: 'file:///etc/passwd' }, 'nothing is fetched'],
  ['an unknown dialect', { $schema: 'http://json-schema.org/draft-04/schema#' }, 'input.$schema must be one'],
  ['an $id', { $id: 'https://example.com/x' }, 'input.$id is not supported: use "$defs"'],
  ['an old-style id', { id: 'x' }, 'input.id is not supported: use "$defs"'],
  ['a dynamic reference', { $dynamicRef: '#x' }, 'input.$dynamicRef is not supported: use "$defs"'],
  ['a recursive reference', { $recursiveRef: '#' }, 'input.$recursiveRef is not supported: use "$defs"'],
  [
    'nullable alone',
    { nullable: true },
    'input.nullable is not supported like this: write "type": ["string"',
  ],
  ['a null that is not nullable', { type: ['null'], nullable: false }, 'input.nullable is not supported'],
  [
    'dependencies',
    { dependencies: { a: {} } },
    'input.dependencies is not supported: use "dependentRequired"',
  ],
  ['an anchor that is no name', { $anchor: 'a b' }, 'input.$anchor must be a name'],
  [
    'a problem far inside',
    { properties: { a: { items: { type: 1 } } } },
    'input.properties.a.items.type must',
  ],
  ['a number that JSON cannot hold', { default: 1n }, 'input must be plain JSON data'],
  ['itself inside', circular(), 'input must be plain JSON data'],
])('a schema with %s is refused, and the error names the place and the remedy', (_problem, schema, says) => {
  expect(refusalOf(schema)).toMatchObject({ code: 'invalid_tool', message: expect.stringContaining(says) });
});

test('a schema that asks for asynchronous checks is refused, because its check would accept everything', () => {
  expect(refusalOf({ $async: true, required: ['id'] })?.message).toContain('input.$async is not supported');
});

test('a schema of over 64 KiB is refused', () => {
  expect(refusalOf({ description: 'x'.repeat(65_536) })?.message).toMatch(
    /input is 65\d{3} characters long; the limit is 65536/,
  );
});

test('a schema of 32 levels is accepted, and one of 33 is refused', () => {
  expect(refusalOf(nested(32))).toBeUndefined();
  expect(refusalOf(nested(33))?.message).toContain('is nested deeper than 32 levels');
});

test.each([
  ['a keyword nobody knows', (deep: unknown) => ({ 'x-note': deep })],
  ['a default', (deep: unknown) => ({ default: deep })],
  ['an example', (deep: unknown) => ({ examples: [deep] })],
])('data nested far too deeply in %s is refused', (_place, schemaWith) => {
  let deep: unknown = [];
  for (let level = 0; level < 3_000; level++) deep = { deep };
  expect(refusalOf(schemaWith(deep))?.message).toContain('nested deeper than');
});

test('data nested deeper than the call stack allows is refused', () => {
  let deep: unknown = [];
  for (let level = 0; level < 30_000; level++) deep = [deep];
  expect(refusalOf({ default: deep })?.message).toMatch(
    /must be plain JSON data|holds data nested deeper than 128 levels/,
  );
});

test('a schema of over 2,000 subschemas is refused', () => {
  const properties = Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`p${index}`, {}]));
  expect(refusalOf({ properties })?.message).toContain('is part of a schema with over 2000 subschemas');
});

test('fields may have the names of keywords', () => {
  const properties = Object.fromEntries(
    ['$id', 'id', '$ref', '$async', 'type', 'required', 'pattern', 'nullable', 'constructor'].map((name) => [
      name,
      { type: 'string' },
    ]),
  );
  expect(refusalOf({ type: 'object', properties })).toBeUndefined();
});

test('data in a schema is not checked as a schema, even if it looks like a broken one', () => {
  const data = { type: 'nonsense', $ref: 'https://example.com', $id: 'x' };
  expect(
    refusalOf({ default: data, const: data, enum: [data], examples: [data], 'x-ours': data }),
  ).toBeUndefined();
});

test('any value given as a schema is accepted, or refused with a ToolcribError', () => {
  fc.assert(
    fc.property(
      fc.oneof(anySchema, fc.object({ withBigInt: true, withDate: true, maxDepth: 6 })),
      (schema) => {
        expect(() => refusalOf(schema)).not.toThrow();
      },
    ),
    { numRuns: propertyRuns() },
  );
});

test('an accepted schema can check any value synchronously', () => {
  fc.assert(
    fc.property(anySchema, fc.jsonValue({ maxDepth: 4 }), (schema, value) => {
      fc.pre(refusalOf(schema) === undefined);
      expect(validatorOf(schema as JsonSchema)(value)).toSatisfy(
        (outcome: object) => 'value' in outcome || 'issues' in outcome,
      );
    }),
    { numRuns: propertyRuns() },
  );
});

/** The complaint about a schema, if there is one; anything else that is thrown goes on. */
function refusalOf(schema: object): ToolcribError | undefined {
  try {
    checkSchema(schema, 'input');
    return undefined;
  } catch (error) {
    if (error instanceof ToolcribError) return error;
    throw error;
  }
}

function nested(levels: number): object {
  return levels === 1 ? { type: 'string' } : { items: nested(levels - 1) };
}

function circular(): object {
  const schema: Record<string, unknown> = { type: 'object' };
  schema['properties'] = { child: schema };
  return schema;
}

/** Schemas made of real keywords, each right more often than not, with references to places that may exist. */
const anySchema: fc.Arbitrary<object> = fc.letrec<{ schema: object; child: object | boolean }>((tie) => {
  const names = fc.constantFrom('a', 'b', 'default', 'enum', '__proto__', 'x%61', 'toString');
  const child = tie('child');
  const children = fc.array(child, { maxLength: 3 });
  const byName = fc.dictionary(names, child, { maxKeys: 3 });
  const mostly = <T>(good: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 30, arbitrary: good }, { weight: 1, arbitrary: fc.jsonValue() });
  const keywords = {
    type: mostly(fc.constantFrom<unknown>('string', 'object', 'array', 'integer', ['null', 'number'])),
    properties: mostly(byName),
    patternProperties: mostly(fc.dictionary(fc.constantFrom('^a', '[bc]+$', '(?=a)'), child, { maxKeys: 2 })),
    $defs: mostly(byName),
    dependentSchemas: mostly(byName),
    dependentRequired: mostly(fc.dictionary(names, fc.array(names))),
    dependencies: byName,
    required: mostly(fc.array(names)),
    items: mostly(child),
    prefixItems: mostly(children),
    contains: mostly(child),
    additionalProperties: mostly(child),
    unevaluatedProperties: mostly(child),
    propertyNames: mostly(child),
    not: mostly(child),
    if: mostly(child),
    then: mostly(child),
    allOf: mostly(children),
    anyOf: mostly(children),
    oneOf: mostly(children),
    enum: mostly(fc.array(fc.jsonValue({ maxDepth: 1 }))),
    const: fc.jsonValue(),
    default: fc.jsonValue(),
    pattern: mostly(fc.constantFrom('^[a-z]+$', '(a+)+$', '\\d{2,}', '(?<!a)b', '(a)\\1', '[')),
    format: mostly(fc.constantFrom('email', 'date-time', 'uri', 'regex', '__proto__', 'constructor')),
    minLength: mostly(fc.nat(9)),
    maximum: mostly(fc.double({ noNaN: true, noDefaultInfinity: true })),
    multipleOf: mostly(fc.constantFrom(1, 0.5, 0, -2)),
    minItems: mostly(fc.nat(3)),
    uniqueItems: mostly(fc.boolean()),
    nullable: fc.boolean(),
    $async: fc.boolean(),
    $ref: mostly(
      fc.constantFrom(
        '#',
        '#/$defs/a',
        '#/properties/a',
        '#/properties/default',
        '#/$defs/xa',
        '#/$defs/x%61',
        '#/x-y',
      ),
    ),
    'x-y': fc.oneof(child, fc.jsonValue()),
  };
  const some = fc
    .uniqueArray(fc.constantFrom(...(Object.keys(keywords) as (keyof typeof keywords)[])), { maxLength: 4 })
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((keyword) => [keyword, keywords[keyword]]))));
  return {
    schema: some,
    child: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      fc.constantFrom({}, true, { type: 'string' }),
      tie('schema'),
    ),
  };
}).schema;
