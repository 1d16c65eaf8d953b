import { hasColours, type Screen } from './progress-bar.ts';

const BOLD = '\u001B[1m';
const DIM = '\u001B[2m';
const CODE = '\u001B[36m';
const PLAIN = '\u001B[0m';

// One long cell or row would widen every other, and a few megabytes become gigabytes.
const WIDEST = 60;
const MOST_COLUMNS = 50;

/** How Markdown is shown: as it came, with its tables laid out, or with colours for its marks as well. */
export type Look = 'raw' | 'plain' | 'coloured';

/** How Markdown is shown on a screen; where nobody sees it, it stays as it came. */
export function lookFor(screen: Screen, env: NodeJS.ProcessEnv = process.env): Look {
  if (screen.isTTY !== true) return 'raw';
  return hasColours(screen, env) ? 'coloured' : 'plain';
}

/** Markdown, laid out for a terminal: headings, emphasis, code and tables; other text stays as it is. */
export function renderMarkdown(text: string, look: Exclude<Look, 'raw'> = 'coloured'): string {
  const lines = text.split('\n');
  const shown: string[] = [];
  let isCode = false;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    if (/^\s*```/.test(line)) {
      isCode = !isCode;
      // Without colours the marks alone tell what is meant.
      if (look === 'plain') shown.push(line);
      continue;
    }
    const table = isCode ? 0 : tableLength(lines, at);
    if (table > 0) {
      for (const row of renderTable(lines.slice(at, at + table), look)) shown.push(row);
      at += table - 1;
    } else if (look === 'plain') shown.push(line);
    else shown.push(isCode ? `  ${CODE}${line}${PLAIN}` : renderLine(line));
  }
  return shown.join('\n');
}

function renderLine(line: string): string {
  if (/^#{1,6} /.test(line)) return `${BOLD}${line.replace(/^#+ /, '').trim()}${PLAIN}`;
  if (line.startsWith('> ')) return `${DIM}${line}${PLAIN}`;
  return emphasize(line);
}

function emphasize(text: string): string {
  return text
    .split(/(`[^`]+`)/)
    .map((part, at) =>
      at % 2 === 1
        ? `${CODE}${part.slice(1, -1)}${PLAIN}`
        : part.replaceAll(/\*\*([^*]+)\*\*/g, `${BOLD}$1${PLAIN}`),
    )
    .join('');
}

// A row, the line below it, and the rows that follow.
function tableLength(lines: readonly string[], at: number): number {
  const isRow = (line = ''): boolean => {
    const row = line.trim();
    return row.length > 1 && row.startsWith('|') && row.endsWith('|');
  };
  const rule = lines[at + 1] ?? '';
  if (!isRow(lines[at]) || !isRow(rule) || !rule.includes('-') || !/^[\s|:-]+$/.test(rule)) return 0;
  let end = at + 2;
  while (isRow(lines[end])) end++;
  return end - at;
}

function renderTable(lines: readonly string[], look: Look): string[] {
  const rows = lines.filter((_, at) => at !== 1).map(cellsOf);
  const columns = rows.reduce((most, { length }) => Math.max(most, length), 0);
  if (columns > MOST_COLUMNS) return [...lines];
  const widths = Array.from({ length: columns }, (_, column) =>
    rows.reduce((most, row) => Math.max(most, Math.min(lengthOf(row[column]), WIDEST)), 0),
  );
  return rows.map((row, at) => {
    const cells = widths.map((width, column) => {
      const cell = row[column] ?? '';
      return cell + ' '.repeat(Math.max(0, width - lengthOf(cell)));
    });
    const text = cells.join('  ').trimEnd();
    return at === 0 && look === 'coloured' ? `${BOLD}${text}${PLAIN}` : text;
  });
}

function lengthOf(cell = ''): number {
  return Array.from(cell).length;
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) =>
      cell
        .trim()
        .replaceAll('\\|', '|')
        .replaceAll(/\*\*|`/g, ''),
    );
}
