import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Clean } from '../../core/call.ts';
import type { Cleaner } from './cleaner.ts';

/** Cleans the messages of a call before its result: progress and log entries. */
export function createClean(cleaner: Cleaner): Clean {
  const clean = <T>(said: T): T => {
    cleaner.bytes = 0;
    if (!isObject(said) || !('progressToken' in said)) return cleaner.data(said);
    // The progress token is the client's own and must be returned unchanged.
    const { message } = said as { message?: unknown };
    const cleaned = cleaner.data(message);
    return cleaned === message ? said : { ...said, message: cleaned };
  };
  return <T>(said: T): T => {
    try {
      return clean(said);
    } catch (error) {
      // A message on the way must not end its call.
      if (!(error instanceof ToolcribError) || !isObject(said)) throw error;
      const { message: _message, data: _data, ...rest } = said as Record<string, unknown>;
      return { ...rest, ...('data' in said && { data: TOO_LARGE }) } as T;
    }
  };
}

const TOO_LARGE = '[left out: larger than this server sends]';
