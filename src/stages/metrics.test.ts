import { expect, test } from 'vitest';
import { absentTool } from '../core/absent-tool.ts';
import type { PromptCall, ToolCall } from '../core/call.ts';
import { localCaller } from '../core/caller.ts';
import { Cancellation } from '../base/cancellation.ts';
import { ToolcribError } from '../base/errors.ts';
import { Interview } from '../core/interview.ts';
import { CallRecord } from '../core/record.ts';
import type { Result } from '../core/result.ts';
import type { ToolSource } from '../core/source.ts';
import { withStages, type Stage } from '../core/stage.ts';
import type { Tool } from '../core/tool.ts';
import { Metrics } from '../observe/metrics.ts';
import { createFakeClock } from '../testing.ts';
import { metrics } from './metrics.ts';

const echo = toolCalled('echo');
const done: Result = { kind: 'done' };

test('a call is counted by tool and outcome', async () => {
  const registry = new Metrics();
  const answers = [done, { kind: 'failed' }, { kind: 'needs_input' }, Promise.resolve(done)];
  const source = staged(() => answers.shift() as Result, metrics({}, { metrics: registry }));
  for (let call = 0; call < 4; call++) await source.call(callOf(echo));
  expect(callsIn(registry)).toEqual({ 'echo done': 2, 'echo failed': 1, 'echo needs_input': 1 });
});

test('a refusal is counted under its code and passed on, synchronously or not', async () => {
  const registry = new Metrics();
  const refusal = new ToolcribError('rate_limited', 'Slow down.');
  const stage = metrics({}, { metrics: registry });
  const atOnce = staged(() => {
    throw refusal;
  }, stage);
  const later = staged(() => Promise.reject(refusal), stage);
  expect(() => atOnce.call(callOf(echo))).toThrow(refusal);
  await expect(later.call(callOf(echo))).rejects.toBe(refusal);
  expect(callsIn(registry)).toEqual({ 'echo rate_limited': 2 });
});

test('another exception is counted as internal', () => {
  const registry = new Metrics();
  const source = staged(
    () => {
      throw new TypeError('secret-name');
    },
    metrics({}, { metrics: registry }),
  );
  expect(() => source.call(callOf(echo))).toThrow('secret-name');
  expect(callsIn(registry)).toEqual({ 'echo internal': 1 });
  expect(registry.text()).not.toContain('secret-name');
});

test('the duration of a call is counted in buckets', async () => {
  const registry = new Metrics();
  const clock = createFakeClock();
  const source = staged(
    () => {
      clock.advance(750);
      return done;
    },
    metrics({ buckets: [0.5, 1] }, { metrics: registry, clock }),
  );
  await source.call(callOf(echo));
  expect(registry.text()).toContain(
    [
      'toolcrib_call_seconds_bucket{tool="echo",le="0.5"} 0',
      'toolcrib_call_seconds_bucket{tool="echo",le="1"} 1',
      'toolcrib_call_seconds_bucket{tool="echo",le="+Inf"} 1',
      'toolcrib_call_seconds_sum{tool="echo"} 0.75',
      'toolcrib_call_seconds_count{tool="echo"} 1',
    ].join('\n'),
  );
});

test('running calls are counted', async () => {
  const registry = new Metrics();
  const { promise, resolve, reject } = promiseWithEnds();
  const source = staged(() => promise, metrics({}, { metrics: registry }));
  const first = source.call(callOf(echo));
  expect(registry.text()).toContain('\ntoolcrib_calls_under_way 1\n');
  resolve(done);
  await first;
  expect(registry.text()).toContain('\ntoolcrib_calls_under_way 0\n');
  reject(new Error('too late'));
});

test('a synchronous call stays synchronous', () => {
  const source = staged(() => done, metrics({}, { metrics: new Metrics() }));
  expect(source.call(callOf(echo))).toBe(done);
});

test('resource reads and prompts are counted by their kind', async () => {
  const registry = new Metrics();
  await staged(() => done, metrics({}, { metrics: registry })).call(promptCall());
  expect(callsIn(registry)).toEqual({ 'prompt done': 1 });
});

test('names made up by callers share one label', () => {
  const registry = new Metrics();
  const source = staged(() => done, metrics({}, { metrics: registry }));
  attack(source);
  expect(callsIn(registry)).toEqual({ '(unknown) unknown_tool': 1_000 });
  expect(registry.text()).not.toContain('made-up');
});

test('control: a stage that uses the sent name as a label makes a series for every name', () => {
  const registry = new Metrics();
  const counter = registry.counter('toolcrib_calls_total', 'Calls.', ['tool', 'outcome']);
  const naive: Stage = {
    name: 'naive',
    wrap: (tool, next) => (call) => {
      counter.child(tool.name, 'done').inc();
      return next(call);
    },
  };
  attack(staged(() => done, naive));
  expect(Object.keys(callsIn(registry))).toHaveLength(1_000);
});

test('no metric names a caller', async () => {
  const registry = new Metrics();
  const tenant = { ...localCaller.tenant, id: 'acme-7' };
  const call = { ...callOf(echo), caller: { ...localCaller, id: 'ada-7', tenant } };
  await staged(() => done, metrics({}, { metrics: registry })).call(call);
  expect(registry.text()).not.toMatch(/acme-7|ada-7/);
});

test('counts continue when the stages are rebuilt', async () => {
  const registry = new Metrics();
  await staged(() => done, metrics({}, { metrics: registry })).call(callOf(echo));
  await staged(() => done, metrics({}, { metrics: registry })).call(callOf(toolCalled('echo')));
  expect(callsIn(registry)).toEqual({ 'echo done': 2 });
});

test('unknown and invalid options are refused', () => {
  const parts = { metrics: new Metrics() };
  expect(() => metrics({ bucket: [1] } as never, parts)).toThrow('bucket');
  expect(() => metrics({ buckets: [2, 1] }, parts)).toThrow('ascending order');
});

function attack(source: ToolSource): void {
  for (let index = 0; index < 1_000; index++) {
    expect(() => source.call(callOf(absentTool(`made-up-${index}`)))).toThrow('Unknown tool');
  }
}

function staged(call: ToolSource['call'], stage: Stage): ToolSource {
  return withStages({ list: () => [], find: () => undefined, call }, [stage]);
}

// What never happened is left out.
function callsIn(registry: Metrics): Record<string, number> {
  const found = registry.text().matchAll(/^toolcrib_calls_total\{tool="(.*)",outcome="(.*)"\} ([1-9]\d*)$/gm);
  return Object.fromEntries(
    Array.from(found, ([, tool, outcome, count]) => [`${tool} ${outcome}`, Number(count)]),
  );
}

function promiseWithEnds(): {
  readonly promise: Promise<Result>;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
} {
  let ends!: { resolve: (result: Result) => void; reject: (error: Error) => void };
  const promise = new Promise<Result>((resolve, reject) => (ends = { resolve, reject }));
  return { promise, ...ends };
}

function toolCalled(name: string): Tool {
  return { name, description: '', inputSchema: { type: 'object', properties: {} }, handler: () => 'unused' };
}

function base(): Omit<ToolCall, 'kind' | 'tool' | 'arguments'> {
  return {
    caller: localCaller,
    client: { name: undefined, version: undefined, protocolVersion: undefined, capabilities: {} },
    meta: {},
    cancellation: new Cancellation(),
    record: new CallRecord(),
    interview: new Interview(),
    voice: {},
  };
}

function callOf(tool: Tool): ToolCall {
  return { kind: 'tool', tool, arguments: {}, ...base() };
}

function promptCall(): PromptCall {
  return {
    kind: 'prompt',
    prompt: { name: 'greet', arguments: {}, get: () => 'Hello.' },
    arguments: {},
    ...base(),
  };
}
