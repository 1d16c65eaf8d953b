import { destination as openDestination, pino } from 'pino';
import { cleanText } from './clean-text.ts';
import { flatten, type Log, type LogLevel } from './log.ts';
import type { Secrets } from './secrets.ts';

const MAX_LINE_BYTES = 16_384;
const MAX_FACTS = 64;
const MAX_KEY = 128;
// Tried in turn until the line is short enough.
const TEXT_LENGTHS = [8_192, 2_048, 512, 64] as const;
// What pino writes itself: a fact of that name must not speak in its place.
const OWN_KEYS: ReadonlySet<string> = new Set(['level', 'time', 'message', '__proto__']);

/** How a log is made. */
export interface LogOptions {
  /** The least level that is written. */
  readonly level: LogLevel | 'silent';
  /** What must not be in the log. */
  readonly secrets: Secrets;
  /** Takes each line at once; standard error unless set. */
  readonly destination?: { write(line: string): void };
}

/** A log of JSON lines: exactly one for each entry, at most 16 kB, with no secret and nothing hidden in it. */
export function createLog({ level, secrets, destination = standardError() }: LogOptions): Log {
  let isTooLong = false;
  const sink = {
    write(line: string): void {
      isTooLong = Buffer.byteLength(line) > MAX_LINE_BYTES;
      if (!isTooLong) destination.write(line);
    },
  };
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  );
  return (entryLevel, message, facts) => {
    if (!logger.isLevelEnabled(entryLevel)) return;
    const plain = Object.entries(flattenSafely(facts)).slice(0, MAX_FACTS);
    for (const length of TEXT_LENGTHS) {
      const show = (text: string): string => shorten(showText(text, secrets), length);
      logger[entryLevel](toFields(plain, show, secrets), show(message));
      if (!isTooLong) return;
    }
    logger[entryLevel]({ facts: '[left out: too long]' }, shorten(showText(message, secrets), 64));
  };
}

function standardError(): { write(line: string): void } {
  const stream = openDestination({ dest: 2, sync: true });
  // Where nobody reads the log any more there is nobody to tell.
  stream.on('error', () => {});
  return { write: (line) => void stream.write(line) };
}

function toFields(
  facts: readonly (readonly [key: string, value: unknown])[],
  show: (text: string) => string,
  secrets: Secrets,
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of facts) {
    const name = show(key).slice(0, MAX_KEY);
    const shown = typeof value === 'number' ? secrets.redactNumber(value) : value;
    fields[OWN_KEYS.has(name) ? `${name}_` : name] = typeof shown === 'string' ? show(shown) : shown;
  }
  return fields;
}

// Showing a value may run code of whoever made it.
function flattenSafely(facts: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  try {
    return flatten(facts);
  } catch {
    return { facts: '[cannot be shown]' };
  }
}

// Escaped, so that an attack can be seen; unless a secret comes to light without the invisible letters in it.
function showText(text: string, secrets: Secrets): string {
  const clean = cleanText(text);
  const safe = secrets.redact(clean);
  if (clean === text) return safe;
  // Before cleaning too, which may take a part of a secret along and leave the rest.
  const whole = secrets.redact(text);
  return safe === clean ? whole.replaceAll(UNSEEN, escapeLetter) : secrets.redact(cleanText(whole));
}

const UNSEEN = /[^\P{Cc}\t\n]|[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Cs}\u2028\u2029\u2800]/gu;

function escapeLetter(letter: string): string {
  const code = letter.codePointAt(0)!.toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : cleanText(`${text.slice(0, length)}… (${text.length} characters)`);
}
