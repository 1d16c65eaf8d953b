import {
  toNumberText,
  type Counter,
  type Histogram,
  type Metrics,
  type Series,
} from '../../observe/metrics.ts';
import type { UpstreamState } from './state.ts';

/** What is counted about the calls of one upstream. */
export interface UpstreamMeter {
  readonly calls: Counter;
  readonly failures: Counter;
  readonly seconds: Histogram;
}

/** What is counted about the calls of all upstreams. */
export interface UpstreamMeters {
  /** The counts of one; its label is its name in the configuration, so there are no more than entries. */
  of(name: string): UpstreamMeter;
  /** Shows the counts of one that nobody has used yet. */
  announce(name: string): void;
}

/** Counts what is passed on to upstreams. */
export function createMeters(metrics: Metrics): UpstreamMeters {
  let made: UpstreamSeries | undefined;
  const series = (): UpstreamSeries => (made ??= seriesIn(metrics));
  return {
    of: (name) => {
      const { calls, failures, seconds } = series();
      return { calls: calls.child(name), failures: failures.child(name), seconds: seconds.child(name) };
    },
    announce: (name) => {
      for (const one of Object.values(series())) one.announce(name);
    },
  };
}

type UpstreamSeries = { readonly [Key in keyof UpstreamMeter]: Series<UpstreamMeter[Key]> };

function seriesIn(metrics: Metrics): UpstreamSeries {
  const labels = ['upstream'];
  return {
    calls: metrics.counter('toolcrib_upstream_calls_total', 'Calls passed on to a server.', labels),
    failures: metrics.counter(
      'toolcrib_upstream_failures_total',
      'Calls passed on that ended without an answer of the server.',
      labels,
    ),
    seconds: metrics.histogram(
      'toolcrib_upstream_seconds',
      'How long servers took to answer calls, in seconds.',
      {
        labelNames: labels,
        buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      },
    ),
  };
}

/** Shows how the upstreams stand, read on each scrape. */
export function showUpstreams(metrics: Metrics, states: () => readonly UpstreamState[]): void {
  const show = (name: string, help: string, read: (state: UpstreamState) => number): void => {
    metrics.add({
      name,
      help,
      kind: 'gauge',
      samples: () => states().map((state) => `{upstream="${state.name}"} ${toNumberText(read(state))}`),
    });
  };
  show('toolcrib_upstream_connected', 'Open connections to a server.', ({ connections }) => connections);
  show('toolcrib_upstream_processes', 'Running processes of a server.', ({ processes }) => processes);
  show(
    'toolcrib_upstream_degraded',
    'Whether what is shown of a server may be out of date, or it cannot be used.',
    ({ degraded, state }) => Number(degraded || state === 'failed' || state === 'needs_sign_in'),
  );
}
