import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
});

afterEach(() => {
  vi.useRealTimers();
});

test('the system clock gives milliseconds since 1970', () => {
  expect(systemClock.now()).toBe(Date.UTC(2026, 0, 1));
});

test('a task runs at its time', () => {
  const ran: number[] = [];
  systemClock.after(1_000, () => ran.push(systemClock.now()));
  vi.advanceTimersByTime(5_000);
  expect(ran).toEqual([Date.UTC(2026, 0, 1) + 1_000]);
});

test('a task that was cancelled does not run', () => {
  const ran: string[] = [];
  const cancel = systemClock.after(1_000, () => ran.push('task'));
  cancel();
  vi.advanceTimersByTime(5_000);
  expect(ran).toEqual([]);
});

test('a pending task does not keep the process alive', () => {
  vi.useRealTimers();
  const before = process.getActiveResourcesInfo();
  const cancel = systemClock.after(60_000, () => {});
  expect(process.getActiveResourcesInfo()).toEqual(before);
  cancel();
});
