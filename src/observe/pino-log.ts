import { destination as openDestination, pino } from 'pino';
import { cleanText } from './clean-text.ts';
import { flatten, type Log, type LogLevel } from './log.ts';
import type { Secrets } from './secrets.ts';
import { terminalLine } from './terminal-line.ts';

const MAX_LINE_BYTES = 16_384;
const MAX_FACTS = 64;
const MAX_KEY = 128;
// Tried in turn until the line is short enough.
const TEXT_LENGTHS = [8_192, 2_048, 512, 64] as const;
// Keys pino writes itself; a fact must not replace them.
const OWN_KEYS: ReadonlySet<string> = new Set(['level', 'time', 'message', '__proto__']);

/** The options of a log. */
export interface LogOptions {
  /** The lowest level that is written. */
  readonly level: LogLevel | 'silent';
  /** Secrets to keep out of the log. */
  readonly secrets: Secrets;
  /** Receives each line; standard error unless set, in a form for people if that is a terminal. */
  readonly destination?: { write(line: string): void };
}

/** A log of JSON lines: exactly one per entry, at most 16 kB, without secrets or invisible characters. */
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
  // If standard error is closed, there is nowhere to report it.
  stream.on('error', () => {});
  if (!process.stderr.isTTY) return { write: (line) => void stream.write(line) };
  const hasColours = !process.env['NO_COLOR'];
  return { write: (line) => void stream.write(terminalLine(line, hasColours)) };
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

// Converting a value to text may run code of its author.
function flattenSafely(facts: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  try {
    return flatten(facts);
  } catch {
    return { facts: '[cannot be shown]' };
  }
}

// Escaped, so that an attack is visible; unless removing the invisible characters reveals a secret.
function showText(text: string, secrets: Secrets): string {
  const clean = cleanText(text);
  const safe = secrets.redact(clean);
  if (clean === text) return safe;
  // Redacted before cleaning too: cleaning may remove part of a secret and leave the rest.
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
