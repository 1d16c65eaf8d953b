import { ToolcribError } from '../../base/errors.ts';

/** What an error says is damaged in a database, as a sentence; `undefined` if it is about something else. */
export function damageIn(error: unknown): string | undefined {
  const cause = error instanceof ToolcribError ? error.cause : error;
  if (!(cause instanceof Error)) return undefined;
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const missing = /no such (table|column): (\S+)/.exec(message);
  if (missing) return `The ${missing[1]} "${missing[2]}" is missing.`;
  const isDamaged = DAMAGED.some((prefix) => code.startsWith(prefix));
  return isDamaged ? `The file is damaged: ${message}.` : undefined;
}

const DAMAGED = ['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_IOERR'];
