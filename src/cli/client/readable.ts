import { escapeUnseen } from '../../base/escape-unseen.ts';
import { readJson } from '../../base/parse-json.ts';
import { formatExact } from '../table.ts';

/** Text of a server for a terminal: lines and tabs stay, everything unseen is escaped. */
export function readable(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\t').map(escapeUnseen).join('\t'))
    .join('\n');
}

/** JSON that a server wrote, for terminals and programs; it parses to the same value, large integers included. */
export function readableJson(json: string): string {
  // Between values, an escape would not be JSON.
  return /[\t\r\n]/.test(json) ? formatExact(readJson(json, 'exact'), '') : `${escapeUnseen(json)}\n`;
}

/** The first line of a text, cut to a width. */
export function firstLine(text: string, width: number): string {
  const [line = ''] = text.trim().split('\n', 1);
  const characters = Array.from(line);
  return characters.length > width
    ? `${characters
        .slice(0, width - 3)
        .join('')
        .trimEnd()}...`
    : line;
}
