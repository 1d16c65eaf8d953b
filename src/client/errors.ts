import { ToolcribError, type ErrorCode, type ErrorDetails } from '../base/errors.ts';
import { longIntegersAt, noteLongIntegers, notedLongIntegers } from '../base/exact-json.ts';
import { isObject } from '../base/json.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';

/** The server has no tool of that name, or none for this caller. */
export class ToolNotFound extends ToolcribError {
  override readonly name = 'ToolNotFound';
  /** The name that was asked for. */
  readonly tool: string;

  constructor(tool: string, details?: ErrorDetails) {
    super('unknown_tool', `Tool not found: ${tool}`, details);
    this.tool = tool;
  }
}

/** The arguments break the tool's schema; found before they were sent, or by the server. */
export class InvalidArguments extends ToolcribError {
  override readonly name = 'InvalidArguments';

  constructor(message: string, details?: ErrorDetails) {
    super('invalid_arguments', message, details);
  }
}

/** The tool ran and failed. */
export class ToolExecutionFailed extends ToolcribError {
  override readonly name = 'ToolExecutionFailed';

  constructor(message: string, details?: ErrorDetails) {
    super('tool_failed', message, details);
  }
}

/** The server did not answer in time; the connection stays open. */
export class ToolTimeout extends ToolcribError {
  override readonly name = 'ToolTimeout';

  constructor(message: string, details?: ErrorDetails) {
    super('timed_out', message, details);
  }
}

/** The server does not let this caller do this. */
export class PermissionDenied extends ToolcribError {
  override readonly name = 'PermissionDenied';

  constructor(message: string, details?: ErrorDetails) {
    super('refused', message, details);
  }
}

/** The caller stopped the request, or somebody its task. */
export class Cancelled extends ToolcribError {
  override readonly name = 'Cancelled';

  constructor(details?: ErrorDetails, message = 'The request was cancelled.') {
    super('cancelled', message, details);
  }
}

/** An error the server answered with, as it came. */
export class RemoteError extends ToolcribError {
  override readonly name = 'RemoteError';
  /** The whole error member, unknown fields included. */
  override readonly remote: JsonObject;

  constructor(remote: JsonObject) {
    const { code, message, data } = remote;
    const number = typeof code === 'number' ? code : undefined;
    const known = number === undefined ? undefined : CODES.get(number);
    const text = typeof message === 'string' && message !== '' ? message : 'The server gave no reason.';
    super(known ?? 'remote_error', text, {
      ...(number !== undefined && { number }),
      ...(isObject(data) && { data }),
      remote,
    });
    this.remote = remote;
    if (isObject(data)) noteLongIntegers(data, longIntegersAt(notedLongIntegers(remote), 'data'));
  }
}

/** An answer over HTTP that is not one of the protocol. */
export class HttpFailure extends ToolcribError {
  override readonly name = 'HttpFailure';
  readonly status: number;

  constructor(status: number, message: string, details?: ErrorDetails) {
    super('upstream_unavailable', message, details);
    this.status = status;
  }
}

/** A person has to sign in before the server answers. */
export class SignInNeeded extends ToolcribError {
  override readonly name = 'SignInNeeded';
  /** The page to open, where the server named one. */
  readonly url: string | undefined;
  readonly remedy: string;

  constructor(reason: string, remedy: string, url?: string) {
    super('needs_sign_in', reason, { data: { remedy, ...(url !== undefined && { url }) } });
    this.remedy = remedy;
    this.url = url;
  }
}

/** The program that is the server could not be started, or has ended. */
export class ProgramEnded extends ToolcribError {
  override readonly name = 'ProgramEnded';

  /** `said` is the end of what it wrote to its error output. */
  constructor(message: string, said: string) {
    super('upstream_unavailable', message, { ...(said !== '' && { cause: new Error(said) }) });
  }
}

const CODES: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [-32700, 'parse_error'],
  [-32600, 'invalid_request'],
  [-32601, 'unknown_method'],
  [-32602, 'invalid_params'],
  [-32603, 'internal'],
  [-32002, 'unknown_resource'],
  [-32020, 'header_mismatch'],
  [-32021, 'missing_capability'],
  [-32022, 'unsupported_version'],
]);

/** What a failed call of a tool is to its caller: the classes above, and anything else unchanged. */
export function toToolError(error: unknown, tool: string): unknown {
  if (!(error instanceof RemoteError)) return error;
  const details = {
    cause: error,
    ...(error.data && { data: error.data }),
    ...(error.number !== undefined && { number: error.number }),
  };
  if (isNotFound(error)) return new ToolNotFound(tool, details);
  if (error.number === -32602) return new InvalidArguments(error.message, details);
  return error;
}

/** A failed call of an agent in the same classes, by its code; anything else unchanged. */
export function toThrownError(error: unknown, tool: string): unknown {
  if (!(error instanceof ToolcribError) || error.name !== 'ToolcribError') return error;
  const { message, data } = error;
  const details = { cause: error, ...(data && { data }) };
  switch (error.code) {
    case 'unknown_tool':
      return new ToolNotFound(tool, details);
    case 'invalid_arguments':
      return new InvalidArguments(message, details);
    case 'refused':
      return new PermissionDenied(message, details);
    case 'timed_out':
      return new ToolTimeout(message, details);
    case 'cancelled':
      return new Cancelled(details);
    default:
      return error;
  }
}

// A number of some servers' own.
const NO_SUCH_TOOL = -32003;

// The newest texts say -32602 with a reason; others use "no such method", or a number of their own.
function isNotFound({ number, message, data }: RemoteError): boolean {
  if (number === NO_SUCH_TOOL || number === -32601) return true;
  return (
    number === -32602 &&
    (data?.['reason'] === 'tool_not_found' || /\b(?:unknown tool|tool\b.*\bnot found)\b/i.test(message))
  );
}

/** A failure in the words an agent gets: what went wrong, and nothing of how. */
export function toAgentError(error: unknown): { readonly error: string } {
  if (error instanceof ToolNotFound) return { error: `Tool not found: ${error.tool}` };
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ToolcribError) {
    if (error.code === 'unknown_tool' || error.number === NO_SUCH_TOOL)
      return { error: `Tool not found: ${message.replace(/^(?:Unknown tool|Tool not found): /i, '')}` };
    if (error.code === 'invalid_arguments' || error.number === -32602)
      return { error: `Invalid arguments: ${message}` };
  }
  return { error: `Tool execution failed: ${message}` };
}
