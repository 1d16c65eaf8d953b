import { expect, test } from 'vitest';
import { checkSchema } from './check.ts';
import { validatorOf } from './validator.ts';

const LEADS_BACK = 'has a reference that leads back to itself with no property or item between';

test.each<[what: string, schema: object]>([
  ['itself', { $ref: '#' }],
  ['itself in a list of conditions', { allOf: [{ $ref: '#' }] }],
  ['itself behind a condition', { if: { type: 'object' }, then: { $ref: '#' } }],
  ['itself behind a negation', { not: { anyOf: [{ $ref: '#' }] } }],
  ['itself behind a field that is present', { dependentSchemas: { a: { $ref: '#' } } }],
  ['each other', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
  ['itself by anchor', { $defs: { a: { $anchor: 'a', oneOf: [{ $ref: '#a' }] } } }],
  ['itself in a field called default', { properties: { default: { $ref: '#/properties/default' } } }],
  ['itself in other letters', { $defs: { ab: { $ref: '#/$defs/a%62' }, 'a%62': {} } }],
])('a schema that endlessly refers to %s is refused', (_what, schema) => {
  expect(() => checkSchema(schema, 'input')).toThrow(LEADS_BACK);
});

test.each([
  ['a missing definition', '#/$defs/missing'],
  ['a missing anchor', '#missing'],
  ['a definition with a broken escape', '#/$defs/%E0%A4%A'],
  ['a text', '#/title'],
  ['a list', '#/required'],
  ['a default value', '#/default'],
  ['a keyword nobody knows', '#/x-part'],
  ['what every object inherits', '#/constructor'],
])('a reference to %s is refused', (_what, pointer) => {
  const schema = {
    title: 'string',
    required: ['id'],
    default: { type: 'object' },
    'x-part': { type: 'object' },
    properties: { id: { $ref: pointer } },
  };
  expect(() => checkSchema(schema, 'input')).toThrow(`The schema at input points at nothing: ${pointer}.`);
});

test('two anchors of the same name are refused', () => {
  const schema = { $defs: { a: { $anchor: 'same' }, b: { $anchor: 'same' } } };
  expect(() => checkSchema(schema, 'input')).toThrow('names two places #same');
});

test('references that double the work on each of twenty levels are refused', () => {
  expect(() => checkSchema(doubling(20), 'input')).toThrow('applies over 5000 subschemas to one value');
});

test('references that double the work on each of five levels are accepted', () => {
  expect(() => checkSchema(doubling(5), 'input')).not.toThrow();
});

test('a recursive schema can describe a tree of any depth', () => {
  const tree = {
    type: 'object',
    properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    required: ['name'],
  };
  checkSchema(tree, 'input');
  const value = { name: 'a', children: [{ name: 'b', children: [{}] }] };
  expect(validatorOf(tree)(value)).toEqual({
    issues: [{ path: ['children', '0', 'children', '0', 'name'], message: 'is required' }],
  });
});

test.each([
  ['a definition', '#/$defs/word'],
  ['an anchor', '#word'],
  ['a definition with a slash in its name', '#/$defs/a~1b'],
  ['a definition with a space in its name', '#/$defs/a%20b'],
  ['another field', '#/properties/second'],
])('a reference to %s is resolved', (_what, pointer) => {
  const word = { type: 'string' };
  const schema = {
    properties: { first: { $ref: pointer }, second: word },
    $defs: { word: { ...word, $anchor: 'word' }, 'a/b': word, 'a b': word },
  };
  checkSchema(schema, 'input');
  expect(validatorOf(schema)({ first: 1 })).toEqual({
    issues: [{ path: ['first'], message: 'must be of type string' }],
  });
});

test('a reference may point to a schema that allows everything or nothing', () => {
  const schema = { properties: { a: { $ref: '#/$defs/any' } }, $defs: { any: true, none: false } };
  expect(() => checkSchema(schema, 'input')).not.toThrow();
});

/** Every level applies the next one twice to the same value. */
function doubling(levels: number): object {
  const step = (index: number): object => ({ $ref: `#/$defs/level${index}` });
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, index) => [
      `level${index}`,
      index === levels - 1 ? { type: 'object' } : { allOf: [step(index + 1), step(index + 1)] },
    ]),
  );
  return { ...step(0), $defs };
}
