import type { ToolAnnotations } from '../../core/tool.ts';
import type { Awaitable } from '../../base/awaitable.ts';

/**
 * How freely tools run: `strict` asks before every call, `balanced` before every call that is not proven to be
 * read-only, `restricted` refuses those instead of asking, and `autonomous` asks nothing.
 */
export type SafetyMode = 'strict' | 'balanced' | 'restricted' | 'autonomous';

/** A call that waits for a person, as it would be made. */
export interface DecisionRequest {
  /** Names the call in the record. */
  readonly id: string;
  /** Whose call it is. */
  readonly tenant: string;
  readonly caller: string;
  /** The tool, by the name the model knows. */
  readonly tool: string;
  /** The server it belongs to, by the operator's name for it; `undefined` for a tool of this process. */
  readonly server: string | undefined;
  readonly description: string;
  /** The arguments that would be sent: checked, with defaults filled in. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The same to the letter, as JSON, with every digit of long numbers; `undefined` where they are no JSON. */
  readonly exactArguments: string | undefined;
  readonly hints: ToolAnnotations;
  /** Whether the hints may be believed. */
  readonly isTrusted: boolean;
  /** The arguments of the last call of this tool that a person saw, to show what is different now. */
  readonly previous: Readonly<Record<string, unknown>> | undefined;
  /** The tools that "always" for the server would cover. */
  readonly serverTools: readonly string[];
  /** Aborted when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** How far "always" reaches. */
export type GrantScope = 'call' | 'tool' | 'server';

/** What a person decided. */
export type Decision =
  | 'allow'
  | 'deny'
  /** The model gets the reason. */
  | { readonly kind: 'deny'; readonly reason: string }
  /** Not asked again for this very call, this tool or this server; an hour unless set. */
  | { readonly kind: 'allowAlways'; readonly scope: GrantScope; readonly minutes?: number }
  /** Made with these arguments instead, which are checked again. */
  | { readonly kind: 'edit'; readonly arguments: Readonly<Record<string, unknown>> };

/** Asks a person about one call. */
export type OnToolCall = (request: DecisionRequest) => Awaitable<Decision>;
