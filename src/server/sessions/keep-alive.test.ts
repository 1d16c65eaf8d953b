import { expect, test } from 'vitest';
import type { Clock } from '../../base/clock.ts';
import { createFakeClock } from '../../testing.ts';
import { Accidents } from '../accidents.ts';
import { KEEP_ALIVE_MS, KeepAlive } from './keep-alive.ts';

const accidents = new Accidents(() => {});

/** A clock that counts the timers that are set. */
function countingClock() {
  const clock = createFakeClock();
  let timers = 0;
  const counting: Clock = {
    now: () => clock.now(),
    ticks: () => clock.ticks(),
    after(ms, task) {
      timers++;
      const cancel = clock.after(ms, () => {
        timers--;
        task();
      });
      return () => {
        timers--;
        cancel();
      };
    },
  };
  return { clock: counting, advance: (ms: number) => clock.advance(ms), timers: () => timers };
}

test('all keep-alive functions run together, until they are removed', () => {
  const { clock, advance } = countingClock();
  const keepAlive = new KeepAlive(clock, accidents);
  const beats: string[] = [];
  const stop = keepAlive.add(() => beats.push('first'));
  keepAlive.add(() => beats.push('second'));
  advance(KEEP_ALIVE_MS - 1);
  expect(beats).toEqual([]);
  advance(1);
  expect(beats).toEqual(['first', 'second']);
  stop();
  advance(KEEP_ALIVE_MS);
  expect(beats).toEqual(['first', 'second', 'second']);
});

test('A8 one timer serves all keep-alive functions, and there is none without functions', () => {
  const { clock, advance, timers } = countingClock();
  const keepAlive = new KeepAlive(clock, accidents);
  const stops = Array.from({ length: 100 }, () => keepAlive.add(() => {}));
  expect(timers()).toBe(1);
  advance(KEEP_ALIVE_MS * 3);
  expect(timers()).toBe(1);
  for (const stop of stops) stop();
  expect(timers()).toBe(0);
  keepAlive.add(() => {})();
  expect(timers()).toBe(0);
});

test('a keep-alive function may remove itself', () => {
  const { clock, advance, timers } = countingClock();
  const keepAlive = new KeepAlive(clock, accidents);
  let beats = 0;
  const stop: () => void = keepAlive.add(() => {
    beats++;
    stop();
  });
  advance(KEEP_ALIVE_MS * 3);
  expect([beats, timers()]).toEqual([1, 0]);
});
