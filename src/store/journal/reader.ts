import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { parseRow, type ChainRow } from './chain.ts';
import type { SqliteDatabase } from '../sqlite/database.ts';
import { decodeText, textBytes, type StoredBytes } from './stored-text.ts';

/** Selects rows. */
export interface RowFilter {
  readonly chain?: string | undefined;
  /** Exact values of fields, such as `tool` or `outcome`; of several names, one must have the value. */
  readonly fields?: readonly { readonly names: readonly string[]; readonly value: string }[];
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only groups after this one, up to that one. */
  readonly groups?: { readonly after: number; readonly upTo: number } | undefined;
  readonly limit: number;
  /** Oldest first, or newest first. */
  readonly order: 'oldest' | 'newest';
}

/** A row and its parsed fields. */
export interface JournalRow extends ChainRow {
  readonly facts: Readonly<Record<string, unknown>>;
}

/**
 * Finds rows group by group, so that a long record needs little memory; throws at the end if a group could not be read.
 */
export function* readJournal(db: SqliteDatabase, filter: RowFilter): Generator<JournalRow> {
  const { since, until, limit, order, groups: between } = filter;
  const direction = order === 'oldest' ? 'asc' : 'desc';
  let found = 0;
  let unreadable: number | undefined;
  const { after, upTo } = spanOf(db, since, until);
  const groups = db.iterate<{ id: number; rows: StoredBytes }>(
    `select id, ${textBytes('rows')} from journal where id > ? and id <= ? order by id ${direction}`,
    Math.max(after, between?.after ?? after),
    Math.min(upTo, between?.upTo ?? upTo),
  );
  for (const { id, rows } of groups) {
    const text = decodeText(rows);
    if (text === undefined) {
      unreadable ??= id;
      continue;
    }
    const lines = text.split('\n');
    for (const line of order === 'oldest' ? lines : lines.toReversed()) {
      const row = readRow(line, filter);
      if (!row || !isWithin(row.facts['at'], since, until)) continue;
      yield row;
      if (++found >= limit) break;
    }
    if (found >= limit) break;
  }
  if (unreadable !== undefined)
    throw new ToolcribError(
      'invalid_setup',
      `Group ${unreadable} of the record is damaged and not shown; run: toolcrib audit verify`,
    );
}

/** The number of the newest group; every later one has a higher number. */
export function newestGroup(db: SqliteDatabase): number {
  return db.get<{ id: number | null }>('select max(id) as id from journal')?.id ?? 0;
}

// A row is written a moment after its time, and clocks may be set.
const MARGIN_MS = 3_600_000;

// The groups that can have rows of a time span, by the signed times of checkpoints; the time stored with a group is not
// signed.
function spanOf(db: SqliteDatabase, since: number | undefined, until: number | undefined) {
  const place = (sql: string, time: number): number | undefined =>
    db.get<{ up_to: number }>(`select up_to from checkpoints where ${sql} limit 1`, time)?.up_to;
  const before = since === undefined ? since : place('at < ? order by at desc, n desc', since - MARGIN_MS);
  const past = until === undefined ? until : place('at > ? order by at, n', until + MARGIN_MS);
  return { after: before ?? Number.MIN_SAFE_INTEGER, upTo: past ?? Number.MAX_SAFE_INTEGER };
}

// Most lines do not match: cheap text tests come before parsing.
function readRow(line: string, { chain, fields = [] }: RowFilter): JournalRow | undefined {
  if (chain !== undefined && !line.startsWith(`${chain}\t`)) return undefined;
  if (fields.some(({ value }) => !line.includes(JSON.stringify(value)))) return undefined;
  const row = parseRow(line);
  if (!row) return undefined;
  const facts = readFacts(row.body);
  const isWanted = fields.every(({ names, value }) => names.some((name) => facts[name] === value));
  return isWanted ? { ...row, facts } : undefined;
}

// A row that was changed is still shown; the verifier says what is wrong with it.
function readFacts(body: string): Readonly<Record<string, unknown>> {
  try {
    const facts: unknown = parseJson(body);
    if (isObject(facts)) return facts;
  } catch {
    // Not JSON.
  }
  return { kind: 'unreadable' };
}

function isWithin(at: unknown, since = -Infinity, until = Infinity): boolean {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  return !(time < since) && !(time > until);
}
