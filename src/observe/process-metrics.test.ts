import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { Metrics } from './metrics.ts';
import { watchProcess } from './process-metrics.ts';

test('the metrics have the CPU time, memory, start time and event loop delay of the process', () => {
  const metrics = new Metrics();
  onTestFinished(watchProcess(metrics));
  const text = metrics.text();
  expect(sample(text, 'process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(sample(text, 'process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
  expect(sample(text, 'process_start_time_seconds')).toBeLessThanOrEqual(Date.now() / 1000);
  expect(sample(text, 'nodejs_eventloop_delay_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0);
  expect(text).toContain('# TYPE process_cpu_seconds_total counter\n');
});

test.runIf(existsSync('/proc/self/fd'))('on Linux the metrics have the number of open files', () => {
  const metrics = new Metrics();
  onTestFinished(watchProcess(metrics));
  expect(sample(metrics.text(), 'process_open_fds')).toBeGreaterThan(2);
});

test('a registry has no metrics of the process until the process is watched', () => {
  expect(new Metrics().text()).not.toContain('process_');
});

function sample(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}
