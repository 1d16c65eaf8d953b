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
  // How many values had ended at each sweep.
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

// A credential that is looked up first while the store fails is refused.
async function orNobody(found: Awaitable<Thing | undefined>): Promise<Thing | undefined> {
  try {
    return await found;
  } catch {
    return undefined;
  }
}

const fail = (): Promise<never> => Promise.reject(new Error('The store is down.'));

test('a cached value is returned at once, as the same object, without another lookup', () => {
  const { lookup, store, asked } = setUp();
  store.set('k', { name: 'one' });
  const first = lookup.get('k');
  expect(lookup.get('k')).toBe(first);
  expect(asked).toEqual(['k']);
});

test('an equal value keeps the cached object; a different value replaces it and ends the old one', () => {
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

test('B8 a removal that the store does not report takes effect within five seconds', async () => {
  const { lookup, store, clock, answerWith } = setUp();
  answerWith(async (key) => store.get(key));
  store.set('k', { name: 'one' });
  await lookup.get('k');
  store.delete('k');
  clock.advance(4_999);
  expect(await lookup.get('k')).toBeUndefined();
});

test('B8 a removal that the store reports takes effect at once, even without a request', async () => {
  const { lookup, store, gone, tell } = setUp();
  store.set('k', { name: 'one' });
  const first = await lookup.get('k');
  store.delete('k');
  tell();
  await Promise.resolve();
  expect(gone).toEqual([first]);
  expect(lookup.get('k')).toBeUndefined();
});

test('a lookup that began before a change is not used after it', async () => {
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

test('while the store fails, the last value is used for sixty seconds and no longer', async () => {
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

test('a store that never answers counts as failing', async () => {
  const { lookup, store, clock, answerWith } = setUp();
  store.set('k', { name: 'one' });
  const first = lookup.get('k');
  answerWith(() => new Promise(() => {}));
  clock.advance(lookupLimits.freshMs);
  const waiting = lookup.get('k');
  clock.advance(lookupLimits.answerMs);
  expect(await waiting).toBe(first);
});

test('a missing key is not looked up again for a moment, and the cache of missing keys is bounded', () => {
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

test('simultaneous lookups of one key are one lookup', async () => {
  const { lookup, store, asked, answerWith } = setUp();
  answerWith(async (key) => store.get(key));
  store.set('k', { name: 'one' });
  const [one, two] = await Promise.all([lookup.get('k'), lookup.get('k')]);
  expect(one).toBe(two);
  expect(asked).toEqual(['k']);
});

test('a value that expires is reported as ended, even without a request', () => {
  const { lookup, store, clock, gone } = setUp();
  store.set('k', { name: 'one', until: clock.now() + 3_000 });
  const first = lookup.get('k');
  clock.advance(4_000);
  expect(gone).toEqual([first]);
});

test('a sweep that ends a value is followed by another one, so that its end is reported again', () => {
  const { lookup, store, clock, goneAtSweep } = setUp();
  store.set('k', { name: 'one', until: clock.now() + 3_000 });
  void lookup.get('k');
  clock.advance(20_000);
  expect(goneAtSweep).toEqual([0, 0, 1]);
});

test('B3 with many keys in use and a store that hangs, nobody is signed out before the grace time is over, and then everybody', async () => {
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

test('B8 callers with open streams and no requests are ended soon after the grace time, too', async () => {
  const parts = await manyInUse();
  const { answerWith, gone } = parts;
  answerWith(fail);
  await pass(parts, 59);
  expect(gone.length).toBe(0);
  await pass(parts, 6);
  expect(gone.length).toBe(MANY);
});

test('B3 with a store that hangs while it reports a change, nobody is signed out before the grace time is over, and then everybody', async () => {
  const parts = await manyInUse();
  const { answerWith, gone, inUse, tell } = parts;
  answerWith(fail);
  tell();
  await pass(parts, 50);
  expect([await inUse(), gone.length]).toEqual([MANY, 0]);
  await pass(parts, 11);
  expect([await inUse(), gone.length]).toEqual([0, MANY]);
});

test('B8 a revocation that was reported and looked up just before the store hangs takes effect at once', async () => {
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

test('B8 a revocation that was reported but not looked up takes effect after the grace time', async () => {
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

test('B8 a revocation takes effect within five seconds of its report, even if the store answers late', async () => {
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
