import { inspect } from 'node:util';
import { isThenable } from '../base/awaitable.ts';

/** How bad a log entry is. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Where a server writes what its operator should know; a message, and facts beside it. */
export type Log = (level: LogLevel, message: string, facts?: Readonly<Record<string, unknown>>) => void;

/** One JSON line per entry on standard error: standard output belongs to the protocol. */
export const stderrLog: Log = (level, message, facts) => {
  process.stderr.write(
    `${JSON.stringify({ time: new Date().toISOString(), level, message, ...flatten(facts) })}\n`,
  );
};

/** The same log, for those who must not fail because it does: what it cannot take goes to standard error, without its facts. */
export function steadyLog(log: Log): Log {
  const fallBack = (level: LogLevel, message: string): void => {
    try {
      stderrLog(level, message, { log: 'The log failed, so the facts of this entry are missing.' });
    } catch {
      // Nothing is left to say it with.
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

/** Facts as plain values: whatever is not one becomes text, with its causes. */
export function flatten(facts: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [key, isPlain(value) ? value : inspect(value, WHOLE)]),
  );
}

// A text that is broken into pieces could hide a secret from whoever looks for it.
const WHOLE = { breakLength: Infinity };

// Whatever else was thrown may be circular, or have no JSON at all; its causes are worth reading too.
function isPlain(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value);
}
