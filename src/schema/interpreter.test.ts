import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { copyJson } from '../base/json.ts';
import type { Issue, JsonSchema } from './schema.ts';
import { describeIssues, validatorOf } from './validator.ts';

const name = fc.constantFrom('a', 'b', 'n_c');
const leaf = fc.constantFrom(0, -1, 1.5, 2, 'a', 'ab', '💡', 'n@b.ch', true, null, '2026-01-01');
const small = fc.integer({ min: -2, max: 2 });
const type = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null');

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value')),
  ),
}));

type Keywords = Readonly<Record<string, fc.Arbitrary<unknown>>>;

function plainKeywords(inner: fc.Arbitrary<unknown>): Keywords {
  return {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.uniqueArray(fc.oneof(leaf, fc.constantFrom([1], { a: 1 })), { minLength: 1, maxLength: 5 }),
    const: fc.oneof(leaf, fc.constant({ a: 0 })),
    required: fc.uniqueArray(name, { maxLength: 2 }),
    properties: fc.dictionary(name, inner, { maxKeys: 3 }),
    patternProperties: fc.dictionary(fc.constantFrom('^n_', 'a'), inner, { maxKeys: 2 }),
    propertyNames: inner,
    additionalProperties: inner,
    minProperties: fc.nat(2),
    maxProperties: fc.nat(2),
    prefixItems: fc.array(inner, { minLength: 1, maxLength: 3 }),
    items: inner,
    minItems: fc.nat(2),
    maxItems: fc.nat(3),
    uniqueItems: fc.boolean(),
    minLength: fc.nat(2),
    maxLength: fc.nat(2),
    pattern: fc.constantFrom('^a', '.b'),
    format: fc.constantFrom('date', 'email', 'int32', 'password', 'unknown', 'toString'),
    minimum: small,
    maximum: small,
    exclusiveMinimum: small,
    exclusiveMaximum: small,
    multipleOf: fc.constantFrom(2, 0.5),
    allOf: fc.array(inner, { minLength: 1, maxLength: 3 }),
  };
}

function branchKeywords(inner: fc.Arbitrary<unknown>): Keywords {
  const some = fc.array(inner, { minLength: 1, maxLength: 3 });
  return { anyOf: some, oneOf: some, not: inner, if: inner, then: inner, else: inner };
}

// Schemas with a few keywords each: with more, hardly any value would get beyond the first.
function schemasOf(
  keywords: (inner: fc.Arbitrary<unknown>) => Keywords,
  leaves: readonly unknown[],
): fc.Arbitrary<object> {
  const { node } = fc.letrec((tie) => {
    const each = Object.entries(keywords(tie('leaf'))).map(([keyword, told]) =>
      fc.tuple(fc.constant(keyword), told),
    );
    const chosen = fc.uniqueArray(fc.oneof(...each), {
      selector: ([keyword]) => keyword,
      minLength: 1,
      maxLength: 4,
    });
    const object = chosen.map((pairs) => Object.fromEntries(pairs));
    return { node: object, leaf: fc.oneof({ maxDepth: 3 }, fc.constantFrom(...leaves), object) };
  });
  return node;
}

test.each([
  [
    'branches and references',
    schemasOf(
      (inner) => ({ ...plainKeywords(inner), ...branchKeywords(inner) }),
      [{}, true, false, { type: 'string' }, { type: 'integer' }, { $ref: '#/$defs/d' }],
    ),
  ],
  [
    'defaults',
    schemasOf(plainKeywords, [{}, { type: 'integer', default: 1 }, { default: { a: 1 } }, { default: 'a' }]),
  ],
])('a long schema with %s is enforced like a short one, with the same messages', (_kind, schema) => {
  const property = fc.property(schema, value, (declared, given) => {
    const short = {
      ...declared,
      ...(_kind === 'defaults' ? {} : { $defs: { d: { type: 'string', minLength: 2 } } }),
    };
    const long: JsonSchema = { $comment: 'x'.repeat(9_000), ...short };
    const words = wordsOf(short, given);
    // The compiled code throws for some values where properties are nested in branches.
    fc.pre(!JSON.stringify(words).includes('cannot be checked'));
    expect(wordsOf(long, given)).toEqual(words);
  });
  fc.assert(property, { numRuns: propertyRuns(500) });
});

test('names that every object inherits are ordinary members in a long schema', () => {
  const schema = JSON.parse(
    '{"properties":{"__proto__":{"type":"string","default":"a"},"toString":{"type":"integer","default":1}},"required":["valueOf"]}',
  ) as JsonSchema;
  const long = { ...schema, $comment: 'x'.repeat(9_000) };
  const bad = JSON.parse('{"__proto__":1}') as unknown;
  expect(wordsOf(long, bad)).toEqual(['__proto__: must be of type string', 'valueOf: is required']);
  expect(JSON.stringify(wordsOf(long, { valueOf: 1 }))).toBe(
    '{"value":{"valueOf":1,"__proto__":"a","toString":1}}',
  );
});

test('a chain of references that is too long to compile is still checked', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 600 }, (_, index) => [
      `d${index}`,
      { type: 'object', properties: { n: { $ref: `#/$defs/d${(index + 1) % 600}` } } },
    ]),
  );
  const schema = { $defs, $ref: '#/$defs/d0' };
  expect(wordsOf(schema, { n: { n: { n: 1 } } })).toEqual(['n.n.n: must be of type object']);
});

// What becomes of a value, or all that is said about it; in which order is of no importance.
function wordsOf(schema: JsonSchema, given: unknown): unknown {
  const outcome = validatorOf(schema)(copyJson(given));
  if (!('issues' in outcome)) return outcome;
  return outcome.issues.map((issue: Issue) => describeIssues([issue])).toSorted();
}

test('a problem deep in nested branches is found without trying each branch twice on every level', () => {
  const schema: JsonSchema = {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        anyOf: [{ type: 'string' }, { type: 'object', properties: { next: { $ref: '#/$defs/node' } } }],
      },
      unused: { description: 'x'.repeat(10_000) },
    },
  };
  let nested: unknown = 1;
  // Were work doubled on every level, this would not end.
  for (let level = 0; level < 50; level++) nested = { next: nested };
  const outcome = validatorOf(schema)(nested);
  expect('issues' in outcome && describeIssues(outcome.issues)).toContain('next.next');
});
