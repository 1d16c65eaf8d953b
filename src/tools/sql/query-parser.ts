import type { Fields } from './query-grammar.ts';
import { SqlRefusal } from './query-rules.ts';

/** A word, sign or literal of the text; positions are in bytes. */
export interface SqlToken {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const MAX_TOKENS = 1500;
const MAX_BRACKETS = 60;
const MAX_SIGNS = 64;
const MAX_COMMENTS = 50;

/** Splits a query into tokens, without comments, and refuses one that is too long or too deep to be parsed safely. */
export async function lexSql(sql: string): Promise<SqlToken[]> {
  refuseSlowText(sql);
  const parser = await import('libpg-query');
  let found: readonly (SqlToken & { readonly tokenName: string })[];
  try {
    found = (await parser.scan(sql)).tokens;
  } catch {
    // The parser reports more precisely what is wrong, and where.
    await parseSql(sql);
    throw syntaxError(sql, sql.length);
  }
  const tokens = found.filter(({ tokenName }) => !tokenName.endsWith('_COMMENT'));
  if (tokens.length > MAX_TOKENS || bracketDepth(tokens) > MAX_BRACKETS)
    throw new SqlRefusal('Query too complex', 'The query is too long or nested too deeply: split it up.');
  if (tokens.some(({ text }) => /^u&"/i.test(text)))
    throw new SqlRefusal('Query not allowed', 'Write names as they are, without Unicode escapes (U&"...").');
  return tokens;
}

/** Parses a text as PostgreSQL does; a syntax error is reported with its position. */
export async function parseSql(sql: string): Promise<readonly Fields[]> {
  const parser = await import('libpg-query');
  try {
    return ((await parser.parse(sql)).stmts ?? []) as unknown as readonly Fields[];
  } catch (error) {
    if (parser.hasSqlDetails(error)) throw syntaxError(sql, error.sqlDetails?.cursorPosition ?? 0);
    if (sql.trim() === '') throw syntaxError(sql, 0);
    throw error;
  }
}

/** The word at a position in a text, in characters from 0; `undefined` at its end. */
export function wordAt(sql: string, position: number): string | undefined {
  const rest = Array.from(sql).slice(position).join('');
  return /^\s*("[^"]{0,60}"?|[\p{L}\p{N}_.$]{1,60}|\S)/u.exec(rest)?.[1];
}

function syntaxError(sql: string, position: number): SqlRefusal {
  const word = wordAt(sql, position);
  const place = word === undefined ? 'at the end' : `at character ${position + 1}, near ${word}`;
  return new SqlRefusal(
    'Syntax error',
    `This is not SQL that PostgreSQL understands, ${place}. Parameters are written $1, $2.`,
  );
}

// The scanner reads a long run of signs, and nested comments, again and again.
function refuseSlowText(sql: string): void {
  let run = 0;
  let comments = 0;
  let previous = '';
  for (const sign of sql) {
    run = SIGNS.includes(sign) ? run + 1 : 0;
    if (sign === '*' && previous === '/') comments++;
    if (run > MAX_SIGNS || comments > MAX_COMMENTS)
      throw new SqlRefusal(
        'Query too complex',
        'The query holds too many comments or too many signs in a row: leave them out, or put the text in parameters.',
      );
    previous = sign;
  }
}

const SIGNS = '+-*/<>=~!@#%^&|`?';

// The parser is recursive, and a stack overflow would break it for all later queries.
function bracketDepth(tokens: readonly SqlToken[]): number {
  let depth = 0;
  let deepest = 0;
  for (const { text } of tokens) {
    if (text === '(' || text === '[') deepest = Math.max(deepest, ++depth);
    else if (text === ')' || text === ']') depth--;
  }
  return deepest;
}
