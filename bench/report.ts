/** Rows of figures under their headings. */
export interface Table {
  readonly columns: readonly string[];
  /** How many columns, from the left, hold text; the others hold numbers. One, unless said. */
  readonly textColumns?: number;
  readonly rows: readonly (readonly string[])[];
}

/** A figure that the product promises, and what was measured. */
export interface Goal {
  readonly what: string;
  readonly measured: number;
  readonly bound: 'at least' | 'at most';
  readonly goal: number;
  readonly unit: '×' | 'MB' | 'kB' | 's' | 'ms' | 'calls/s' | 'packages';
  /** A second figure worth a look, which decides nothing. */
  readonly beside?: string;
}

/** What one part of the bench found. */
export interface PartResult {
  readonly title: string;
  readonly about: string;
  readonly table: Table;
  readonly goals: readonly Goal[];
}

/** Writes a part as Markdown that is readable as plain text, too. */
export function partToMarkdown({ title, about, table, goals }: PartResult): string {
  const sections = [`## ${title}`, about, tableToMarkdown(table), tableToMarkdown(goalTable(goals))];
  return `${sections.join('\n\n')}\n`;
}

/** Writes a table with its columns aligned: text to the left, numbers to the right. */
export function tableToMarkdown({ columns, rows, textColumns = 1 }: Table): string {
  const widths = columns.map((column, index) =>
    Math.max(3, column.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const pad = (cell: string, width: number, index: number): string =>
    index < textColumns ? cell.padEnd(width) : cell.padStart(width);
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, index) => pad(cells[index] ?? '', width, index)).join(' | ')} |`;
  const rule = widths.map((width, index) =>
    index < textColumns ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(columns), line(rule), ...rows.map(line)].join('\n');
}

/** Whether a goal is met. */
export function isMet({ measured, bound, goal }: Goal): boolean {
  return bound === 'at least' ? measured >= goal : measured <= goal;
}

/** A number with as many decimals as its size deserves. */
export function figure(value: number): string {
  if (value >= 1000) return count(Math.round(value));
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

/** A whole number with its thousands set apart. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

function goalTable(goals: readonly Goal[]): Table {
  return {
    columns: ['Goal', 'measured', 'goal', 'verdict', 'beside it'],
    rows: goals.map((goal) => [
      goal.what,
      withUnit(goal.measured, goal.unit),
      `${goal.bound} ${goal.goal} ${goal.unit}`,
      isMet(goal) ? 'met' : 'missed',
      goal.beside ?? '',
    ]),
  };
}

function withUnit(value: number, unit: Goal['unit']): string {
  if (unit === 'packages') return `${value} ${unit}`;
  // A ratio just below its goal must not look as if it had met it.
  return `${value < 1 ? value.toFixed(3) : figure(value)} ${unit}`;
}
