import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { MAX_CHILDREN, Metrics } from './metrics.ts';

test('a counter is shown with its help, its type and each series', () => {
  const metrics = new Metrics();
  const calls = metrics.counter('toolcrib_calls_total', 'Calls.', ['tool', 'outcome']);
  calls.child('echo', 'done').inc();
  calls.child('echo', 'done').inc(2);
  calls.child('echo', 'failed').inc();
  expect(metrics.text()).toBe(
    [
      '# HELP toolcrib_calls_total Calls.',
      '# TYPE toolcrib_calls_total counter',
      'toolcrib_calls_total{tool="echo",outcome="done"} 3',
      'toolcrib_calls_total{tool="echo",outcome="failed"} 1',
      '',
    ].join('\n'),
  );
});

test('an empty registry gives an empty text', () => {
  expect(new Metrics().text()).toBe('');
});

test('a metric without labels is shown before its first use', () => {
  const metrics = new Metrics();
  metrics.counter('toolcrib_starts_total', 'Starts.');
  expect(metrics.text()).toContain('\ntoolcrib_starts_total 0\n');
});

test('a counter never decreases, and ignores values that are not numbers', () => {
  const metrics = new Metrics();
  const counter = metrics.counter('toolcrib_starts_total', 'Starts.').child();
  for (const by of [2, -1, Number.NaN, 0]) counter.inc(by);
  expect(metrics.text()).toContain('\ntoolcrib_starts_total 2\n');
});

test('a gauge can be increased, decreased and set', () => {
  const metrics = new Metrics();
  const gauge = metrics.gauge('toolcrib_streams', 'Open streams.', ['kind']);
  gauge.child('get').inc(5);
  gauge.child('get').dec();
  gauge.child('post').set(Infinity);
  gauge.child('odd').set(Number.NaN);
  expect(samplesOf(metrics)).toEqual([
    'toolcrib_streams{kind="get"} 4',
    'toolcrib_streams{kind="post"} +Inf',
    'toolcrib_streams{kind="odd"} NaN',
  ]);
});

test('a gauge can read its value when the metrics are read, and a new registration replaces its source', () => {
  const metrics = new Metrics();
  let size = 1;
  metrics.gauge('toolcrib_sessions', 'Sessions.', () => size);
  size = 7;
  expect(samplesOf(metrics)).toEqual(['toolcrib_sessions 7']);
  metrics.gauge('toolcrib_sessions', 'Sessions.', () => 40);
  expect(samplesOf(metrics)).toEqual(['toolcrib_sessions 40']);
});

test('a gauge that cannot be read does not hide the others', () => {
  const metrics = new Metrics();
  metrics.gauge('toolcrib_broken', 'Broken.', () => {
    throw new Error('gone');
  });
  metrics.gauge('toolcrib_sessions', 'Sessions.', () => 1);
  expect(metrics.text()).toBe(
    '# HELP toolcrib_sessions Sessions.\n# TYPE toolcrib_sessions gauge\ntoolcrib_sessions 1\n',
  );
});

test('the buckets of a histogram are cumulative, and a bound belongs to its bucket', () => {
  const metrics = new Metrics();
  const seconds = metrics.histogram('toolcrib_call_seconds', 'Time.', {
    labelNames: ['tool'],
    buckets: [0.5, 1],
  });
  for (const value of [0.25, 0.5, 0.75, 4, Number.NaN]) seconds.child('echo').observe(value);
  expect(samplesOf(metrics)).toEqual([
    'toolcrib_call_seconds_bucket{tool="echo",le="0.5"} 2',
    'toolcrib_call_seconds_bucket{tool="echo",le="1"} 3',
    'toolcrib_call_seconds_bucket{tool="echo",le="+Inf"} 4',
    'toolcrib_call_seconds_sum{tool="echo"} 5.5',
    'toolcrib_call_seconds_count{tool="echo"} 4',
  ]);
});

test('a histogram without labels has only the bound as a label', () => {
  const metrics = new Metrics();
  metrics
    .histogram('toolcrib_wait_seconds', 'Waits.', { buckets: [1] })
    .child()
    .observe(2);
  expect(samplesOf(metrics)).toEqual([
    'toolcrib_wait_seconds_bucket{le="1"} 0',
    'toolcrib_wait_seconds_bucket{le="+Inf"} 1',
    'toolcrib_wait_seconds_sum 2',
    'toolcrib_wait_seconds_count 1',
  ]);
});

test('backslashes, quotes and line breaks are escaped', () => {
  const metrics = new Metrics();
  metrics.counter('toolcrib_a_total', 'One \\ "two"\nthree.', ['x']).child('a\\b"c\nd').inc();
  expect(metrics.text()).toBe(
    [
      '# HELP toolcrib_a_total One \\\\ "two"\\nthree.',
      '# TYPE toolcrib_a_total counter',
      'toolcrib_a_total{x="a\\\\b\\"c\\nd"} 1',
      '',
    ].join('\n'),
  );
});

test('any label value can be read back unchanged and stays on one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (first, second) => {
      const metrics = new Metrics();
      metrics.counter('toolcrib_a_total', 'A.', ['x', 'y']).child(first, second).inc();
      const [sample, ...more] = samplesOf(metrics);
      expect(more).toEqual([]);
      const read = /^toolcrib_a_total\{x="((?:[^"\\]|\\.)*)",y="((?:[^"\\]|\\.)*)"\} 1$/s.exec(sample!);
      expect([unescape(read![1]!), unescape(read![2]!)]).toEqual([first, second]);
    }),
    { numRuns: propertyRuns() },
  );
});

test('label values that are the same when encoded are one series', () => {
  const metrics = new Metrics();
  const counter = metrics.counter('toolcrib_a_total', 'A.', ['x']);
  counter.child('\ud800').inc();
  counter.child('\udfff').inc();
  expect(samplesOf(metrics)).toEqual(['toolcrib_a_total{x="\ufffd"} 2']);
});

test('the same label values give the same child, and different values never collide', () => {
  const counter = new Metrics().counter('toolcrib_a_total', 'A.', ['x', 'y']);
  expect(counter.child('a', 'b')).toBe(counter.child('a', 'b'));
  expect(counter.child('a",y="b', 'c')).not.toBe(counter.child('a', 'b",y="c'));
});

test('series beyond ten thousand share one labelled other, and the known ones continue', () => {
  const metrics = new Metrics();
  const counter = metrics.counter('toolcrib_a_total', 'A.', ['x', 'y']);
  const first = counter.child('name-0', 'y');
  for (let index = 0; index < MAX_CHILDREN + 500; index++) counter.child(`name-${index}`, 'y').inc();
  const samples = samplesOf(metrics);
  expect(samples).toHaveLength(10_000);
  expect(samples.at(-1)).toBe('toolcrib_a_total{x="other",y="other"} 501');
  expect(counter.child('name-0', 'y')).toBe(first);
});

test('an announced series is shown with zero, and keeps its count when it is announced again', () => {
  const metrics = new Metrics();
  const calls = metrics.counter('toolcrib_calls_total', 'Calls.', ['tool']);
  const seconds = metrics.histogram('toolcrib_seconds', 'Times.', { labelNames: ['tool'], buckets: [1] });
  for (const series of [calls, seconds]) for (const tool of ['one', 'two']) series.announce(tool);
  calls.child('one').inc();
  calls.announce('one');
  expect(metrics.text()).toContain('_total{tool="one"} 1\ntoolcrib_calls_total{tool="two"} 0\n');
  expect(metrics.text()).toContain('\ntoolcrib_seconds_bucket{tool="two",le="+Inf"} 0\n');
  expect(calls.child('one').value).toBe(1);
});

test('a metric that is registered twice is the same metric', () => {
  const metrics = new Metrics();
  metrics.counter('toolcrib_a_total', 'A.', ['x']).child('1').inc();
  metrics.counter('toolcrib_a_total', 'A.', ['x']).child('1').inc();
  expect(samplesOf(metrics)).toEqual(['toolcrib_a_total{x="1"} 2']);
});

test('a histogram that is registered with other buckets starts again', () => {
  const metrics = new Metrics();
  metrics
    .histogram('toolcrib_a_seconds', 'A.', { buckets: [1] })
    .child()
    .observe(1);
  metrics.histogram('toolcrib_a_seconds', 'A.', { buckets: [2] });
  expect(samplesOf(metrics)[0]).toBe('toolcrib_a_seconds_bucket{le="2"} 0');
});

test.each<[string, (metrics: Metrics) => unknown]>([
  ['a name without our prefix', (metrics) => metrics.counter('calls_total', 'A.')],
  ['a gauge without it', (metrics) => metrics.gauge('calls', 'A.', () => 1)],
  ['a name that is none', (metrics) => metrics.gauge('toolcrib_a b', 'A.')],
  ['a label name that is none', (metrics) => metrics.gauge('toolcrib_a', 'A.', ['x-y'])],
  ['other labels', (metrics) => metrics.counter('toolcrib_known_total', 'A.', ['y'])],
  ['another kind', (metrics) => metrics.gauge('toolcrib_known_total', 'A.', ['x'])],
  ['too few values', (metrics) => metrics.counter('toolcrib_a_total', 'A.', ['x']).child()],
  ['buckets out of order', (metrics) => metrics.histogram('toolcrib_a', 'A.', { buckets: [2, 1] })],
  ['a bucket without end', (metrics) => metrics.histogram('toolcrib_a', 'A.', { buckets: [1, Infinity] })],
  [
    'a label le on a histogram',
    (metrics) => metrics.histogram('toolcrib_a', 'A.', { buckets: [1], labelNames: ['le'] }),
  ],
])('an invalid metric is refused with an error: %s', (_what, make) => {
  const metrics = new Metrics();
  metrics.counter('toolcrib_known_total', 'A.', ['x']);
  expect(() => make(metrics)).toThrow(expect.objectContaining({ code: 'invalid_setup' }));
});

function samplesOf(metrics: Metrics): string[] {
  return metrics
    .text()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, (_all, character: string) => (character === 'n' ? '\n' : character));
}
