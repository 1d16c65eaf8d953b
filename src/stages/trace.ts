import {
  context,
  INVALID_TRACEID,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace as openTelemetry,
  type Attributes,
  type Context,
  type Span,
  type SpanOptions,
  type TextMapGetter,
  type Tracer,
} from '@opentelemetry/api';
import type { z } from 'zod';
import { absentReadings, absentTools } from '../core/absent-tool.ts';
import type { Call, Reading } from '../core/call.ts';
import { rowOf, ToolcribError } from '../base/errors.ts';
import type { Result } from '../core/result.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { Next, Stage } from '../core/stage.ts';
import type { Tool } from '../core/tool.ts';
import { traceOptions } from './trace-options.ts';

export { traceOptions } from './trace-options.ts';

/** What the `trace` stage works with. */
export interface TraceParts {
  /** Makes the spans; the one of the registered SDK unless given. */
  readonly tracer?: Tracer;
}

/** Makes one span of each call, as part of the trace the client sent along. */
export function trace(options: z.input<typeof traceOptions> = {}, parts: TraceParts = {}): Stage {
  traceOptions.parse(options, { jitless: true });
  const { tracer = openTelemetry.getTracer('toolcrib') } = parts;
  return {
    name: 'trace',
    wrap(tool, next) {
      const tracing = { tracer, about: aboutTool(tool) };
      return (call) => follow(call, next, tracing);
    },
    wrapReading: (next) => (call) => follow(call, next, { tracer, about: aboutReading(call) }),
  };
}

/** What a span is called, and what it says from the start. */
interface About {
  readonly name: string;
  readonly options: SpanOptions & { readonly attributes: Attributes };
}

interface Tracing {
  readonly tracer: Tracer;
  readonly about: About;
}

function follow<C extends Call>(call: C, next: Next<C>, tracing: Tracing): Awaitable<Result> {
  const ambient = context.active();
  const parent = parentOf(call, ambient);
  const span = startSpan(tracing, parent, ambient);
  const { traceId } = span.spanContext();
  // Without an SDK nobody follows, and there is nothing to hand on.
  if (traceId === INVALID_TRACEID) return next(call);

  call.record.traceId = traceId;
  const { protocolVersion } = call.client;
  if (protocolVersion !== undefined) span.setAttribute('mcp.protocol.version', protocolVersion);
  let result: Awaitable<Result>;
  try {
    result = context.with(openTelemetry.setSpan(parent, span), next, undefined, call);
  } catch (error) {
    endThrown(span, error);
    throw error;
  }
  if (result instanceof Promise) return followLater(span, result);
  endWith(span, result);
  return result;
}

async function followLater(span: Span, ending: Promise<Result>): Promise<Result> {
  try {
    const result = await ending;
    endWith(span, result);
    return result;
  } catch (error) {
    endThrown(span, error);
    throw error;
  }
}

function startSpan({ tracer, about }: Tracing, parent: Context, ambient: Context): Span {
  const around = parent === ambient ? undefined : openTelemetry.getSpanContext(ambient);
  if (!around || around === openTelemetry.getSpanContext(parent))
    return tracer.startSpan(about.name, about.options, parent);
  // The client's span is the parent; the one of the transport is linked, because one request may carry several calls.
  return tracer.startSpan(about.name, { ...about.options, links: [{ context: around }] }, parent);
}

// The operator's propagators decide what of it is believed; nothing a client sends may stop its call.
function parentOf({ meta }: Call, ambient: Context): Context {
  try {
    return propagation.extract(ambient, meta, fromMeta);
  } catch {
    return ambient;
  }
}

// As long as W3C lets baggage be.
const MAX_FIELD_LENGTH = 8_192;

const fromMeta: TextMapGetter<Call['meta']> = {
  keys: (meta) => Object.keys(meta),
  get(meta, key) {
    const value = Object.hasOwn(meta, key) ? meta[key] : undefined;
    return typeof value === 'string' && value.length <= MAX_FIELD_LENGTH ? value : undefined;
  },
};

function endWith(span: Span, result: Result): void {
  if (result.kind === 'failed') markFailed(span, 'tool_error');
  span.end();
}

function endThrown(span: Span, error: unknown): void {
  const code = error instanceof ToolcribError ? error.code : 'internal';
  const { reply, number } = rowOf(code);
  markFailed(span, code);
  if (reply !== 'result' && number !== undefined)
    span.setAttribute('rpc.response.status_code', String(number));
  span.end();
}

// Without a message: an error's text may repeat what was sent.
function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function aboutTool(tool: Tool): About {
  const operation = { 'gen_ai.operation.name': 'execute_tool' };
  // A name that a caller made up belongs in the record, not in a list of span names.
  if (absentTools.has(tool)) return aboutMethod('tools/call', undefined, operation);
  return aboutMethod('tools/call', tool.name, { ...operation, 'gen_ai.tool.name': tool.name });
}

function aboutReading(call: Reading): About {
  switch (call.kind) {
    case 'resource':
      // The address of a template holds arguments, and those are not shown; nor is one that a caller made up.
      return 'uriTemplate' in call.resource || absentReadings.has(call.resource)
        ? aboutMethod('resources/read')
        : aboutMethod('resources/read', undefined, { 'mcp.resource.uri': call.resource.uri });
    case 'prompt':
      if (absentReadings.has(call.prompt)) return aboutMethod('prompts/get');
      return aboutMethod('prompts/get', call.prompt.name, { 'gen_ai.prompt.name': call.prompt.name });
    case 'completion':
      return 'uriTemplate' in call.target || absentReadings.has(call.target)
        ? aboutMethod('completion/complete')
        : aboutMethod('completion/complete', call.target.name, { 'gen_ai.prompt.name': call.target.name });
  }
}

function aboutMethod(method: string, target?: string, attributes?: Attributes): About {
  return {
    name: target === undefined ? method : `${method} ${target}`,
    options: { kind: SpanKind.SERVER, attributes: { 'mcp.method.name': method, ...attributes } },
  };
}
