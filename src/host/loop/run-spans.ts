/** A piece of work that is being traced. */
export interface RunSpan {
  /** Does work as a part of this piece. */
  within<T>(work: () => T): T;
  set(attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>): void;
  /** Ends it; a type says that it failed. */
  end(errorType?: string): void;
}

/** What is traced, in the words of the GenAI conventions. */
export type SpanKindName = 'invoke_agent' | 'chat' | 'execute_tool';

/** Where spans of runs go; `traceRuns` of `toolcrib/trace` makes one. */
export interface RunSpans {
  /** Whether prompts, answers, arguments and results are attributes too. */
  readonly hasContent: boolean;
  start(
    kind: SpanKindName,
    target: string,
    options: {
      readonly parent: RunSpan | undefined;
      readonly attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>;
    },
  ): RunSpan;
}

const NO_SPAN: RunSpan = { within: (work) => work(), set: () => {}, end: () => {} };

/** Traces nothing. */
export const noSpans: RunSpans = { hasContent: false, start: () => NO_SPAN };
