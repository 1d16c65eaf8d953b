import { existsSync, readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readFamily, toNumberText, type Family, type Metrics } from './metrics.ts';

/**
 * Adds the standard process metrics of Prometheus; the returned function stops measuring the event loop, which
 * costs a little all the time.
 */
export function watchProcess(metrics: Metrics): () => void {
  const help = {
    cpu: 'Processor time used by the process, in seconds.',
    memory: 'Resident memory of the process, in bytes.',
    start: 'When the process started, in seconds since 1970.',
    files: 'Open file descriptors, sockets included.',
  };
  metrics.add(readFamily({ name: 'process_cpu_seconds_total', kind: 'counter', help: help.cpu }, cpuSeconds));
  metrics.add(
    readFamily({ name: 'process_resident_memory_bytes', kind: 'gauge', help: help.memory }, () =>
      process.memoryUsage.rss(),
    ),
  );
  metrics.add(
    readFamily(
      { name: 'process_start_time_seconds', kind: 'gauge', help: help.start },
      () => performance.timeOrigin / 1000,
    ),
  );
  if (existsSync(OPEN_FILES))
    metrics.add(readFamily({ name: 'process_open_fds', kind: 'gauge', help: help.files }, openFiles));
  const { family, stop } = eventLoopDelay();
  metrics.add(family);
  return stop;
}

const OPEN_FILES = '/proc/self/fd';
const RESOLUTION_MS = 20;
const QUANTILES = [0.5, 0.9, 0.99, 1];

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

// Reading the folder opens one descriptor, which is closed again.
function openFiles(): number {
  return readdirSync(OPEN_FILES).length - 1;
}

function eventLoopDelay(): { readonly family: Family; readonly stop: () => void } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  // The histogram holds the time between two samples, which is the resolution if nothing blocks.
  const secondsAt = (quantile: number): number =>
    delays.count === 0 ? 0 : Math.max(0, delays.percentile(quantile * 100) / 1e9 - RESOLUTION_MS / 1e3);
  const family: Family = {
    name: 'nodejs_eventloop_delay_seconds',
    kind: 'gauge',
    help: 'How late the event loop was since the last scrape, in seconds; quantile 1 is the worst.',
    samples() {
      const samples = QUANTILES.map((at) => `{quantile="${at}"} ${toNumberText(secondsAt(at))}`);
      delays.reset();
      return samples;
    },
  };
  return { family, stop: () => delays.disable() };
}
