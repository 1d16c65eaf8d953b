import { isAbsent } from './absent-tool.ts';
import type { Call, ToolCall } from './call.ts';
import { accident, errorTable, ToolcribError, type ErrorCode } from '../base/errors.ts';
import { bound, type Bound } from './essentials/limit-time.ts';

/**
 * The error of a call whose author's function threw. Only codes for tools are kept: the client, its sign-in code and
 * the record would take any other code for one of the server.
 */
export function authorFailure(error: unknown, call: Call, name: string): Error {
  const { reason } = call.cancellation;
  // The call was stopped from outside, which is no failure of the author's function.
  if (reason && reason === error) return reason;
  const known = isOurs(error) ? error : undefined;
  if (known && mayTell(known.code, call)) return known;
  if (!known || !SAYS_WHY.has(known.code))
    return accident('tool_failed', `${name} failed unexpectedly`, error);
  const { message, data } = known;
  return new ToolcribError('tool_failed', message, {
    ...(data && { data }),
    ...('cause' in known && { cause: known.cause }),
  });
}

/** Waits for a check that an author wrote, until the call is stopped: such a check may never end. */
export function checkInTime<T>(check: Promise<T>, call: ToolCall, limit: Bound): Promise<T> {
  return bound(check, call, limit).catch((error: unknown) => {
    throw authorFailure(error, call, call.tool.name);
  });
}

// Error codes by which stages refuse a call. From a function that ran they would be wrong, so only the text is kept.
const SAYS_WHY: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'rate_limited',
  'busy',
  'key_reused',
  'outcome_unknown',
  'outcome_not_kept',
  'approval_required',
]);

// Anything can be thrown: objects whose every property fails, and errors with codes that are none.
function isOurs(error: unknown): error is ToolcribError {
  try {
    return error instanceof ToolcribError && Object.hasOwn(errorTable, error.code);
  } catch {
    return false;
  }
}

function mayTell(code: ErrorCode, call: Call): boolean {
  switch (code) {
    case 'cancelled':
      return call.cancellation.reason !== undefined;
    // The error of a question, if the client cannot be asked.
    case 'missing_capability':
      return call.interview.asked > 0;
    case 'unknown_tool':
      return call.kind === 'tool' && isAbsent(call.tool);
    case 'unknown_resource':
      return call.kind === 'resource' || call.kind === 'completion';
    case 'unknown_prompt':
      return call.kind === 'prompt' || call.kind === 'completion';
    case 'invalid_params':
      return call.kind !== 'tool';
    default:
      return errorTable[code].reply === 'result' && !SAYS_WHY.has(code);
  }
}
