import { parseJson } from '../base/parse-json.ts';
import type { LogLevel } from './log.ts';

// ANSI colours; what is usual has none.
const COLOURS: Readonly<Record<LogLevel, number | undefined>> = {
  debug: 90,
  info: undefined,
  warn: 33,
  error: 31,
};
const LEVEL_WIDTH = 5;

interface LogEntry {
  readonly level: LogLevel;
  readonly time: string;
  readonly message: string;
  readonly [fact: string]: unknown;
}

/** A JSON line of the log for a person at a terminal: one line, then the stacks of errors, indented. */
export function terminalLine(line: string, hasColours: boolean): string {
  const { level, time, message, ...facts } = parseJson(line) as LogEntry;
  const stacks: string[] = [];
  const words: string[] = [];
  for (const [name, value] of Object.entries(facts)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    // Only what an event begins with stands at the start of a line, so no text can look like one.
    if (text.includes('\n')) stacks.push(`    ${name}: ${text.replaceAll('\n', '\n    ')}\n`);
    else words.push(`${name}=${/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)}`);
  }
  const colour = hasColours ? COLOURS[level] : undefined;
  const label = level.toUpperCase().padEnd(LEVEL_WIDTH);
  const shown = colour === undefined ? label : `\u001B[${colour}m${label}\u001B[0m`;
  const head = [time.slice(11, 19), shown, message.replaceAll('\n', '\\n'), ...words];
  return `${head.join(' ')}\n${stacks.join('')}`;
}
