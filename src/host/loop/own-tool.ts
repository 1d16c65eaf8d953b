import type { ModelTool, Part } from '../models/model.ts';

/** The result of a call for the model. */
export interface ToldResult {
  readonly content: readonly Part[];
  readonly isError: boolean;
}

/** What a tool of the host is called with, beside its arguments. */
export interface OwnCall {
  readonly id: string;
  readonly signal: AbortSignal;
}

/** A tool of the host itself, which no server has a part in. */
export interface OwnTool {
  readonly definition: ModelTool;
  /** Whether other calls may run at the same time. */
  readonly isHarmless: boolean;
  call(args: Readonly<Record<string, unknown>>, call: OwnCall): ToldResult | Promise<ToldResult>;
}

/** A failure in words for the model. */
export function toldFailure(text: string): ToldResult {
  return { content: [{ type: 'text', text }], isError: true };
}
