import { type } from 'arktype';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { parserIn, parserOfLarge } from './library-parsers.ts';
import { MAX_ISSUES } from './parts.ts';
import type { Outcome, SelfDescribing } from './schema.ts';

type Schema = SelfDescribing;

function typeOf(definition: unknown): Type {
  return type(definition as never);
}

type Type = Schema & { array(): Type };

// Each with a right value and one that only the library refuses.
const items: readonly (readonly [what: string, item: unknown, right: unknown, wrong: unknown])[] = [
  ['a narrowed number', type('number').narrow((value) => value > 1), 2, 1],
  ['a format', type('string.email'), 'a@b.cd', 'x'],
  ['a member', type({ 'a b': 'string.email', '+': 'reject' }), { 'a b': 'a@b.cd' }, { 'a b': 'x' }],
  ['a missing member', type({ a: 'number', 'b?': 'string' }), { a: 1 }, {}],
  ['a member too many', type({ a: 'number', '+': 'reject' }), { a: 1 }, { a: 1, b: 2 }],
  ['a union', type({ a: 'string.email' }).or({ b: 'string.email' }), { b: 'a@b.cd' }, { b: 'x' }],
  ['a default', type({ a: 'number = 5', 'b?': 'string.email' }), {}, { b: 'x' }],
  ['a text that is replaced', type('string').pipe(Number).to('number'), '12', 'x'],
  [
    'a union with a text that is replaced',
    type({ k: "'a'", v: type('string').pipe(Number).to('number') }).or({ k: "'b'", v: 'string.email' }),
    { k: 'a', v: '12' },
    { k: 'a', v: 'x' },
  ],
];

interface Case {
  readonly schema: Schema;
  readonly value: unknown;
  readonly spoilt: readonly string[];
}

const cases: fc.Arbitrary<Case> = fc
  .record({
    item: fc.constantFrom(...items),
    shape: fc.constantFrom(listOf, listsOf, recordOf, recordsOf, besideOthers),
    length: fc.integer({ min: 500, max: 1_500 }),
    spoilt: fc.oneof(fc.uniqueArray(fc.nat(499), { maxLength: 3 }), fc.constant('all' as const)),
  })
  .map(({ item: [, item, right, wrong], shape, length, spoilt }) => {
    const isSpoilt = (index: number): boolean => spoilt === 'all' || spoilt.includes(index);
    const values = Array.from({ length }, (_, index) => structuredClone(isSpoilt(index) ? wrong : right));
    const { schema, value, pathOf } = shape(typeOf(item), values);
    return { schema, value, spoilt: values.flatMap((_, index) => (isSpoilt(index) ? [pathOf(index)] : [])) };
  });

interface Shaped {
  readonly schema: Schema;
  readonly value: unknown;
  readonly pathOf: (index: number) => string;
}

function listOf(item: Type, values: readonly unknown[]): Shaped {
  return {
    schema: typeOf({ list: item.array() }),
    value: { list: values },
    pathOf: (index) => `list,${index}`,
  };
}

function listsOf(item: Type, values: readonly unknown[]): Shaped {
  const lists = Array.from({ length: Math.ceil(values.length / 30) }, (_, at) =>
    values.slice(at * 30, at * 30 + 30),
  );
  return {
    schema: typeOf({ lists: item.array().array() }),
    value: { lists },
    pathOf: (index) => `lists,${Math.floor(index / 30)},${index % 30}`,
  };
}

function recordOf(item: Type, values: readonly unknown[]): Shaped {
  return {
    schema: typeOf({ '[string]': item }),
    value: Object.fromEntries(values.map((value, index) => [`k${index}`, value])),
    pathOf: (index) => `k${index}`,
  };
}

function recordsOf(item: Type, values: readonly unknown[]): Shaped {
  const records: Record<string, Record<string, unknown>> = {};
  for (const [index, value] of values.entries()) (records[`r${index % 40}`] ??= {})[`k ${index}`] = value;
  return {
    schema: typeOf({ '[string]': typeOf({ '[string]': item }) }),
    value: records,
    pathOf: (index) => `r${index % 40},k ${index}`,
  };
}

function besideOthers(item: Type, values: readonly unknown[]): Shaped {
  const rows = values.map((value) => ({ name: 'x', values: [value] }));
  return {
    schema: typeOf({
      total: 'number',
      others: 'number[] > 0',
      rows: typeOf({ name: 'string', values: item.array() }).array(),
    }),
    value: { total: values.length, others: Array.from({ length: 600 }, () => 1), rows },
    pathOf: (index) => `rows,${index},values,0`,
  };
}

test('a large value gives the same result as with the type alone, or is refused for its wrong members', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ schema, value, spoilt }) => {
      const before = structuredClone(value);
      const [outcome, whole] = [await parserOfLarge(schema)(value), await parserIn(schema)(value)];
      expect(value).toEqual(before);
      expect('value' in outcome).toBe(spoilt.length === 0);
      if (spoilt.length === 0) expect(outcome).toEqual(whole);
      const shown = wordsOf(outcome);
      expect(shown.length > 0).toBe(spoilt.length > 0);
      const asked = new Map(wordsOf(whole).map(({ path, message }) => [path, message]));
      for (const { path, message } of shown) {
        expect(spoilt.some((each) => path === each || path.startsWith(`${each},`))).toBe(true);
        expect(message).toBe(asked.get(path));
      }
    }),
    { numRuns: propertyRuns(300) },
  );
});

const WRONG = 5_000;

test.each(items)('of thousands of values that fail %s, a few are reported', async (...[, item, , wrong]) => {
  const { schema, value } = listOf(
    typeOf(item),
    Array.from({ length: WRONG }, () => wrong),
  );
  const shown = wordsOf(await parserOfLarge(schema)(value));
  expect(shown).toHaveLength(MAX_ISSUES);
  expect(shown[0]!.path).toMatch(/^list,0/);
});

const numbers = Array.from({ length: 2_000 }, (_, index) => index);

test.each<[what: string, schema: Schema, value: object, says: string]>([
  [
    'a small member beside it',
    type({ name: 'string.email', list: 'number[]' }),
    { name: 'x', list: numbers },
    'name must be an email address (was "x")',
  ],
  [
    'a list as a whole',
    type({ list: type('number[]').narrow((list, ctx) => list[0] === 1 || ctx.mustBe('sorted')) }),
    { list: numbers },
    'list must be sorted (was an object)',
  ],
])('a problem with %s is reported in the words of the type', async (...[, schema, value, says]) => {
  const shown = wordsOf(await parserOfLarge(schema)(value));
  expect(shown.map(({ message }) => message.replace(/\(was \[.*/s, '(was an object)'))).toEqual([says]);
});

test('a value whose parts do not show the problem is refused, with the advice to send smaller parts', async () => {
  const schema = type({ list: 'string.email[] >= 1500' });
  const list = numbers.map(() => 'x');
  expect(await parserOfLarge(schema)({ list })).toEqual({
    issues: [
      { message: 'does not match the schema, and is too large to say where; send it in smaller parts' },
    ],
  });
});

test('a check across members does not fail because a piece has fewer members', async () => {
  const schema = type({ total: 'number', list: type('string').pipe(Number).to('number').array() }).narrow(
    ({ total, list }, ctx) => total === list.length || ctx.reject({ path: ['total'], expected: 'the sum' }),
  );
  const list = numbers.map(String);
  expect(await parserOfLarge(schema)({ total: list.length, list })).toEqual({
    value: { total: list.length, list: numbers },
  });
});

function wordsOf(outcome: Outcome): { readonly path: string; readonly message: string }[] {
  if ('value' in outcome) return [];
  return outcome.issues.map(({ path = [], message }) => ({ path: path.map(String).join(','), message }));
}

test('a valid value is accepted if its schema compares items after defaults are filled in', async () => {
  const item = type({ id: 'number', parent: 'number', n: 'number = 5' });
  const schema = type({ list: item.array() }).narrow(({ list }, context) => {
    const ids = new Set(list.map(({ id }) => id));
    for (const [index, { parent }] of list.entries())
      if (!ids.has(parent)) context.error({ path: ['list', index], expected: 'an item with a parent' });
    return !context.hasError();
  });
  const last = 5_000;
  const list = Array.from({ length: last }, (_, index) => ({ id: index, parent: last - 1 - index }));
  const outcome = await parserOfLarge(schema)({ list });
  expect(outcome).toMatchObject({ value: { list: list.map((given) => ({ ...given, n: 5 })) } });
});
