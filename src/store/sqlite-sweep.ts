import type { SqliteDatabase } from './sqlite-database.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// What is removed in one transaction: rows wait for it.
const SLICE_ROWS = 500;
const SLICE_BYTES = 4 * 1_048_576;

/** How long a key seals; it opens what it sealed for as long again: such state is good for minutes. */
export const SEALING_KEY_MS = DAY_MS;

// Where what has run out is, the column that says when, how long it is kept after that, and how large a row is.
const PLACES = [
  { table: 'tasks', column: 'expires_at', afterMs: 0, bytes: 'bytes' },
  { table: 'sessions', column: 'expires_at', afterMs: 0, bytes: 'bytes' },
  { table: 'reservations', column: 'expires_at', afterMs: 0, bytes: 'bytes' },
  { table: 'approvals', column: 'expires_at', afterMs: 0, bytes: 'bytes' },
  { table: 'events', column: 'at', afterMs: HOUR_MS, bytes: 'bytes' },
  { table: 'spent', column: 'expires_at', afterMs: 0, bytes: '0' },
  { table: 'quotas', column: 'ends_at', afterMs: 0, bytes: '0' },
  { table: 'sealing_keys', column: 'created_at', afterMs: 2 * SEALING_KEY_MS, bytes: '0' },
] as const;

/** Removes a slice of what has run out; `true` when there may be more. */
export function sweepSlice(db: SqliteDatabase): boolean {
  const now = Date.now();
  for (const { table, column, afterMs, bytes } of PLACES) {
    const due = db.all<{ place: number; bytes: number }>(
      `select rowid as place, ${bytes} as bytes from ${table} where ${column} <= ? order by ${column} limit ${SLICE_ROWS}`,
      now - afterMs,
    );
    let size = 0;
    for (const { place, bytes: own } of due) {
      db.run(`delete from ${table} where rowid = ?`, place);
      size += own;
      if (size >= SLICE_BYTES) return true;
    }
    if (due.length > 0) return true;
  }
  return false;
}
