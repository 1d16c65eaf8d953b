import { AsyncLocalStorage } from 'node:async_hooks';
import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as openTelemetry,
  type Context,
  type ContextManager,
} from '@opentelemetry/api';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { absentTool } from '../core/absent-tool.ts';
import type { Call, ResourceCall, ToolCall } from '../core/call.ts';
import { localCaller } from '../core/caller.ts';
import { Cancellation } from '../base/cancellation.ts';
import { ToolcribError } from '../base/errors.ts';
import { Interview } from '../core/interview.ts';
import { CallRecord } from '../core/record.ts';
import { defineResourceTemplate } from '../core/resources/resource.ts';
import { failed, type Result } from '../core/result.ts';
import type { ToolSource } from '../core/source.ts';
import { withStages } from '../core/stage.ts';
import type { Tool } from '../core/tool.ts';
import { trace } from './trace.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';
const traceparent = `00-${TRACE_ID}-${PARENT_ID}-01`;
const done: Result = { kind: 'done' };
const echo: Tool = {
  name: 'echo',
  description: '',
  inputSchema: { type: 'object', properties: {} },
  handler: () => 'unused',
};

// What the SDKs register unless told otherwise.
const w3c = new CompositePropagator({
  propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
});

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer('test');

beforeEach(() => {
  context.setGlobalContextManager(asyncContexts());
  propagation.setGlobalPropagator(w3c);
});

afterEach(() => {
  exporter.reset();
  context.disable();
  propagation.disable();
});

test('a call is one server span, named and described by the conventions for MCP', async () => {
  await staged(() => done).call(callOf(echo));
  const span = onlySpan();
  expect(span.name).toBe('tools/call echo');
  expect(span.kind).toBe(SpanKind.SERVER);
  expect(span.status).toEqual({ code: SpanStatusCode.UNSET });
  expect(span.attributes).toEqual({
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'echo',
    'mcp.protocol.version': '2026-07-28',
  });
});

test('a call continues the trace of its client', async () => {
  const call = { ...callOf(echo), meta: { traceparent } };
  await staged(() => done).call(call);
  const span = onlySpan();
  expect(span.spanContext().traceId).toBe(TRACE_ID);
  expect(span.parentSpanContext).toMatchObject({ spanId: PARENT_ID, isRemote: true });
  expect(call.record.traceId).toBe(TRACE_ID);
});

test('the tracestate and baggage of the client reach the handler', async () => {
  const meta = { traceparent, tracestate: 'rojo=00f067aa0ba902b7', baggage: 'tier=gold,broken=%E0%A4%A' };
  const seen: unknown[] = [];
  const source = staged(() => {
    seen.push(propagation.getActiveBaggage()?.getAllEntries());
    return done;
  });
  await source.call({ ...callOf(echo), meta });
  expect(onlySpan().spanContext().traceState?.serialize()).toBe('rojo=00f067aa0ba902b7');
  expect(seen).toEqual([[['tier', { value: 'gold' }]]]);
});

test('baggage that is longer than W3C allows is not read at all', async () => {
  const seen: unknown[] = [];
  const source = staged(() => (seen.push(propagation.getActiveBaggage()), done));
  const baggage = Array.from({ length: 1_000 }, (_, index) => `key${index}=value`).join(',');
  await source.call({ ...callOf(echo), meta: { traceparent, baggage } });
  expect(seen).toEqual([undefined]);
  expect(onlySpan().spanContext().traceId).toBe(TRACE_ID);
});

test('without a propagator every call begins a new trace', async () => {
  propagation.disable();
  await staged(() => done).call({ ...callOf(echo), meta: { traceparent } });
  expect(onlySpan().parentSpanContext).toBeUndefined();
});

test('without a trace of the client a new one begins, and the record has its id', async () => {
  const call = callOf(echo);
  await staged(() => done).call(call);
  const span = onlySpan();
  expect(span.parentSpanContext).toBeUndefined();
  expect(call.record.traceId).toBe(span.spanContext().traceId);
});

test.each<[string, unknown]>([
  ['cut short', traceparent.slice(0, -1)],
  ['all zeros', `00-${'0'.repeat(32)}-${PARENT_ID}-01`],
  ['upper case', traceparent.toUpperCase()],
  ['no text', { traceparent }],
  ['too long', traceparent.padEnd(10_000, '-')],
])('a traceparent that is %s is ignored', async (_what, value) => {
  await staged(() => done).call({ ...callOf(echo), meta: { traceparent: value } });
  const span = onlySpan();
  expect(span.parentSpanContext).toBeUndefined();
  expect(span.spanContext().traceId).not.toBe(TRACE_ID);
});

test('inherited members of the metadata are not read', async () => {
  const meta = Object.create({ traceparent }) as Record<string, unknown>;
  await staged(() => done).call({ ...callOf(echo), meta });
  expect(onlySpan().parentSpanContext).toBeUndefined();
});

test('any metadata of a client leaves the call working', () => {
  const reached: unknown[] = [];
  const source = staged((call) => (reached.push(call), done));
  const field = fc.oneof(fc.string(), fc.anything(), fc.constant(traceparent));
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('traceparent', 'tracestate', 'baggage', '__proto__'), field),
      (meta) => {
        expect(source.call({ ...callOf(echo), meta })).toBe(done);
      },
    ),
    { numRuns: propertyRuns() },
  );
  expect(reached).toHaveLength(propertyRuns());
});

test('a propagator that throws does not stop the call', () => {
  propagation.disable();
  propagation.setGlobalPropagator({
    fields: () => [],
    inject() {},
    extract() {
      throw new URIError('malformed');
    },
  });
  expect(staged(() => done).call(callOf(echo))).toBe(done);
  expect(onlySpan().parentSpanContext).toBeUndefined();
});

test('spans of a handler are children of the call, also after an await', async () => {
  const source = staged(async () => {
    tracer.startSpan('before').end();
    await Promise.resolve();
    tracer.startSpan('after').end();
    return done;
  });
  await source.call(callOf(echo));
  const spans = exporter.getFinishedSpans();
  const call = spans.find(({ name }) => name === 'tools/call echo')!;
  expect(spans.map(({ name }) => name)).toEqual(['before', 'after', 'tools/call echo']);
  for (const inner of spans.slice(0, 2))
    expect(inner.parentSpanContext?.spanId).toBe(call.spanContext().spanId);
});

test('an active span is the parent, unless the client names one: then the active span is linked', async () => {
  const request = tracer.startSpan('POST /mcp');
  const around = openTelemetry.setSpan(ROOT_CONTEXT, request);
  const source = staged(() => done);
  await context.with(around, () => source.call(callOf(echo)));
  await context.with(around, () => source.call({ ...callOf(echo), meta: { traceparent } }));
  const [inside, named] = exporter.getFinishedSpans();
  expect(inside?.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
  expect(inside?.links).toEqual([]);
  expect(named?.parentSpanContext?.spanId).toBe(PARENT_ID);
  expect(named?.links.map((link) => link.context.spanId)).toEqual([request.spanContext().spanId]);
});

test('a failed result has the error type of a tool error', async () => {
  await staged(() => Promise.resolve(failed('secret reason'))).call(callOf(echo));
  expectError(onlySpan(), { 'error.type': 'tool_error' });
});

test('a question to the client is not an error', async () => {
  await staged(() => ({ kind: 'needs_input', questions: new Map(), answers: new Map() })).call(callOf(echo));
  expect(onlySpan().status.code).toBe(SpanStatusCode.UNSET);
});

test('a refusal is an error with its code, synchronous or not', async () => {
  const refusal = new ToolcribError('rate_limited', 'secret reason');
  expect(() => staged(() => fail(refusal)).call(callOf(echo))).toThrow(refusal);
  await expect(staged(() => Promise.reject(refusal)).call(callOf(echo))).rejects.toBe(refusal);
  const spans = exporter.getFinishedSpans();
  expect(spans).toHaveLength(2);
  for (const span of spans) expectError(span, { 'error.type': 'rate_limited' });
});

test('a protocol error has its JSON-RPC code too', () => {
  expect(() => staged(() => fail(new ToolcribError('record_unavailable', 'No.'))).call(callOf(echo))).toThrow(
    'No.',
  );
  expectError(onlySpan(), { 'error.type': 'record_unavailable', 'rpc.response.status_code': '-32603' });
});

test('any other exception is internal', () => {
  expect(() => staged(() => fail(new TypeError('secret reason'))).call(callOf(echo))).toThrow(
    'secret reason',
  );
  expectError(onlySpan(), { 'error.type': 'internal', 'rpc.response.status_code': '-32603' });
});

test('arguments, results and error texts are not in the span', async () => {
  const call = { ...callOf(echo), arguments: { text: 'secret argument' } };
  await staged(() => ({ kind: 'done', data: 'secret result' })).call(call);
  await staged(() => failed('secret reason')).call(call);
  for (const { attributes, events, status } of exporter.getFinishedSpans())
    expect(JSON.stringify({ attributes, events, status })).not.toContain('secret');
});

test('a name made up by a caller is neither in the span name nor in the attributes', () => {
  expect(() => staged(() => done).call(callOf(absentTool('made-up')))).toThrow('Unknown tool');
  const { name, attributes } = onlySpan();
  expect(name).toBe('tools/call');
  expect(attributes).toMatchObject({ 'error.type': 'unknown_tool', 'rpc.response.status_code': '-32602' });
  expect(JSON.stringify(attributes)).not.toContain('made-up');
});

test('resource reads are spans too, without the address of a template', async () => {
  const source = staged(() => done);
  const read = (): string => 'unused';
  const plain = { uri: 'docs://terms', name: 'terms', read };
  const template = defineResourceTemplate({ uriTemplate: 'docs://{secret}', name: 'page' }, read);
  const greet = { name: 'greet', arguments: {}, get: () => 'Hello.' };
  const resource: Omit<ResourceCall, 'resource'> = {
    kind: 'resource',
    uri: 'docs://x',
    variables: {},
    ...base(),
  };
  await source.call({ ...resource, resource: plain });
  await source.call({ ...resource, resource: template });
  await source.call({ kind: 'prompt', prompt: greet, arguments: {}, ...base() });
  await source.call({
    kind: 'completion',
    target: greet,
    argument: { name: 'who', value: 'secret' },
    chosen: {},
    ...base(),
  });
  const shown = exporter.getFinishedSpans().map(({ name, attributes }) => {
    const { 'mcp.method.name': _method, 'mcp.protocol.version': _version, ...rest } = attributes;
    return [name, rest];
  });
  expect(shown).toEqual([
    ['resources/read', { 'mcp.resource.uri': 'docs://terms' }],
    ['resources/read', {}],
    ['prompts/get greet', { 'gen_ai.prompt.name': 'greet' }],
    ['completion/complete greet', { 'gen_ai.prompt.name': 'greet' }],
  ]);
});

test('the context of an unsampled trace is passed on all the same', async () => {
  const quiet = new BasicTracerProvider({
    sampler: new AlwaysOffSampler(),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const seen: unknown[] = [];
  const stage = trace({}, { tracer: quiet.getTracer('test') });
  const source = sourceOf(() => {
    seen.push(openTelemetry.getSpanContext(context.active())?.traceId);
    return done;
  });
  const call = { ...callOf(echo), meta: { traceparent } };
  await withStages(source, [stage]).call(call);
  expect(seen).toEqual([TRACE_ID]);
  expect(call.record.traceId).toBe(TRACE_ID);
  expect(exporter.getFinishedSpans()).toEqual([]);
});

test('without an SDK a call is not changed', () => {
  const call = callOf(echo);
  const seen: Context[] = [];
  const source = sourceOf(() => (seen.push(context.active()), done));
  expect(withStages(source, [trace()]).call(call)).toBe(done);
  expect(call.record.traceId).toBeUndefined();
  expect(seen).toEqual([ROOT_CONTEXT]);
});

test('unknown options are refused', () => {
  expect(() => trace({ sample: 0.5 } as never)).toThrow('sample');
});

function staged(call: ToolSource['call']): ToolSource {
  return withStages(sourceOf(call), [trace({}, { tracer })]);
}

function sourceOf(call: ToolSource['call']): ToolSource {
  return { list: () => [], find: () => undefined, call };
}

function fail(error: Error): never {
  throw error;
}

function onlySpan(): ReadableSpan {
  const spans = exporter.getFinishedSpans();
  expect(spans).toHaveLength(1);
  return spans[0]!;
}

function expectError(span: ReadableSpan, attributes: Record<string, string>): void {
  expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
  const { 'error.type': type, 'rpc.response.status_code': status } = span.attributes;
  expect({ 'error.type': type, ...(status !== undefined && { 'rpc.response.status_code': status }) }).toEqual(
    attributes,
  );
}

function asyncContexts(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, ...[run, self, ...args]) => storage.run(active, () => run.apply(self as never, args)),
    bind: (_active, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

function base(): Omit<ToolCall, 'kind' | 'tool' | 'arguments'> {
  return {
    caller: localCaller,
    client: { name: undefined, version: undefined, protocolVersion: '2026-07-28', capabilities: {} },
    meta: {},
    cancellation: new Cancellation(),
    record: new CallRecord(),
    interview: new Interview(),
    voice: {},
  };
}

function callOf(tool: Tool): Extract<Call, { kind: 'tool' }> {
  return { kind: 'tool', tool, arguments: {}, ...base() };
}
