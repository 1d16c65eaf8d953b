import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { JsonSchema } from './schema.ts';
import { describeIssues, validatorOf } from './validator.ts';

test.each<[schema: JsonSchema, bad: unknown, says: string]>([
  [{ properties: { city: { type: 'string' } } }, { city: 7 }, 'city: must be of type string'],
  [{ properties: { units: { enum: ['metric', 'kelvin'] } } }, { units: 'ell' }, '"metric", "kelvin"'],
  [{ properties: { limit: { minimum: 1 } } }, { limit: 0 }, 'limit: must be >= 1'],
  [{ properties: { limit: { maximum: 100 } } }, { limit: 101 }, 'limit: must be <= 100'],
  [{ properties: { ids: { items: { type: 'string' } } } }, { ids: ['a', 1] }, 'ids[1]: must be of type'],
  [{ required: ['table'] }, {}, 'table: is required'],
])('the schema %j is enforced (001-25)', (schema, bad, says) => {
  expect(complaint(schema, bad)).toContain(says);
});

test('a default is filled in, also in nested objects and lists (001-25)', () => {
  const schema = {
    properties: {
      limit: { type: 'integer', default: 10 },
      page: { type: 'object', properties: { size: { default: 20 } } },
      rows: { type: 'array', items: { type: 'object', properties: { kept: { default: true } } } },
    },
  };
  expect(validatorOf(schema)({ page: {}, rows: [{}, { kept: false }] })).toEqual({
    value: { limit: 10, page: { size: 20 }, rows: [{ kept: true }, { kept: false }] },
  });
});

test('a value that the library cannot check is refused without an exception', () => {
  const schema = {
    oneOf: [{ type: 'string', unevaluatedProperties: {} }],
    patternProperties: { '[bc]+$': {} },
  };
  expect(complaint(schema, { b: false })).toBe('cannot be checked against this schema');
});

test('a description does not change the check (001-25)', () => {
  expect(complaint({ description: 'Anything at all.' }, { any: 'thing' })).toBe('');
});

test.each<[schema: JsonSchema, good: unknown, bad: unknown]>([
  [{ const: 'v1' }, 'v1', 'v2'],
  [{ exclusiveMinimum: 0 }, 0.1, 0],
  [{ exclusiveMaximum: 1 }, 0.9, 1],
  [{ multipleOf: 5 }, 10, 11],
  [{ minLength: 2 }, 'ab', 'a'],
  [{ maxLength: 1 }, '😀', 'ab'],
  [{ pattern: '^[A-Z]{3}$' }, 'EUR', 'euro'],
  [{ minItems: 1 }, [1], []],
  [{ maxItems: 1 }, [1], [1, 2]],
  [{ uniqueItems: true }, [1, 2], [1, 1]],
  [{ prefixItems: [{ type: 'string' }] }, ['a', 1], [1]],
  [{ contains: { const: 1 } }, [0, 1], [0]],
  [{ contains: { const: 1 }, maxContains: 1 }, [1], [1, 1]],
  [{ minProperties: 1 }, { a: 1 }, {}],
  [{ maxProperties: 1 }, { a: 1 }, { a: 1, b: 2 }],
  [{ propertyNames: { pattern: '^[a-z]+$' } }, { a: 1 }, { A: 1 }],
  [{ patternProperties: { '^n_': { type: 'number' } } }, { n_a: 1 }, { n_a: 'x' }],
  [{ properties: { a: {} }, additionalProperties: false }, { a: 1 }, { b: 1 }],
  [{ allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, { a: 1 }, { b: 1 }],
  [{ prefixItems: [{}], unevaluatedItems: false }, [1], [1, 2]],
  [{ dependentRequired: { a: ['b'] } }, { a: 1, b: 1 }, { a: 1 }],
  [{ dependentSchemas: { a: { required: ['b'] } } }, { a: 1, b: 1 }, { a: 1 }],
  [{ if: { required: ['a'] }, then: { required: ['b'] } }, { a: 1, b: 1 }, { a: 1 }],
  [{ if: { required: ['a'] }, else: { required: ['b'] } }, { a: 1 }, {}],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 1, 3],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, null, 1],
  [{ oneOf: [{ minimum: 5 }, { maximum: 6 }] }, 7, 5],
  [{ not: { type: 'null' } }, 1, null],
])('the schema %j is enforced', (schema, good, bad) => {
  expect(complaint(schema, good)).toBe('');
  expect(complaint(schema, bad)).not.toBe('');
});

test('a list of types accepts each of them and nothing else (003-04)', () => {
  const schema = { type: 'array', items: { type: ['string', 'number', 'boolean', 'null'] } };
  expect(complaint(schema, ['a', 1, true, null])).toBe('');
  expect(complaint(schema, [{}])).toBe('[0]: must be of type string or number or boolean or null');
});

test.each<[format: string, good: string, bad: string]>([
  ['email', 'ada@example.com', 'ada at example.com'],
  ['date-time', '2026-01-01T12:00:00Z', '2026-01-01 noon'],
  ['date', '2024-02-29', '2025-02-29'],
  ['uri', 'https://example.com/a?b=c', '//example.com'],
  ['uuid', '123e4567-e89b-12d3-a456-426614174000', '123e4567'],
  ['ipv4', '127.0.0.1', '127.0.0.256'],
])('the format %s is enforced, and not only listed', (format, good, bad) => {
  expect(complaint({ type: 'string', format }, good)).toBe('');
  expect(complaint({ type: 'string', format }, bad)).toBe(`must match format "${format}"`);
});

test('a number format such as int32 is enforced', () => {
  expect(complaint({ type: 'integer', format: 'int32' }, 2 ** 31 - 1)).toBe('');
  expect(complaint({ type: 'integer', format: 'int32' }, 2 ** 31)).toBe('must match format "int32"');
});

test('a text that is too long for a format check is refused', () => {
  expect(complaint({ format: 'email' }, `${'a'.repeat(5_000)}@example.com`)).toContain('must match format');
});

test.each(['__proto__', 'constructor', 'of-our-own'])(
  'the unknown format %s accepts everything, without a warning',
  (format) => {
    const warn = vi.spyOn(console, 'warn');
    onTestFinished(() => warn.mockRestore());
    expect(complaint({ format }, 'anything')).toBe('');
    expect(warn).not.toHaveBeenCalled();
  },
);

test.each([
  ['^(a+)+$', `${'a'.repeat(100_000)}!`],
  ['^(a|a)*$', `${'a'.repeat(100_000)}!`],
  ['(.*a){12}$', 'b'.repeat(20_000)],
  ['^(\\w+\\s?)*$', `${'word '.repeat(5_000)}!`],
])('the pattern %s, which stalls a backtracking engine, is checked on a long text', (pattern, text) => {
  expect(complaint({ pattern }, text)).toContain('must match pattern');
});

test('a property pattern that stalls a backtracking engine is checked on a long name', () => {
  const schema = { patternProperties: { '^(a+)+$': false }, additionalProperties: true };
  expect(complaint(schema, { [`${'a'.repeat(50_000)}!`]: 1 })).toBe('');
});

test('patterns match printable text as in JavaScript', () => {
  const patterns = [
    '^[a-c]{1,3}$',
    '\\d+',
    '^\\w*$',
    'a|b',
    '^[^x]$',
    '(?:ab)+',
    '^.{2}$',
    '\\.',
    '\\$',
    '[-.]',
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...patterns),
      fc.string({ unit: 'grapheme-ascii', maxLength: 6 }),
      (pattern, text) => {
        expect(complaint({ pattern }, text) === '').toBe(new RegExp(pattern, 'u').test(text));
      },
    ),
  );
});

test('members that every object inherits do not count as given fields', () => {
  const schema = { required: ['toString', '__proto__'], properties: { constructor: { type: 'string' } } };
  expect(complaint(schema, {})).toBe('toString: is required; __proto__: is required');
});

test('all problems are reported at once, each with its place', () => {
  const schema = {
    type: 'object',
    properties: { to: { format: 'email' }, tags: { items: { type: 'string' } }, kind: { const: 'mail' } },
    required: ['subject'],
    additionalProperties: false,
  };
  expect(
    complaint(schema, { to: 'x', tags: ['a', 1], kind: 'fax', cc: 'y' })
      .split('; ')
      .toSorted(),
  ).toEqual([
    'cc: is not a known field',
    'kind: must be "mail"',
    'subject: is required',
    'tags[1]: must be of type string',
    'to: must match format "email"',
  ]);
});

test('a failed condition is reported as what it requires', () => {
  const schema = { if: { required: ['a'] }, then: { required: ['b'] } };
  expect(complaint(schema, { a: 1 })).toBe('b: is required');
});

test('problems beyond the eighth are counted instead of listed', () => {
  const issues = Array.from({ length: 10 }, (_, index) => ({ path: [index], message: 'is bad' }));
  expect(describeIssues(issues)).toMatch(/^\[0\]: is bad; .*\[7\]: is bad; and 2 more$/);
});

test('the path of a problem may consist of keys or of objects that hold a key', () => {
  expect(describeIssues([{ path: [{ key: 'rows' }, 0, { key: 'id' }], message: 'is bad' }])).toBe(
    'rows[0].id: is bad',
  );
  expect(describeIssues([{ message: 'is bad' }])).toBe('is bad');
});

test('field names with slashes and tildes are reported unchanged', () => {
  expect(complaint({ properties: { 'a/b~c': { type: 'string' } } }, { 'a/b~c': 1 })).toBe(
    'a/b~c: must be of type string',
  );
});

test('a schema is compiled once for all its checks', () => {
  const schema = { type: 'string' };
  expect(validatorOf(schema)).toBe(validatorOf(schema));
});

const expression: JsonSchema = {
  type: 'object',
  anyOf: ['not', 'count', 'sum', 'any'].map((kind) => ({
    properties: { of: { $ref: '#' }, kind: { const: kind } },
    required: ['kind'],
  })),
};

test('a schema with recursive branches is checked to a limited depth', () => {
  expect(complaint(expression, nested(7, { kind: 'any' }))).toBe('');
  expect(complaint(expression, nested(3, { kind: 'all' }))).toContain('must be "any"');
  expect(complaint(expression, nested(7, { kind: 'all' }))).toContain('must match a schema in anyOf');
  expect(complaint(expression, nested(8, { kind: 'any' }))).toBe(
    'is nested deeper than the 7 levels this schema can be checked to, or holds too much on them',
  );
});

test('no value makes the check of a schema with recursive branches slow', () => {
  const lists: JsonSchema = {
    type: 'object',
    anyOf: ['a', 'b', 'c', 'd'].map((kind) => ({
      properties: { of: { type: 'array', items: { $ref: '#' } }, kind: { const: kind } },
    })),
  };
  const wide = (length: number): unknown => ({
    kind: 'd',
    of: Array.from({ length }, (_, index) => ({ kind: index === length - 1 ? 'z' : 'd' })),
  });
  const values = [10, 100, 1_000, 10_000].flatMap((length) =>
    [0, 1, 2, 3, 4, 5, 6, 20].map((depth) => {
      let value = wide(length);
      for (let level = 0; level < depth; level++) value = { kind: 'd', of: [value] };
      return value;
    }),
  );
  for (const value of values) expect(timeOf(() => complaint(lists, value))).toBeLessThan(3_000);
});

test('control: the library alone takes four times as long with every level', () => {
  const alone = new Ajv2020({ strict: false, allErrors: true }).compile(expression);
  const errorsAt = (levels: number): number => {
    alone(nested(levels, { kind: 'all' }));
    return alone.errors!.length;
  };
  expect(errorsAt(6) / errorsAt(5)).toBeGreaterThan(3.9);
});

test('a value of a tree schema may be as deep as a message can be', () => {
  const tree = { properties: { left: { $ref: '#' }, right: { $ref: '#' }, name: { type: 'string' } } };
  let value: unknown = { name: 'a' };
  let bad: unknown = { name: 1 };
  for (let level = 0; level < 62; level++)
    [value, bad] = [
      { left: value, right: {} },
      { left: bad, right: {} },
    ];
  expect(complaint(tree, value)).toBe('');
  expect(complaint(tree, bad)).toContain('name: must be of type string');
});

describe('checks that would take the library quadratic time or more', () => {
  const list = <T>(length: number, item: (index: number) => T): T[] =>
    Array.from({ length }, (_, at) => item(at));
  const choices = list(5_000, (index) => `choice ${index}`);

  test.each<[what: string, check: [schema: JsonSchema, value: unknown], complaint: string]>([
    ['objects that must differ', [{ uniqueItems: true }, list(10_000, (a) => ({ a, b: 1, c: [2] }))], ''],
    [
      'objects of which the last is there twice',
      [{ uniqueItems: true }, [...list(9_999, (a) => ({ a, b: 1 })), { b: 1, a: 7 }]],
      'must NOT have duplicate items (items ## 7 and 9999 are identical)',
    ],
    ['texts that must differ', [{ uniqueItems: true }, list(10_000, (a) => `a ${a}`)], ''],
    ['numbers that must differ', [{ uniqueItems: true }, list(10_000, (a) => a * 65_536)], ''],
    ['a choice of thousands', [{ items: { enum: choices } }, list(10_000, () => choices.at(-1))], ''],
    [
      'something else than a choice of thousands',
      [{ items: { enum: choices } }, ['choice']],
      '[0]: must be one of "choice 0"',
    ],
    [
      'objects to choose from',
      [{ items: { enum: list(900, (a) => ({ a })) } }, list(5_000, () => ({ a: 899 }))],
      '',
    ],
    [
      'many branches for many values',
      [{ items: { anyOf: list(500, (a) => ({ const: a })) } }, list(10_000, () => 499)],
      'holds more than can be checked against this schema; send it in parts',
    ],
    [
      'many members that are missing from many objects',
      [{ items: { required: list(500, (a) => `r${a}`) } }, list(1_900, () => ({}))],
      '[0].r0: is required',
    ],
  ])('A15 a check of %s takes little time', (_what, [schema, value], expected) => {
    complaint(schema, []);
    const told = timeOf(() => expect(complaint(schema, value).slice(0, 70)).toContain(expected));
    expect(told).toBeLessThan(500);
  });

  test('A15 a check that nested lists all differ takes limited time', () => {
    const lists: JsonSchema = { type: 'array', uniqueItems: true, items: { $ref: '#' } };
    const inside = (levels: number): unknown => {
      let value: unknown = list(9_000, (a) => list(4, (b) => ((a >> (b * 4)) & 15 ? [[]] : [])));
      for (let level = 0; level < levels; level++) value = [value];
      return value;
    };
    expect(timeOf(() => complaint(lists, inside(50)))).toBeLessThan(1_000);
  });

  test('A14 texts such as __proto__ that must differ are compared like any other', () => {
    const schema = { uniqueItems: true, items: { type: 'string' } };
    expect(complaint(schema, ['__proto__', 'constructor', 'toString'])).toBe('');
    expect(complaint(schema, ['__proto__', '__proto__'])).toContain('must NOT have duplicate items');
  });
});

test('the first problem of a value with very many is reported in little time', () => {
  const tree = {
    type: 'object',
    properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    required: ['name'],
  };
  const lists = Array.from({ length: 5 }, () => ({
    name: 'b',
    children: Array.from({ length: 9_000 }, () => ({})),
  }));
  const value = { name: 'a', children: lists };
  expect(
    timeOf(() => expect(complaint(tree, value)).toBe('children[0].children[0].name: is required')),
  ).toBeLessThan(1_000);
});

function nested(levels: number, innermost: object): unknown {
  let value = innermost;
  for (let level = 2; level <= levels; level++) value = { kind: 'any', of: value };
  return value;
}

function timeOf(act: () => unknown): number {
  const start = performance.now();
  act();
  return performance.now() - start;
}

/** What a model would be told about the value; nothing when it is fine. */
function complaint(schema: JsonSchema, value: unknown): string {
  const outcome = validatorOf(schema)(value);
  return 'issues' in outcome ? describeIssues(outcome.issues) : '';
}
