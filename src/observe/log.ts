import { inspect } from 'node:util';
import { isThenable } from '../base/awaitable.ts';

/** The severity of a log entry. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Writes a message and facts for the operator. */
export type Log = (level: LogLevel, message: string, facts?: Readonly<Record<string, unknown>>) => void;

/** Writes one JSON line per entry to standard error: standard output belongs to the protocol. */
export const stderrLog: Log = (level, message, facts) => {
  process.stderr.write(
    `${JSON.stringify({ time: new Date().toISOString(), level, message, ...flatten(facts) })}\n`,
  );
};

/** A log that never throws: an entry the given log fails on is written to standard error, without its facts. */
export function steadyLog(log: Log): Log {
  const fallBack = (level: LogLevel, message: string): void => {
    try {
      stderrLog(level, message, { log: 'The log failed, so the facts of this entry are missing.' });
    } catch {
      // No way is left to report it.
    }
  };
  return (level, message, facts) => {
    try {
      const written = log(level, message, facts) as unknown;
      if (isThenable(written)) written.then(undefined, () => fallBack(level, message));
    } catch {
      fallBack(level, message);
    }
  };
}

/** Facts as plain values: anything else becomes text, with its causes. */
export function flatten(facts: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [key, isPlain(value) ? value : inspect(value, WHOLE)]),
  );
}

// Line breaks inside a secret would hide it from redaction.
const WHOLE = { breakLength: Infinity };

// Other values may be circular or have no JSON form; as text, their causes are readable too.
function isPlain(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value);
}
