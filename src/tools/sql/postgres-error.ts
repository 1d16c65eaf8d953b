import type { ToolcribError } from '../../base/errors.ts';
import { sqlError, type SqlTrouble } from './driver.ts';

/**
 * An error of the server or its library as our own; a position in the statement is counted without the text in front of
 * it.
 */
export function postgresError(cause: unknown, prefixLength = 0): ToolcribError {
  const { code = '', position } = cause as DatabaseError;
  const place = position === undefined ? undefined : Number(position) - prefixLength;
  return sqlError(troubleFor(code), { cause, ...(place !== undefined && place > 0 && { position: place }) });
}

interface DatabaseError {
  readonly code?: string;
  readonly position?: string;
}

function troubleFor(code: string): SqlTrouble {
  const [, trouble] = CODES.find(([pattern]) => pattern.test(code)) ?? [];
  return trouble ?? 'failed';
}

// By the classes and codes in PostgreSQL's appendix on error codes.
const CODES: readonly (readonly [RegExp, SqlTrouble])[] = [
  [/^57014$/, 'timed_out'],
  [/^(55P03|53...)$/, 'busy'],
  [/^08P01$/, 'invalid_statement'],
  [/^(08...|57P..|28...|3D...|E[A-Z]+)$/, 'unavailable'],
  [/^(42P01|3F000)$/, 'unknown_table'],
  [/^42703$/, 'unknown_column'],
  [/^(42501|25...|0A...)$/, 'not_permitted'],
  [/^(22...|42883|42804|42P18)$/, 'unfit_value'],
  [/^54...$/, 'too_large'],
  [/^42...$/, 'invalid_statement'],
];
