/**
 * Who reads an error: the model, the client program, the client's sign-in code, or the developer who starts the
 * process.
 */
export type Audience = 'result' | 'error' | 'challenge' | 'developer';

interface Row {
  readonly reply: Audience;
  /** The JSON-RPC error number, for errors that are sent as JSON-RPC errors. */
  readonly number?: number;
  /** The HTTP status, for 2026-07-28 and for refusals before a message is read. */
  readonly status?: number;
}

/** Every error code; docs/errors.md has a row for each. */
export const errorTable = {
  invalid_arguments: { reply: 'result' },
  invalid_output: { reply: 'result' },
  cannot_ask: { reply: 'result' },
  timed_out: { reply: 'result' },
  refused: { reply: 'result' },
  rate_limited: { reply: 'result' },
  busy: { reply: 'result' },
  result_too_large: { reply: 'result' },
  upstream_unavailable: { reply: 'result' },
  key_reused: { reply: 'result' },
  outcome_unknown: { reply: 'result' },
  outcome_not_kept: { reply: 'result' },
  approval_required: { reply: 'result' },
  tool_failed: { reply: 'result' },
  invalid_answer: { reply: 'result' },
  needs_sign_in: { reply: 'result' },

  parse_error: { reply: 'error', number: -32700, status: 400 },
  invalid_request: { reply: 'error', number: -32600, status: 400 },
  unknown_method: { reply: 'error', number: -32601, status: 404 },
  invalid_params: { reply: 'error', number: -32602 },
  unknown_tool: { reply: 'error', number: -32602 },
  unknown_resource: { reply: 'error', number: -32602 },
  unknown_prompt: { reply: 'error', number: -32602 },
  unknown_task: { reply: 'error', number: -32602 },
  invalid_state: { reply: 'error', number: -32602 },
  wait_ended: { reply: 'error', number: -32602 },
  incomplete_meta: { reply: 'error', number: -32602, status: 400 },
  internal: { reply: 'error', number: -32603 },
  record_unavailable: { reply: 'error', number: -32603, status: 503 },
  header_mismatch: { reply: 'error', number: -32020, status: 400 },
  missing_capability: { reply: 'error', number: -32021, status: 400 },
  unsupported_version: { reply: 'error', number: -32022, status: 400 },
  cancelled: { reply: 'error', number: -32603 },
  remote_error: { reply: 'error', number: -32603 },

  refused_origin: { reply: 'error', number: -32600, status: 403 },
  not_found: { reply: 'error', number: -32600, status: 404 },
  method_not_allowed: { reply: 'error', number: -32600, status: 405 },
  not_acceptable: { reply: 'error', number: -32600, status: 406 },
  unknown_session: { reply: 'error', number: -32600, status: 404 },
  stream_taken: { reply: 'error', number: -32600, status: 409 },
  too_large: { reply: 'error', number: -32600, status: 413 },
  unsupported_media: { reply: 'error', number: -32600, status: 415 },
  too_many: { reply: 'error', number: -32600, status: 429 },

  unauthenticated: { reply: 'challenge', number: -32600, status: 401 },
  insufficient_scope: { reply: 'challenge', number: -32600, status: 403 },

  invalid_tool: { reply: 'developer' },
  invalid_setup: { reply: 'developer' },
  invalid_config: { reply: 'developer' },
  sign_in_failed: { reply: 'developer' },
} as const satisfies Record<string, Row>;

/** A code from the error table. */
export type ErrorCode = keyof typeof errorTable;

/** Extra facts of an error: `data` is sent to the client, `cause` is only logged. */
export interface ErrorDetails {
  readonly data?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
  /** The id that connects a response without details to its log entry. */
  readonly incident?: string;
  /** The JSON-RPC number another server gave, where it is not the code's own. */
  readonly number?: number;
  /** The whole error of another server, members of later revisions included. */
  readonly remote?: Readonly<Record<string, unknown>>;
}

/** The one error class. Its message is sent to the reader and holds no path, stack, host or secret. */
export class ToolcribError extends Error {
  override readonly name: string = 'ToolcribError';
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly incident: string | undefined;
  /** The JSON-RPC number another server gave; else it is the one of the code. */
  readonly number: number | undefined;
  /** The whole error another server answered with; what is not of our own is sent on as it came. */
  readonly remote: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.data = details.data;
    this.incident = details.incident;
    this.number = details.number;
    this.remote = details.remote;
  }
}

/** The table row of a code. */
export function rowOf(code: ErrorCode): Row {
  return errorTable[code];
}

/** Any thrown value as a `ToolcribError`; anything else becomes an internal error. */
export function knownError(error: unknown): ToolcribError {
  if (error instanceof ToolcribError) return error;
  return accident('internal', 'The server failed unexpectedly', error);
}

/** An unexpected exception as an error without details; its incident id is in the response and in the log. */
export function accident(code: 'tool_failed' | 'internal', what: string, cause: unknown): ToolcribError {
  const incident = crypto.randomUUID().slice(0, 8);
  return new ToolcribError(code, `${what} (incident ${incident}).`, { cause, incident });
}
