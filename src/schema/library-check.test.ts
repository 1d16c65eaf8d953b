import { type } from 'arktype';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readInputSchema, type SchemaLike } from './schema.ts';
import { describeIssues } from './validator.ts';

const MANY = 5_000;

test.each<[what: string, schema: SchemaLike, item: unknown, says: string]>([
  ['a union', z.union([z.string(), z.boolean()]), 1, 'must be of type string or boolean'],
  ['a union of objects', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), {}, 'anyOf'],
  [
    'an intersection',
    z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
    {},
    'a: is required',
  ],
  [
    'a discriminated union',
    z.discriminatedUnion('k', [z.object({ k: z.literal('a') })]),
    { k: 'b' },
    'oneOf',
  ],
  ['an object', z.strictObject({ a: z.number().max(3) }), { a: 4 }, 'a: must be <= 3'],
  ['a strict object', z.strictObject({}), { a: 4 }, 'a: is not a known field'],
  ['a tuple', z.tuple([z.string(), z.string()]), ['a', 1], '[1]: must be of type string'],
  ['a type of ArkType', type('string | boolean'), 1, 'must match a schema in anyOf'],
])(
  'of thousands of values that fail %s, the first is reported without a run of the library',
  async (...[, schema, item, says]) => {
    const { parse } = readInputSchema(listOf(schema));
    const outcome = (await parse!({ list: Array.from({ length: MANY }, () => item) })) as { issues: never[] };
    expect(outcome.issues).toHaveLength(1);
    expect(describeIssues(outcome.issues)).toContain('list[0]');
    expect(describeIssues(outcome.issues)).toContain(says);
  },
);

test.each<[what: string, item: z.ZodType, given: unknown, gets: unknown]>([
  ['coerces', z.coerce.number(), '7', 7],
  ['coerces what may be left out', z.object({ a: z.coerce.string().optional() }), { a: 1 }, { a: '1' }],
  ['prepares', z.preprocess((text) => Number(text), z.number()), '7', 7],
  ['falls back', z.number().catch(0), 'x', 0],
  ['falls back for what is missing', z.object({ a: z.number().catch(0) }), {}, { a: 0 }],
  ['transforms', z.string().transform(Number), '7', 7],
  ['trims', z.string().trim().max(1), '  a  ', 'a'],
  ['rounds', z.number().overwrite(Math.floor).max(3), 3.5, 3],
  ['fills in', z.object({ a: z.number().default(1) }), {}, { a: 1 }],
  ['matches whatever the case', z.string().regex(/^a$/i), 'A', 'A'],
  ['is described as something else', z.number().meta({ type: 'string' }), 1, 1],
  [
    'merges strict objects',
    z.intersection(z.strictObject({ a: z.number() }), z.strictObject({ b: z.number() })),
    { a: 1, b: 2 },
    { a: 1, b: 2 },
  ],
])('thousands of values are checked by the library if their schema %s', async (...[, item, given, gets]) => {
  const { parse } = readInputSchema(listOf(item));
  const list = Array.from({ length: MANY }, () => given);
  expect(await parse!({ list })).toMatchObject({ value: { list: Array.from({ length: MANY }, () => gets) } });
});

test('objects with inherited members are checked by the library', async () => {
  class Row {
    get a(): number {
      return 1;
    }
  }
  const { parse } = readInputSchema(listOf(z.object({ a: z.number() })));
  expect(await parse!({ list: Array.from({ length: MANY }, () => new Row()) })).not.toHaveProperty('issues');
});

test('of thousands of values that fail a refinement, a few are reported, in the words of the author', async () => {
  const odd = (isOdd: (value: number) => boolean | Promise<boolean>) =>
    listOf(z.number().refine(isOdd, 'Must be odd.'));
  const list = Array.from({ length: MANY }, () => 2);
  for (const schema of [
    odd((value) => value % 2 === 1),
    odd(async (value) => Promise.resolve(value % 2 === 1)),
  ]) {
    const outcome = (await readInputSchema(schema).parse!({ list })) as { issues: never[] };
    expect(describeIssues(outcome.issues)).toMatch(
      /^list\[0\]: Must be odd\.; .*; list\[6\]: Must be odd\.; and 4993 more$/,
    );
  }
});

test('a value that would need hundreds of thousands of branch checks is refused, with the advice to send it in parts', async () => {
  const branches = Array.from({ length: 40 }, (_, index) => z.object({ [`a${index}`]: z.string() }));
  const { parse } = readInputSchema(listOf(z.union(branches)));
  const list = Array.from({ length: MANY }, () => ({ a39: 'x' }));
  expect(parse!({ list })).toEqual({
    issues: [{ message: 'holds more than can be checked against this schema; send it in parts' }],
  });
  expect(await parse!({ list: list.slice(0, 2_000) })).not.toHaveProperty('issues');
});

test('a few values are checked by the library alone, and every problem has the message of the library', () => {
  const { parse } = readInputSchema(listOf(z.string({ error: 'A name, please.' })));
  expect(parse!({ list: [1, 2] })).toMatchObject({ issues: [{ message: 'A name, please.' }, {}] });
});

function listOf(item: SchemaLike): SchemaLike {
  return item instanceof z.ZodType
    ? z.object({ list: z.array(item) })
    : type({ list: type(item as never).array() });
}
