import { expect, test } from 'vitest';
import { mirrorsOf } from './mirrors.ts';
import type { JsonSchema } from './schema.ts';

const mirrored = (type: unknown, header: unknown): JsonSchema => ({ type, 'x-mcp-header': header });

test('a schema says which arguments are repeated in headers, at any depth', () => {
  const schema = {
    type: 'object',
    properties: {
      region: mirrored('string', 'Region'),
      dry: mirrored('boolean', 'Dry-Run'),
      page: { type: 'object', properties: { size: mirrored('integer', 'Page-Size') } },
      query: { type: 'string' },
      anything: true,
    },
  };
  expect(mirrorsOf(schema)).toEqual([
    { header: 'Region', path: ['region'] },
    { header: 'Dry-Run', path: ['dry'] },
    { header: 'Page-Size', path: ['page', 'size'] },
  ]);
});

test('a schema without x-mcp-header repeats no arguments in headers', () => {
  expect(mirrorsOf({ type: 'object', properties: { query: { type: 'string' } } })).toEqual([]);
  expect(mirrorsOf({ type: 'object' })).toEqual([]);
});

test('a field may have the name x-mcp-header', () => {
  expect(mirrorsOf({ properties: { 'x-mcp-header': { type: 'string' } } })).toEqual([]);
});

test.each<[problem: string, schema: JsonSchema, says: string]>([
  ['no text', { properties: { a: mirrored('string', 7) } }, 'x-mcp-header at a must be a header name'],
  ['no name', { properties: { a: mirrored('string', '') } }, 'x-mcp-header at a must be a header name'],
  ['a space', { properties: { a: mirrored('string', 'a b') } }, 'must be a header name'],
  ['a colon', { properties: { a: mirrored('string', 'a:') } }, 'must be a header name'],
  ['a line break', { properties: { a: mirrored('string', 'a\r\nb') } }, 'must be a header name'],
  ['a letter that is not ASCII', { properties: { a: mirrored('string', 'ä') } }, 'must be a header name'],
  ['a number', { properties: { a: mirrored('number', 'A') } }, 'needs a property of type string, integer or'],
  ['an object', { properties: { a: mirrored('object', 'A') } }, 'needs a property of type string'],
  ['several types', { properties: { a: mirrored(['string'], 'A') } }, 'needs a property of type string'],
  ['no type', { properties: { a: { 'x-mcp-header': 'A' } } }, 'needs a property of type string'],
  [
    'a name used twice, in other letters',
    { properties: { a: mirrored('string', 'Id'), b: { properties: { c: mirrored('string', 'ID') } } } },
    'x-mcp-header at b.c repeats the name "ID"',
  ],
  ['the root', mirrored('object', 'A'), 'may only stand on properties reached from the root'],
  [
    'items of a list',
    { properties: { a: { items: mirrored('string', 'A') } } },
    'may only stand on properties',
  ],
  ['a definition', { $defs: { a: mirrored('string', 'A') } }, 'may only stand on properties'],
  [
    'a condition',
    { anyOf: [{ properties: { a: mirrored('string', 'A') } }] },
    'may only stand on properties',
  ],
])('an x-mcp-header with %s is refused', (_problem, schema, says) => {
  expect(() => mirrorsOf(schema)).toThrow(
    expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(says) }),
  );
});

test('the header names of a schema are read once', () => {
  const schema = { properties: { a: mirrored('string', 'A') } };
  expect(mirrorsOf(schema)).toBe(mirrorsOf(schema));
});
