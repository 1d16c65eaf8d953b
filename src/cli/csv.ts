/** Writes lines of comma-separated values; a cell that a spreadsheet would take for a formula is kept from being one. */
export function toCsv(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = headings.length > 0 ? [headings, ...rows] : rows;
  return lines.map((cells) => `${cells.map(toCell).join(',')}\r\n`).join('');
}

function toCell(text: string): string {
  // The wide forms count as formulas where such letters are in use, and some places separate cells with a semicolon.
  const safe = /^\s*[=+\-@\t\r＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",;\t\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
