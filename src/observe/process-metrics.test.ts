import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { Metrics } from './metrics.ts';
import { watchProcess } from './process-metrics.ts';

test('a process shows its processor time, memory, start and event loop', () => {
  const metrics = new Metrics();
  onTestFinished(watchProcess(metrics));
  const text = metrics.text();
  expect(sample(text, 'process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(sample(text, 'process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
  expect(sample(text, 'process_start_time_seconds')).toBeLessThanOrEqual(Date.now() / 1000);
  expect(sample(text, 'nodejs_eventloop_delay_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0);
  expect(text).toContain('# TYPE process_cpu_seconds_total counter\n');
});

test.runIf(existsSync('/proc/self/fd'))('on Linux it shows how many files are open', () => {
  const metrics = new Metrics();
  onTestFinished(watchProcess(metrics));
  expect(sample(metrics.text(), 'process_open_fds')).toBeGreaterThan(2);
});

test('a registry that nobody asked to watch the process does not', () => {
  expect(new Metrics().text()).not.toContain('process_');
});

function sample(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}
