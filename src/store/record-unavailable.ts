import { ToolcribError } from '../base/errors.ts';

/** The answer to a call that cannot be put on record; the cause is for the log alone. */
export function recordUnavailable(cause?: string): ToolcribError {
  const text = 'Calls cannot be put on record now, so none goes through; try again later.';
  return new ToolcribError(
    'record_unavailable',
    text,
    cause === undefined ? {} : { cause: new Error(cause) },
  );
}
