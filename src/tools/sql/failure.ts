import { ToolcribError, type ErrorCode } from '../../base/errors.ts';
import { sqlError, troubleOf } from './driver.ts';

/** The error of a failed query for the model. */
export interface SqlFailure {
  readonly error: 'Database query failed';
  readonly message: string;
}

/**
 * The failure of a query that is wrong; throws if the database was unavailable, busy or too slow, so that stages see
 * it.
 */
export function sqlFailure(error: unknown): SqlFailure {
  const known = troubleOf(error) ? (error as ToolcribError) : sqlError('failed', { cause: error });
  const { code, message, data, cause } = known;
  if (OUTAGES.has(code))
    throw new ToolcribError(code, `${FAILED}: ${message}`, { ...(data && { data }), cause });
  return { error: FAILED, message };
}

const FAILED = 'Database query failed';
const OUTAGES: ReadonlySet<ErrorCode> = new Set(['upstream_unavailable', 'busy', 'timed_out']);
