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
