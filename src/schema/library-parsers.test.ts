import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { propertyRuns } from '../../test/property-runs.ts';
import { parserIn, parserOfLarge } from './library-parsers.ts';
import { MAX_ISSUES } from './parts.ts';
import type { Outcome } from './schema.ts';

// Enough for members to be checked on their own.
const LENGTH = 201;

interface Case {
  readonly schema: z.ZodType;
  readonly value: unknown;
}

const leafSchemas: readonly z.ZodType[] = [
  z.number(),
  z.number().refine((value) => value > 0, 'Must be more than 0.'),
  z.number().refine((value) => value > 0, { error: 'Must be more than 0.', abort: true }),
  z.number().superRefine((value, { addIssue }) => {
    for (let left = value; left > 0; left--)
      addIssue({ code: 'custom', message: `No ${left}.`, path: [left] });
  }),
  z.number().min(1).max(2),
  z.number().transform((value) => value + 1),
  z.number().transform(String).pipe(z.string().regex(/[01]/)),
  z.number().optional(),
  z.number().default(7),
  z.number().catch(7),
  z.coerce.string(),
  z.preprocess((value) => value ?? 1, z.number()),
  z.union([z.string(), z.number().refine((value) => value > 0, 'Must be more than 0.')]),
  z.strictObject({}).or(z.number()),
];

const waitingLeaf = z.number().refine(async (value) => Promise.resolve(value > 0), 'Must be more than 0.');

const changes: readonly ((schema: z.ZodType) => z.ZodType)[] = [
  (schema) => schema,
  (schema) => schema.refine((value) => !Array.isArray(value), 'Must be no list.'),
  (schema) => schema.refine((value) => Array.isArray(value), { error: 'Must be a list.', abort: true }),
  (schema) => schema.transform((value) => [value]),
  (schema) => schema.pipe(z.transform((value) => ({ value }))),
  (schema) => schema.optional(),
  (schema) => schema.nullable(),
  (schema) => schema.default(null),
  (schema) => schema.prefault(null),
  (schema) => schema.readonly(),
  (schema) => schema.catch('caught'),
  (schema) => z.union([z.string(), schema]),
  (schema) => z.lazy(() => schema),
];

function casesOf(leaves: readonly z.ZodType[], kinds = [listOf, tupleOf, recordOf]): fc.Arbitrary<Case> {
  const leaf = fc.record({
    schema: fc.constantFrom(...leaves),
    value: fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, fc.constantFrom('x', null, {})),
  });
  const within = (inner: fc.Arbitrary<Case>, lengths: readonly number[]): fc.Arbitrary<Case> => {
    const items = repeated(inner, lengths);
    const container = fc.oneof(...kinds.map((kind) => items.map(kind)), groupOf(inner));
    return fc
      .tuple(container, fc.constantFrom(...changes))
      .map(([{ schema, value }, change]) => ({ schema: change(schema), value }));
  };
  const long = within(leaf, [LENGTH, LENGTH + 1]);
  const longOfShort = within(fc.oneof(leaf, within(leaf, [2])), [LENGTH, LENGTH + 1]);
  return groupOf(fc.oneof(long, longOfShort, within(fc.oneof(long, longOfShort), [1, 3])));
}

interface Items {
  readonly schema: z.ZodType;
  readonly values: readonly unknown[];
}

// Most items are the value of a case; the others are like it, and may be good or bad.
function repeated(inner: fc.Arbitrary<Case>, lengths: readonly number[]): fc.Arbitrary<Items> {
  const some = fc.array(inner, { minLength: 1, maxLength: 3 });
  return fc.tuple(inner, some, fc.constantFrom(...lengths)).map(([{ schema, value }, others, length]) => ({
    schema,
    // In JSON no two items are the same object.
    values: Array.from({ length }, (_, index) =>
      structuredClone(index % 5 === 0 ? others[index % others.length]!.value : value),
    ),
  }));
}

function listOf({ schema, values }: Items): Case {
  return { schema: z.array(schema), value: values };
}

function tupleOf({ schema, values }: Items): Case {
  return { schema: z.tuple([schema], schema), value: values };
}

const kindsOfRecords: readonly ((schema: z.ZodType) => z.ZodType)[] = [
  (schema) => z.record(z.string(), schema),
  (schema) => z.record(z.string().regex(/^k/), schema),
  (schema) => z.record(z.email(), schema),
  (schema) => z.looseRecord(z.string().regex(/^k/), schema),
  (schema) => z.looseRecord(z.email(), schema),
];

// Some names are refused, or left alone, by all but the first kind of record.
function recordOf({ schema, values }: Items): Case {
  const nameOf = (index: number): string => `${index % 50 === 7 ? 'q' : 'k'}${index}@b.c${index % 9 && 'd'}`;
  const value = Object.fromEntries(values.map((each, index) => [nameOf(index), each]));
  const nth = JSON.stringify(values[0] ?? null).length + values.length;
  return { schema: kindsOfRecords[nth % kindsOfRecords.length]!(schema), value };
}

function groupOf(inner: fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  const members = fc.dictionary(fc.constantFrom('a', 'b', 'c'), inner, { minKeys: 1 });
  const make = fc.constantFrom<(shape: z.ZodRawShape) => z.ZodType>(z.object, z.strictObject, z.looseObject);
  return fc.tuple(members, make, fc.boolean()).map(([given, makeGroup, hasMore]) => ({
    schema: makeGroup(Object.fromEntries(Object.entries(given).map(([name, { schema }]) => [name, schema]))),
    value: {
      ...(hasMore && { more: 1 }),
      ...Object.fromEntries(Object.entries(given).map(([name, { value }]) => [name, value])),
    },
  }));
}

test('a large value that is checked in slices gives the same value or messages as a check in one go', async () => {
  await fc.assert(
    fc.asyncProperty(casesOf(leafSchemas), async ({ schema, value }) => {
      const { inSlices, whole } = await outcomesOf(schema, value);
      expect(inSlices).toEqual(shortened(whole));
    }),
    { numRuns: propertyRuns(1_000, 30) },
  );
});

// Which problems are first depends on what is known first.
test('a large value with asynchronous checks gives the same value, or some of the same messages', async () => {
  await fc.assert(
    fc.asyncProperty(
      casesOf([waitingLeaf, leafSchemas[1]!], [listOf, recordOf]),
      async ({ schema, value }) => {
        const { inSlices, whole } = await outcomesOf(schema, value);
        if ('value' in whole) expect(inSlices).toEqual(whole);
        else
          expect(whole.issues).toEqual(expect.arrayContaining(issuesOf(inSlices).slice(0, MAX_ISSUES - 1)));
        const [shown, asked] = [issuesOf(inSlices), issuesOf(shortened(whole))];
        expect(shown).toHaveLength(asked.length);
        if (issuesOf(whole).length > MAX_ISSUES) expect(shown.at(-1)).toEqual(asked.at(-1));
      },
    ),
    { numRuns: propertyRuns(1_000, 30) },
  );
});

test('other work runs while a large value is checked', async () => {
  const spin = (value: number): boolean => {
    const until = performance.now() + value;
    while (performance.now() < until);
    return true;
  };
  const list = Array.from({ length: LENGTH }, () => 0.4);
  for (const item of [
    z.number().refine(spin),
    z.number().refine(async (value) => Promise.resolve(spin(value))),
  ]) {
    const turns = { taken: 0 };
    const outcome = parserOfLarge(z.object({ list: z.array(item) }))({ list });
    const take = (): void => {
      turns.taken++;
      next = setImmediate(take);
    };
    let next = setImmediate(take);
    expect(await outcome).toEqual({ value: { list } });
    clearImmediate(next);
    expect(turns.taken).toBeGreaterThan(1);
  }
});

test.each([
  ['at once', () => fail()],
  ['later', async () => Promise.resolve().then(fail)],
])('a check that throws %s fails the whole check', async (_, throws) => {
  // Zod forgets the promise of the first check, from which it learns that checks have to wait.
  const first = { isOver: false };
  const check = (): boolean | Promise<boolean> => {
    if (first.isOver) return throws();
    first.isOver = true;
    return Promise.resolve(true);
  };
  const parse = parserOfLarge(z.object({ list: z.array(z.number().refine(check)) }));
  await expect(async () => parse({ list: many(LENGTH, () => 1) })).rejects.toThrow('broken');
});

function fail(): never {
  throw new Error('broken');
}

test('a value with very many problems is refused, where the library alone would fail', async () => {
  const item = z.preprocess(
    (value) => value,
    z.object(Object.fromEntries(many(20, (at) => [`p${at}`, z.string()]))),
  );
  const parse = parserOfLarge(z.object({ list: z.array(item) }));
  const { issues } = (await parse({ list: many(9_000, () => ({})) })) as { issues: Words[] };
  expect(issues).toHaveLength(MAX_ISSUES);
  expect(issues.at(-1)!.message).toBe('and 179993 more');
});

function many<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}

interface Words {
  readonly message: string;
  readonly path: unknown;
}

type Shown = { readonly value: unknown } | { readonly issues: readonly Words[] };

async function outcomesOf(schema: z.ZodType, value: unknown): Promise<{ inSlices: Shown; whole: Shown }> {
  const inSlices = parserOfLarge(schema)(value);
  return {
    inSlices: shownOf(await inSlices),
    whole: shownOf(await parserIn(schema)(value)),
  };
}

function shownOf(outcome: Outcome): Shown {
  if ('value' in outcome) return outcome;
  return { issues: outcome.issues.map(({ message, path = [] }) => ({ message, path })) };
}

function issuesOf(shown: Shown): Words[] {
  return 'issues' in shown ? [...shown.issues] : [];
}

function shortened(shown: Shown): Shown {
  const issues = issuesOf(shown);
  if (issues.length <= MAX_ISSUES) return shown;
  const message = `and ${issues.length - MAX_ISSUES + 1} more`;
  return { issues: [...issues.slice(0, MAX_ISSUES - 1), { message, path: [] }] };
}
