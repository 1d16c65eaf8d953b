import { escapeUnseen } from '../base/escape-unseen.ts';
import { writeExact } from '../base/exact-json.ts';

/** Text for a terminal, with control characters escaped. */
export function printable(text: string): string {
  return escapeUnseen(JSON.stringify(text)).slice(1, -1).replaceAll('\\"', '"');
}

/** Whether a name has any visible character. */
export function isVisible(name: string): boolean {
  return VISIBLE.test(name);
}

const VISIBLE = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;

/** Lines for a terminal, with control characters escaped. */
export function printableLines(text: string): string {
  return text.split('\n').map(escapeUnseen).join('\n');
}

/** JSON for terminals and programs: it parses to the same value. */
export function formatJson(value: unknown, indent?: number): string {
  return `${printableLines(JSON.stringify(value, undefined, indent))}\n`;
}

/** The same with all digits of integers that are given as `bigint`. */
export function formatExact(value: unknown, step = '  '): string {
  return `${printableLines(writeExact(value, step)!)}\n`;
}

/** Aligns rows under their headings; an empty list says so. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  empty: string,
): string {
  if (rows.length === 0) return `${empty}\n`;
  const cells = rows.map((row) => row.map(printable));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => row[column]!.length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  return `${[headings, ...cells].map(line).join('\n')}\n`;
}

/** A time for people, to the minute; `-` if there is none. */
export function formatTime(ms: number | undefined): string {
  return ms === undefined ? '-' : `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

/** Parses a span such as `90d`, `12h` or `30m` to milliseconds; `undefined` if it is invalid. */
export function parseSpan(text: string): number | undefined {
  const match = /^([1-9]\d{0,5})([smhd])$/.exec(text);
  return match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : undefined;
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Writes comma-separated values; a cell that a spreadsheet would read as a formula is escaped. */
export function toCsv(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = headings.length > 0 ? [headings, ...rows] : rows;
  return lines.map((cells) => `${cells.map(toCell).join(',')}\r\n`).join('');
}

function toCell(text: string): string {
  // Full-width forms count as formulas in some locales, and some locales separate cells with a semicolon.
  const safe = /^\s*[=+\-@\t\r＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",;\t\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
