import type { Caller } from './caller.ts';
import type { Cancellation } from './cancellation.ts';
import type { Tool } from './tool.ts';

/** What the client said of itself with this request: shown and logged, never trusted. */
export interface ClientFacts {
  readonly name: string | undefined;
  readonly version: string | undefined;
  /** The revision spoken with it; absent inside one process. */
  readonly protocolVersion: string | undefined;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** How far a call has come. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** One call of a tool on its way; a stage passes on a changed copy. */
export interface ToolCall {
  readonly kind: 'tool';
  readonly tool: Tool;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly client: ClientFacts;
  /** The request's `_meta`, as sent. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly cancellation: Cancellation;
  /** Tells the client how far the call is; absent when it did not ask. */
  readonly report: ((progress: Progress) => void) | undefined;
}

/** One call on its way, by kind. */
export type Call = ToolCall;
