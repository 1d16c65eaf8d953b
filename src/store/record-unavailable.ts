import { ToolcribError } from '../base/errors.ts';

/** The error for a call that cannot be recorded; the cause is only logged. */
export function recordUnavailable(cause?: string): ToolcribError {
  const text = 'Calls cannot be put on record now, so none goes through; try again later.';
  return new ToolcribError(
    'record_unavailable',
    text,
    cause === undefined ? {} : { cause: new Error(cause) },
  );
}
