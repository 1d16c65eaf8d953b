import { type } from 'arktype';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  readInputSchema,
  readOutputSchema,
  toObjectSchema,
  type JsonSchema,
  type SchemaLike,
} from './schema.ts';

test('a partial schema is completed and keeps all its keywords', () => {
  const partial = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: { id: { type: 'string' } },
    title: 'Order',
    description: 'What to send.',
    required: ['id'],
    properties: { id: { $ref: '#/$defs/id' } },
    patternProperties: { '^x-': {} },
    additionalProperties: false,
    minProperties: 1,
    dependentRequired: { id: ['to'] },
    if: { required: ['id'] },
    then: { required: ['to'] },
    examples: [{ id: 'a', to: 'b' }],
    'x-ours': { kept: true },
  };
  expect(toObjectSchema(partial)).toEqual({ type: 'object', ...partial });
});

test.each([
  ['nothing', undefined],
  ['an empty schema', {}],
  ['only a type', { type: 'object' }],
])('%s becomes an object schema with an empty object of properties', (_what, schema) => {
  expect(readInputSchema(schema).json).toEqual({ type: 'object', properties: {} });
});

test.each<[what: string, schema: JsonSchema]>([
  ['one of several shapes', { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] }],
  ['a reference', { type: 'object', $ref: '#/$defs/a', $defs: { a: { properties: { b: true } } } }],
  ['names by pattern', { type: 'object', patternProperties: { '^x': { type: 'string' } } }],
])('a schema with %s is listed as it was written, with no properties added', (_what, schema) => {
  expect(readInputSchema(schema).json).toEqual(schema);
});

test('a field without a default is required, and one with a default is not (000-20)', () => {
  const input = z.object({ query: z.string(), limit: z.number().int().default(10) });
  expect(readInputSchema(input).json).toMatchObject({
    properties: { query: { type: 'string' }, limit: { type: 'integer', default: 10 } },
    required: ['query'],
  });
});

test('a field of a result that has a default is required (000-20)', () => {
  const output = z.object({ count: z.number().default(0) });
  expect(readOutputSchema(output).json).toMatchObject({ required: ['count'] });
});

test('a Zod schema is listed as JSON Schema and checks values itself', async () => {
  const { json, parse } = readInputSchema(z.object({ name: z.string().trim() }));
  expect(json).toMatchObject({
    type: 'object',
    properties: { name: { type: 'string' } },
    required: ['name'],
  });
  expect(await parse?.({ name: ' Ada ' })).toMatchObject({ value: { name: 'Ada' } });
});

test('an ArkType schema is listed as JSON Schema and checks values itself', async () => {
  const { json, parse } = readInputSchema(type({ 'age?': 'number.integer >= 0' }));
  expect(json).toMatchObject({ type: 'object', properties: { age: { type: 'integer', minimum: 0 } } });
  expect(await parse?.({ age: -1 })).toHaveProperty('issues');
});

test('a plain JSON Schema is kept unchanged and has no check of its own', () => {
  const schema = { type: 'object', properties: { a: { type: ['string', 'null'] } }, required: ['a'] };
  expect(readInputSchema(schema)).toEqual({ json: schema });
});

test('an output schema may have any type at its root', () => {
  expect(readOutputSchema({ type: 'array', items: { type: 'string' } }).json).toEqual({
    type: 'array',
    items: { type: 'string' },
  });
});

test.each<[what: string, schema: unknown, says: string]>([
  ['text at its root', { type: 'string' }, 'must have type "object" at its root, not "string"'],
  ['a list at its root', z.array(z.string()), 'must have type "object" at its root, not "array"'],
  ['a date, which JSON does not have', z.object({ at: z.date() }), 'This zod schema cannot be shown as JSON'],
  [
    'no JSON form',
    { '~standard': { version: 1, vendor: 'valibot', validate } },
    'This valibot schema cannot',
  ],
  ['fields outside an object schema', { query: z.string() }, 'Put the fields into an object schema'],
  [
    'a Zod field inside JSON Schema',
    { properties: { query: z.string() } },
    'input.properties.query must be plain',
  ],
  ['an ArkType field inside JSON Schema', { properties: { query: type('string') } }, 'must be a schema'],
  ['only text', 'object', 'A schema must be an object, not "object"'],
  ['only a list', [], 'A schema must be an object, not []'],
  ['only a function', validate, 'A schema must be an object, not function'],
])('an input schema with %s is refused', (_what, schema, says) => {
  expect(() => readInputSchema(schema as SchemaLike)).toThrow(
    expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(says) }),
  );
});

function validate(value: unknown): { value: unknown } {
  return { value };
}
