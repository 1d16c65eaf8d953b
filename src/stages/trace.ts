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

/** What the `trace` stage needs. */
export interface TraceParts {
  /** Creates the spans; the registered SDK's tracer unless given. */
  readonly tracer?: Tracer;
}

/** Creates one span per call, as part of the trace the client sent. */
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

/** The name of a span and its initial attributes. */
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
  // Without an SDK there is no trace to pass on.
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
  // The client's span is the parent; the transport's span is linked, because one request may carry several calls.
  return tracer.startSpan(about.name, { ...about.options, links: [{ context: around }] }, parent);
}

// The operator's propagators decide what is trusted; nothing a client sends may fail its call.
function parentOf({ meta }: Call, ambient: Context): Context {
  try {
    return propagation.extract(ambient, meta, fromMeta);
  } catch {
    return ambient;
  }
}

// The W3C limit for baggage.
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

// Without a message: the text of an error may repeat what was sent.
function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function aboutTool(tool: Tool): About {
  const operation = { 'gen_ai.operation.name': 'execute_tool' };
  // A name made up by a caller is recorded, but must not become a span name.
  if (absentTools.has(tool)) return aboutMethod('tools/call', undefined, operation);
  return aboutMethod('tools/call', tool.name, { ...operation, 'gen_ai.tool.name': tool.name });
}

function aboutReading(call: Reading): About {
  switch (call.kind) {
    case 'resource':
      // The URI of a template contains arguments, which are not shown; nor is a URI made up by a caller.
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
