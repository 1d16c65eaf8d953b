import { expect, test } from 'vitest';
import { createProgressBar, describeProgress } from './progress-bar.ts';

test('a bar shows the percentage, the rate and the remaining time', () => {
  const line = describeProgress(
    { progress: 30, total: 120, message: 'rows\u001B[2J' },
    { ms: 2_000, done: 20 },
  );
  expect(line).toBe(String.raw`[######..................] 25%  10/s  9 s left  rows\u001b[2J`);
});

test('without a total it shows the amount that is done', () => {
  expect(describeProgress({ progress: 7 }, { ms: 0, done: 0 })).toBe('7');
  expect(describeProgress({ progress: 7, total: 0 }, { ms: 0, done: 0 })).toBe('7');
});

test('a bar stays on one line, no wider than the screen, and is erased at the end', () => {
  const written: string[] = [];
  let now = 0;
  const bar = createProgressBar({ columns: 20, write: (text) => written.push(text) }, () => now);
  bar.show({ progress: 1, total: 4 });
  now = 1_000;
  bar.show({ progress: 2, total: 4, message: 'much longer than that' });
  bar.clear();
  bar.clear();
  expect(written).toEqual(['\r\u001B[K[######............', '\r\u001B[K[############......', '\r\u001B[K']);
});

test('a bar stays on one line of a terminal that does not know its width', () => {
  const written: string[] = [];
  const bar = createProgressBar({ columns: 0, write: (text) => written.push(text) }, () => 0);
  bar.show({ progress: 1, message: 'x'.repeat(200) });
  expect(written[0]!.length).toBe('\r\u001B[K'.length + 79);
});
