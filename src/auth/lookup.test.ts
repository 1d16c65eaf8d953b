import { expect, test } from 'vitest';
import { createFakeClock } from '../testing.ts';
import type { Awaitable } from '../core/source.ts';
import { Lookup, lookupLimits } from './lookup.ts';

interface Thing {
  readonly name: string;
  readonly until?: number;
}

function setUp() {
  const clock = createFakeClock();
  const store = new Map<string, Thing>();
  const gone: Thing[] = [];
  const asked: string[] = [];
  let answer = (key: string): Awaitable<Thing | undefined> => store.get(key);
  let tell = (): void => {};
  const lookup = new Lookup<Thing>({
    ask: (key) => {
      asked.push(key);
      return answer(key);
    },
    watch: (listener) => {
      tell = listener;
      return () => {};
    },
    clock,
    isSame: (known, found) => known.name === found.name,
    isOver: ({ until = Infinity }) => until <= clock.now(),
    onGone: (thing) => gone.push(thing),
  });
  return {
    clock,
    store,
    gone,
    asked,
    lookup,
    tell: () => tell(),
    answerWith: (changed: typeof answer) => {
      answer = changed;
    },
  };
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
