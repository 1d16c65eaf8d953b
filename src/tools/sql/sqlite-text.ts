/**
 * The kind of a statement, judged by its words: a SELECT, or a text that only the database can judge; another one; or
 * a first word that no statement begins with.
 */
export function kindOfStatement(sql: string): 'select' | 'other' | { readonly unknownWord: string } {
  let depth = 0;
  let first: string | undefined;
  let written = '';
  let previous = '';
  let isOver = false;
  for (const token of tokensOf(sql)) {
    if (NO_WORD.test(token)) continue;
    if (token === ';') {
      isOver = first !== undefined;
      continue;
    }
    if (isOver) return 'other';
    const word = token.toLowerCase();
    if (first === undefined) [first, written] = [word, token];
    if (token === '(') depth++;
    else if (token === ')') depth--;
    // A changing statement can follow WITH too.
    else if (depth === 0 && (CHANGES.has(word) || (word === 'into' && previous === 'replace')))
      return 'other';
    previous = word;
  }
  if (first === undefined || OTHERS.has(first)) return 'other';
  return READS.has(first) || !/^\w/.test(first) ? 'select' : { unknownWord: written };
}

// An unclosed quote extends to the end; a doubled quote splits one string into two, which does not matter here.
function* tokensOf(sql: string): Generator<string> {
  for (let at = 0; at < sql.length;) {
    const end = endAt(sql, at);
    yield sql.slice(at, end);
    at = end;
  }
}

function endAt(sql: string, at: number): number {
  const closing = CLOSINGS.find(([opening]) => sql.startsWith(opening, at));
  if (closing) {
    const [opening, closedBy] = closing;
    const end = sql.indexOf(closedBy, at + opening.length);
    return end < 0 ? sql.length : end + closedBy.length;
  }
  let end = at;
  while (end < sql.length && WORD.test(sql[end]!)) end++;
  return Math.max(end, at + 1);
}

const CLOSINGS = [
  ["'", "'"],
  ['"', '"'],
  ['`', '`'],
  ['[', ']'],
  ['--', '\n'],
  ['/*', '*/'],
] as const;
const WORD = /[\w$\u0080-\ufefe\uff00-\uffff]/;
const NO_WORD = /^(?:[ \t\n\f\r\ufeff]|--|\/\*)/;
const READS: ReadonlySet<string> = new Set(['select', 'with', 'values']);
const OTHERS: ReadonlySet<string> = new Set(
  `alter analyze attach begin commit create delete detach drop end explain insert pragma reindex release replace rollback savepoint
  update vacuum`.split(/\s+/),
);
const CHANGES: ReadonlySet<string> = new Set(['insert', 'update', 'delete']);
