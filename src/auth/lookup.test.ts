import { expect, test } from 'vitest';
import { createFakeClock } from '../testing.ts';
import type { Awaitable } from '../base/awaitable.ts';
import { Lookup, lookupLimits } from './lookup.ts';

interface Thing {
  readonly name: string;
  readonly until?: number;
}

function setUp({ confirms = false } = {}) {
  const clock = createFakeClock();
  const store = new Map<string, Thing>();
  const gone: Thing[] = [];
  const asked: string[] = [];
  // How many were gone when each sweep was told of.
  const goneAtSweep: number[] = [];
  let answer = (key: string): Awaitable<Thing | undefined> => store.get(key);
  let tell = (): void => {};
  let confirmedAt = 0;
  const lookup = new Lookup<Thing>({
    ask: (key) => {
      asked.push(key);
      return answer(key);
    },
    watch: (listener) => {
      tell = listener;
      return () => {};
    },
    confirmedAt: confirms ? () => confirmedAt : undefined,
    clock,
    isSame: (known, found) => known.name === found.name,
    isOver: ({ until = Infinity }) => until <= clock.now(),
    onGone: (thing) => gone.push(thing),
    onSweep: () => goneAtSweep.push(gone.length),
  });
  return {
    clock,
    store,
    gone,
    asked,
    goneAtSweep,
    lookup,
    tell: () => tell(),
    confirm: () => {
      confirmedAt = clock.ticks();
    },
    answerWith: (changed: typeof answer) => {
      answer = changed;
    },
  };
}

type Parts = ReturnType<typeof setUp>;

/** Lets seconds pass one by one, with whatever happens in each. */
async function pass({ clock }: Parts, seconds: number, each: () => void = () => {}): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    clock.advance(1_000);
    each();
    await new Promise(setImmediate);
  }
}

// More than can be asked for again one by one within the grace.
const MANY = 5_000;

/** Many keys in use at a store that has confirmed for minutes that nothing changed. */
async function manyInUse(): Promise<Parts & { readonly inUse: () => Promise<number> }> {
  const parts = setUp({ confirms: true });
  const keys = Array.from({ length: MANY }, (_, i) => `k${i}`);
  for (const key of keys) parts.store.set(key, { name: key });
  const inUse = async (): Promise<number> => {
    const found = await Promise.all(keys.map((key) => orNobody(parts.lookup.get(key))));
    return found.filter(Boolean).length;
  };
  expect(await inUse()).toBe(MANY);
  await pass(parts, 200, parts.confirm);
  return { ...parts, inUse };
}

// Whoever is asked for first while the store fails is nobody to those who sign in.
async function orNobody(found: Awaitable<Thing | undefined>): Promise<Thing | undefined> {
  try {
    return await found;
  } catch {
    return undefined;
  }
}

const fail = (): Promise<never> => Promise.reject(new Error('The store is down.'));

test('what is known is answered at once, with the same value, and not asked for again', () => {
  const { lookup, store, asked } = setUp();
  store.set('k', { name: 'one' });
  const first = lookup.get('k');
  expect(lookup.get('k')).toBe(first);
  expect(asked).toEqual(['k']);
});

test('an equal answer keeps the old value, another one replaces it and the old one is gone', () => {
  const { lookup, store, clock, gone } = setUp();
  store.set('k', { name: 'one' });
  const first = lookup.get('k');
  store.set('k', { name: 'one' });
  clock.advance(lookupLimits.freshMs);
  expect(lookup.get('k')).toBe(first);
  store.set('k', { name: 'two' });
  clock.advance(lookupLimits.freshMs);
  expect(lookup.get('k')).toEqual({ name: 'two' });
  expect(gone).toEqual([first]);
});

test('B8 what was removed without a word is gone within five seconds', async () => {
  const { lookup, store, clock, answerWith } = setUp();
  answerWith(async (key) => store.get(key));
  store.set('k', { name: 'one' });
  await lookup.get('k');
  store.delete('k');
  clock.advance(4_999);
  expect(await lookup.get('k')).toBeUndefined();
});

test('B8 what was removed is gone at once where the store tells of it, although nobody asks', async () => {
  const { lookup, store, gone, tell } = setUp();
  store.set('k', { name: 'one' });
  const first = await lookup.get('k');
  store.delete('k');
  tell();
  await Promise.resolve();
  expect(gone).toEqual([first]);
  expect(lookup.get('k')).toBeUndefined();
});

test('an answer that was asked for before a change is not believed after it', async () => {
  const { lookup, store, tell, answerWith, asked } = setUp();
  let release = (): void => {};
  answerWith(
    (key) =>
      new Promise((resolve) => {
        const found = store.get(key);
        release = () => resolve(found);
      }),
  );
  store.set('k', { name: 'one' });
  const early = lookup.get('k');
  store.delete('k');
  tell();
  release();
  await early;
  answerWith((key) => store.get(key));
  expect(lookup.get('k')).toBeUndefined();
  expect(asked.length).toBe(2);
});

test('while the store cannot be asked the last answer is good for sixty seconds, and no longer', async () => {
  const { lookup, store, clock, gone, answerWith } = setUp();
  store.set('k', { name: 'one' });
  const first = lookup.get('k');
  answerWith(fail);
  clock.advance(59_000);
  expect(await lookup.get('k')).toBe(first);
  clock.advance(1_500);
  expect(await lookup.get('k')).toBeUndefined();
  expect(gone).toEqual([first]);
  await expect(async () => lookup.get('k')).rejects.toThrow('down');
});

test('a store that never answers counts as one that cannot be asked', async () => {
  const { lookup, store, clock, answerWith } = setUp();
  store.set('k', { name: 'one' });
  const first = lookup.get('k');
  answerWith(() => new Promise(() => {}));
  clock.advance(lookupLimits.freshMs);
  const waiting = lookup.get('k');
  clock.advance(lookupLimits.answerMs);
  expect(await waiting).toBe(first);
});

test('what is not there is not asked for again for a moment, and what is remembered of it has a bound', () => {
  const { lookup, asked, clock, tell } = setUp();
  void lookup.get('k');
  void lookup.get('k');
  expect(asked).toEqual(['k']);
  tell();
  void lookup.get('k');
  expect(asked).toEqual(['k', 'k']);
  clock.advance(lookupLimits.absentMs);
  void lookup.get('k');
  expect(asked.length).toBe(3);
  for (let i = 0; i <= lookupLimits.maxAbsent; i++) void lookup.get(`other-${i}`);
  void lookup.get('k');
  expect(asked.at(-1)).toBe('k');
});

test('questions about the same thing at the same time are one question', async () => {
  const { lookup, store, asked, answerWith } = setUp();
  answerWith(async (key) => store.get(key));
  store.set('k', { name: 'one' });
  const [one, two] = await Promise.all([lookup.get('k'), lookup.get('k')]);
  expect(one).toBe(two);
  expect(asked).toEqual(['k']);
});

test('what ends by itself is told to be gone, although nobody asks', () => {
  const { lookup, store, clock, gone } = setUp();
  store.set('k', { name: 'one', until: clock.now() + 3_000 });
  const first = lookup.get('k');
  clock.advance(4_000);
  expect(gone).toEqual([first]);
});

test('whatever goes in a sweep is followed by another one, so that it can be told of again', () => {
  const { lookup, store, clock, goneAtSweep } = setUp();
  store.set('k', { name: 'one', until: clock.now() + 3_000 });
  void lookup.get('k');
  clock.advance(20_000);
  expect(goneAtSweep).toEqual([0, 0, 1]);
});

test('B3 with many keys in use a store that stops answering signs nobody out before the grace is over, and everybody then', async () => {
  const parts = await manyInUse();
  const { answerWith, gone, inUse } = parts;
  answerWith(fail);
  await pass(parts, 5);
  expect(await inUse()).toBe(MANY);
  await pass(parts, 54);
  expect([await inUse(), gone.length]).toEqual([MANY, 0]);
  await pass(parts, 2);
  expect([await inUse(), gone.length]).toEqual([0, MANY]);
});

test('B8 many who ask nothing and hold streams open are told to be gone soon after the grace, too', async () => {
  const parts = await manyInUse();
  const { answerWith, gone } = parts;
  answerWith(fail);
  await pass(parts, 59);
  expect(gone.length).toBe(0);
  await pass(parts, 6);
  expect(gone.length).toBe(MANY);
});

test('B3 a store that stops answering as it tells of a change signs nobody out before the grace is over, and everybody then', async () => {
  const parts = await manyInUse();
  const { answerWith, gone, inUse, tell } = parts;
  answerWith(fail);
  tell();
  await pass(parts, 50);
  expect([await inUse(), gone.length]).toEqual([MANY, 0]);
  await pass(parts, 11);
  expect([await inUse(), gone.length]).toEqual([0, MANY]);
});

test('B8 a revocation that was told of and looked up just before the store stops answering counts at once', async () => {
  const parts = await manyInUse();
  const { lookup, store, gone, tell, answerWith } = parts;
  store.delete('k4000');
  tell();
  expect(lookup.get('k4000')).toBeUndefined();
  answerWith(() => new Promise(() => {}));
  await pass(parts, 1);
  expect(gone).toEqual([{ name: 'k4000' }]);
  const again = orNobody(lookup.get('k4000'));
  await pass(parts, 3);
  expect(await again).toBeUndefined();
});

test('B8 a revocation that was told of and could not be looked up counts after the grace, whatever is confirmed later', async () => {
  const parts = setUp({ confirms: true });
  const { lookup, store, gone, tell, answerWith, confirm } = parts;
  store.set('k', { name: 'one' });
  const first = lookup.get('k');
  await pass(parts, 100, confirm);
  store.delete('k');
  answerWith(fail);
  tell();
  await pass(parts, 61, confirm);
  expect(gone).toEqual([first]);
  await expect(async () => lookup.get('k')).rejects.toThrow('down');
});

test('B8 what was revoked is gone within five seconds of being told of, although its store confirms and answers late', async () => {
  const parts = setUp({ confirms: true });
  const { lookup, store, clock, gone, tell, answerWith, confirm } = parts;
  store.set('k', { name: 'one' });
  const first = lookup.get('k');
  await pass(parts, 100, confirm);
  store.delete('k');
  answerWith(
    (key) =>
      new Promise((resolve) => {
        clock.after(900, () => resolve(store.get(key)));
      }),
  );
  tell();
  await pass(parts, 4, confirm);
  expect(gone).toEqual([first]);
});
