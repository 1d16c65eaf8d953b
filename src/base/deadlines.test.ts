import { expect, test } from 'vitest';
import { createFakeClock } from '../testing.ts';
import type { Clock } from './clock.ts';
import { Deadlines } from './deadlines.ts';

test('work is ended at its deadline, and not before', () => {
  const clock = createFakeClock();
  const ended: string[] = [];
  new Deadlines(clock).start(1_000, () => ended.push('work'));
  clock.advance(999);
  expect(ended).toEqual([]);
  clock.advance(1);
  expect(ended).toEqual(['work']);
  clock.advance(10_000);
  expect(ended).toEqual(['work']);
});

test('a deadline that is not a number is over at once', () => {
  const clock = createFakeClock();
  const ended: string[] = [];
  new Deadlines(clock).start(Number.NaN, () => ended.push('work'));
  clock.advance(1);
  expect(ended).toEqual(['work']);
});

test('work that finished in time is not ended', () => {
  const clock = createFakeClock();
  const ended: string[] = [];
  const finish = new Deadlines(clock).start(1_000, () => ended.push('work'));
  finish();
  clock.advance(5_000);
  expect(ended).toEqual([]);
});

test('each piece of work has its own deadline, in whatever order they start', () => {
  const clock = createFakeClock();
  const deadlines = new Deadlines(clock);
  const start = clock.now();
  const ended: [string, number][] = [];
  const note = (name: string) => () => ended.push([name, clock.now() - start]);
  deadlines.start(3_000, note('long'));
  deadlines.start(1_000, note('short'));
  clock.advance(500);
  deadlines.start(1_000, note('late'));
  clock.advance(10_000);
  expect(ended).toEqual([
    ['short', 1_000],
    ['late', 1_500],
    ['long', 3_000],
  ]);
});

test('ending work may start other work', () => {
  const clock = createFakeClock();
  const deadlines = new Deadlines(clock);
  const ended: string[] = [];
  deadlines.start(1_000, () => {
    ended.push('first');
    deadlines.start(1_000, () => ended.push('second'));
  });
  clock.advance(1_999);
  expect(ended).toEqual(['first']);
  clock.advance(1);
  expect(ended).toEqual(['first', 'second']);
});

test('an error while ending one piece of work does not affect the others', () => {
  const clock = createFakeClock();
  const deadlines = new Deadlines(clock);
  const ended: string[] = [];
  deadlines.start(1_000, () => ended.push('before'));
  deadlines.start(1_000, () => {
    throw new Error('No.');
  });
  deadlines.start(1_000, () => ended.push('after'));
  deadlines.start(2_000, () => ended.push('later'));
  expect(() => clock.advance(1_000)).toThrow('No.');
  clock.advance(1_000);
  expect(ended).toEqual(['before', 'after', 'later']);
});

test('one timer serves all deadlines', () => {
  const { clock, timers } = counting(createFakeClock());
  const deadlines = new Deadlines(clock);
  for (let call = 0; call < 100; call++) deadlines.start(1_000, () => {});
  expect(timers).toEqual([1_000]);
});

test('an infinite deadline needs no timer', () => {
  const { clock, timers } = counting(createFakeClock());
  new Deadlines(clock).start(Infinity, () => {});
  expect(timers).toEqual([]);
});

test('a deadline longer than the maximum of a timer uses several timers', () => {
  const fake = createFakeClock();
  const { clock, timers } = counting(fake);
  const ended: string[] = [];
  new Deadlines(clock).start(3_000_000_000, () => ended.push('work'));
  expect(timers).toEqual([2_147_483_647]);
  fake.advance(2_999_999_999);
  expect(ended).toEqual([]);
  fake.advance(1);
  expect(ended).toEqual(['work']);
});

function counting(clock: Clock): { clock: Clock; timers: number[] } {
  const timers: number[] = [];
  return {
    timers,
    clock: {
      now: () => clock.now(),
      ticks: () => clock.ticks(),
      after: (ms, task) => (timers.push(ms), clock.after(ms, task)),
    },
  };
}
