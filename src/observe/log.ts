import { inspect } from 'node:util';

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
