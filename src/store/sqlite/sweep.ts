import type { SqliteDatabase } from './database.ts';
import type { Removed, SqliteShares } from './shares.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// The most that one transaction removes: new rows wait for it.
const SLICE_ROWS = 500;
const SLICE_BYTES = 4 * 1_048_576;

/** How long a key seals; it opens for as long again, since sealed state is valid for minutes. */
export const SEALING_KEY_MS = DAY_MS;

// The tables with expiring rows, the column of the expiry time, and how long rows are kept after it.
const PLACES = [
  { table: 'tasks', column: 'expires_at', afterMs: 0, isShared: true },
  { table: 'sessions', column: 'expires_at', afterMs: 0, isShared: true },
  { table: 'reservations', column: 'expires_at', afterMs: 0, isShared: true },
  { table: 'approvals', column: 'expires_at', afterMs: 0, isShared: true },
  { table: 'events', column: 'at', afterMs: HOUR_MS, isShared: true },
  { table: 'spent', column: 'expires_at', afterMs: 0, isShared: false },
  { table: 'quotas', column: 'ends_at', afterMs: 0, isShared: false },
  { table: 'sealing_keys', column: 'created_at', afterMs: 2 * SEALING_KEY_MS, isShared: false },
] as const;

/** Removes a slice of the expired rows in a transaction of its own; `true` if there may be more. */
export function sweepSlice(db: SqliteDatabase, shares: SqliteShares): boolean {
  try {
    return db.atOnce(() => {
      const hasRemoved = PLACES.some((place) => removeDue(db, shares, place));
      shares.flush();
      return hasRemoved;
    });
  } finally {
    shares.forget();
  }
}

function removeDue(
  db: SqliteDatabase,
  shares: SqliteShares,
  { table, column, afterMs, isShared }: (typeof PLACES)[number],
): boolean {
  const due = db.all<{ place: number; bytes: number }>(
    `select rowid as place, ${isShared ? 'bytes' : '0 as bytes'} from ${table}
     where ${column} <= ? order by ${column} limit ${SLICE_ROWS}`,
    Date.now() - afterMs,
  );
  const columns = table === 'events' ? 'owner, bytes, stream' : 'owner, bytes';
  let size = 0;
  for (const { place, bytes } of due) {
    if (!isShared) db.run(`delete from ${table} where rowid = ?`, place);
    else
      shares.remove(
        table,
        db.all<Removed>(`delete from ${table} where rowid = ? returning ${columns}`, place),
      );
    size += bytes;
    if (size >= SLICE_BYTES) break;
  }
  return due.length > 0;
}
