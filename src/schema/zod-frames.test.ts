import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parserIn, parserOfLarge } from './library-parsers.ts';

const span = z
  .object({ from: z.number(), to: z.number() })
  .refine(({ from, to }) => from <= to, 'Ends early.');
const padding = Object.fromEntries(many(401, (at) => [`p${at}`, { from: 1, to: 2 }]));
const wrong = { from: 2, to: 1 };
const refused = Object.fromEntries(many(8, (at) => [`k${at}`, { ...wrong }]));

describe('a wrong member is reported, whatever is wrong with members that the library leaves alone', () => {
  test.each<[what: string, key: z.core.$ZodRecordKey, right: string]>([
    ['addresses', z.email(), 'a@b.cd'],
    ['UUIDs', z.uuid(), '7f7d4b0c-5b5a-4c7e-9d1b-3f1d0b8e6a11'],
    ['links', z.url(), 'https://a.bc'],
    [
      'texts of its own format',
      z.stringFormat('even', (text) => text.length % 2 === 0 && !/^[kp]/.test(text)),
      'ab',
    ],
    ['texts with a check', z.string().regex(/^v/), 'v'],
  ])('in a loose record of %s', async (_, key, right) => {
    const value = { ...padding, ...refused, [right]: { ...wrong } };
    expect(await messagesOf(z.looseRecord(key, span), { r: value })).toEqual([`r.${right}: Ends early.`]);
  });

  test('in a record with a name that is left out', async () => {
    const members = Object.fromEntries(many(401, (at) => [`p${at}`, [{ from: 1, to: 2 }]]));
    const value = withOwnProto(
      many(9, () => wrong),
      { ...members, v: [wrong] },
    );
    expect(await messagesOf(z.record(z.string(), z.array(span)), { r: value })).toEqual([
      'r.v.0: Ends early.',
    ]);
  });
});

// Only JSON makes such a member.
function withOwnProto(proto: unknown, rest: object): unknown {
  return JSON.parse(`{"__proto__":${JSON.stringify(proto)},${JSON.stringify(rest).slice(1)}`);
}

test.each<[what: string, key: z.core.$ZodRecordKey, times: number]>([
  ['a name that is left out', z.string(), 402],
  ['a name that is refused', z.email(), 1],
])('a member of a record with %s is not checked', async (_, key, times) => {
  const checked: unknown[] = [];
  const member = z.object({ n: z.number() }).refine(({ n }) => checked.push(n));
  const right = Object.fromEntries(many(401, (at) => [`p${at}`, { n: 1 }]));
  const r = withOwnProto({ n: 2 }, { ...right, 'a@b.cd': { n: 1 } });
  await parserOfLarge(z.object({ r: z.looseRecord(key, member) }))({ r });
  expect(checked).toEqual(many(times, () => 1));
});

const rows = many(401, (n) => ({ n }));
const row = z.object({ n: z.number() });

describe('a check that has to wait runs as often as with the library alone', () => {
  test('a problem is reported once', async () => {
    const list = z
      .array(row)
      .optional()
      .refine(async () => Promise.resolve(false), 'No.');
    expect(await messagesOf(list, { r: rows })).toEqual(['r: No.']);
  });

  test.each<[what: string, list: z.ZodType]>([
    [
      'a list that is replaced',
      z
        .array(row)
        .readonly()
        .check(z.overwrite((list) => [...list, { n: 0 }]))
        .refine(async () => Promise.resolve(true)),
    ],
    [
      'a list that is changed',
      z
        .array(row)
        .optional()
        .transform(async (list) => {
          list!.push({ n: 0 });
          return Promise.resolve(list);
        }),
    ],
    [
      'items that are changed',
      z.array(row).transform(async (list) => {
        for (const each of list) each.n++;
        return Promise.resolve(list);
      }),
    ],
  ])('%s is changed once', async (_, list) => {
    const schema = z.object({ r: list });
    expect(await parserOfLarge(schema)({ r: structuredClone(rows) })).toEqual(
      await parserIn(schema)({ r: structuredClone(rows) }),
    );
    expect(await parserOfLarge(list)(structuredClone(rows))).toEqual(
      await parserIn(list)(structuredClone(rows)),
    );
  });
});

test('a value is checked anew after a check that throws', async () => {
  const list = z.array(row);
  const both = z.object({ a: list, b: list.optional() }).refine(({ b }) => {
    if (!b) throw new Error('broken');
    return true;
  });
  const parse = parserOfLarge(z.object({ both }));
  const a: unknown[] = structuredClone(rows);
  await expect(async () => parse({ both: { a } })).rejects.toThrow('broken');
  a[0] = { n: 'x' };
  expect(await parse({ both: { a, b: a } })).toMatchObject({
    issues: [{ path: ['both', 'a', 0, 'n'] }, { path: ['both', 'b', 0, 'n'] }],
  });
});

async function messagesOf(schema: z.ZodType, value: unknown): Promise<string[]> {
  const outcome = await parserOfLarge(z.object({ r: schema }))(value);
  return 'value' in outcome
    ? []
    : outcome.issues.map(({ path = [], message }) => `${path.map(String).join('.')}: ${message}`);
}

function many<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}
