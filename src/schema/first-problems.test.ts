import { type } from 'arktype';
import { expect, test } from 'vitest';
import { parserIn, parserOfLarge } from './library-parsers.ts';
import { MAX_ISSUES } from './parts.ts';
import type { SelfDescribing } from './schema.ts';

const row = type({ a: 'number' });
const counted = row
  .array()
  .pipe(
    (list) => list.map((each) => ({ ...each, total: list.length })),
    type({ a: 'number', total: 'number >= 1000' }).array(),
  );

test.each<[what: string, schema: SelfDescribing]>([
  ['a list', counted],
  ['a list in an object', type({ list: counted })],
  [
    'an object of a union',
    type({ k: "'a'", list: counted })
      .pipe(({ list }) => list.length)
      .or({ k: "'b'", other: type('string').pipe(Number) }),
  ],
])('a valid value is accepted if what its items are replaced by depends on all of %s', async (_, schema) => {
  const list = many(2_000, () => ({ a: 1 }));
  const value = schema === (counted as SelfDescribing) ? list : { k: 'a', list };
  const outcome = await parserOfLarge(schema)(value);
  expect(outcome).not.toHaveProperty('issues');
  expect(outcome).toEqual(await parserIn(schema)(value));
});

test.each([
  [
    'a function of the author',
    (asked: () => void) =>
      type({ a: 'number = 5' }).narrow((_, context) => {
        asked();
        return context.mustBe('right');
      }),
  ],
  [
    'a function that replaces it',
    (asked: () => void) =>
      type({ 'a?': 'number' }).pipe((_, context) => {
        asked();
        return context.error('right');
      }),
  ],
  [
    'the type of what replaces it',
    (asked: () => void) =>
      type({ 'a?': 'number' })
        .pipe(() => {
          asked();
          return 'x';
        })
        .to('number'),
  ],
])('the check ends soon if thousands of items are refused by %s', async (_, make) => {
  const times = { asked: 0 };
  const item = make(() => void times.asked++);
  const outcome = await parserOfLarge(type({ list: item.array() }))({ list: many(5_000, () => ({})) });
  expect(outcome).toHaveProperty('issues.length', MAX_ISSUES);
  expect(outcome).toHaveProperty('issues.0.path.1', 0);
  expect(times.asked).toBeLessThan(1_000);
});

test('a few problems of items that are replaced are all reported', async () => {
  const schema = type({ list: type('string').pipe(Number).to('number').array() });
  const list = many(2_000, (at) => (at % 100 === 0 ? 'x' : '1'));
  const outcome = await parserOfLarge(schema)({ list });
  const paths = 'value' in outcome ? [] : outcome.issues.map(({ path }) => path?.map(String).join());
  expect(paths).toEqual(many(20, (at) => `list,${at * 100}`));
});

test('others have their turns while many parts of a value are replaced', async () => {
  let turn = 0;
  const turns = new Set<number>();
  const next = (): void => {
    turn++;
    ticking = setImmediate(next);
  };
  let ticking = setImmediate(next);
  const slow = type('string').pipe((text) => {
    for (const until = performance.now() + 0.1; performance.now() < until;);
    turns.add(turn);
    return Number(text);
  });
  const schema = type({ list: slow.array() });
  const value = { list: many(2_000, String) };
  const outcome = await parserOfLarge(schema)(value);
  clearImmediate(ticking);
  expect(outcome).toEqual({ value: { list: many(2_000, Number) } });
  expect(value.list[7]).toBe('7');
  expect(turns.size).toBeGreaterThan(5);
});

test('a function of the author that throws fails the whole check', async () => {
  const schema = type({
    list: type('string')
      .pipe((): number => {
        throw new Error('broken');
      })
      .array(),
  });
  await expect(async () => parserOfLarge(schema)({ list: many(2_000, () => 'x') })).rejects.toThrow('broken');
});

function many<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}
