import {
  context,
  SpanKind,
  SpanStatusCode,
  trace as openTelemetry,
  type Attributes,
  type Context,
  type Tracer,
} from '@opentelemetry/api';
import type { RunSpan, RunSpans } from './run-spans.ts';

/** The options of `traceRuns`. */
export interface TraceRunsOptions {
  /** Creates the spans; the registered SDK's tracer unless given. */
  readonly tracer?: Tracer;
  /** Whether prompts, answers, arguments and results are recorded too; they are not unless set. */
  readonly content?: boolean;
}

/** Spans of runs, turns and calls in OpenTelemetry's GenAI conventions. */
export function traceRuns(options: TraceRunsOptions = {}): RunSpans {
  const { tracer = openTelemetry.getTracer('toolcrib'), content = false } = options;
  // A span of ours carries its context, so that nesting works without a context manager too.
  const contexts = new WeakMap<RunSpan, Context>();
  return {
    hasContent: content,
    start(kind, target, { parent, attributes }) {
      const around = (parent && contexts.get(parent)) ?? context.active();
      const span = tracer.startSpan(
        `${kind} ${target}`,
        {
          kind: kind === 'chat' ? SpanKind.CLIENT : SpanKind.INTERNAL,
          attributes: { 'gen_ai.operation.name': kind, ...attributes },
        },
        around,
      );
      const inside = openTelemetry.setSpan(around, span);
      const made: RunSpan = {
        within: (work) => context.with(inside, work),
        set: (more) => void span.setAttributes(more as Attributes),
        end(errorType) {
          if (errorType !== undefined) {
            span.setAttribute('error.type', errorType);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
      contexts.set(made, inside);
      return made;
    },
  };
}
