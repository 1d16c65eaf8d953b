import { tenantOf } from '../core/digest.ts';
import { shareLimits, type Amount } from '../core/kept-limits.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

/** The tables in which something is kept for somebody, and whose limits apply there. */
export type SharedTable = 'tasks' | 'sessions' | 'events' | 'reservations' | 'approvals';

/** What is counted: the rows of a table, or those of one stream. */
type Counted = SharedTable | 'stream';

/** Knows what is kept for each caller and tenant: triggers count it, in the transaction that changes it. */
export interface SqliteShares {
  /** What is kept for a caller, a tenant or a stream. */
  held(counted: Counted, name: string): Amount;
  /** Whether a caller or its tenant has more than a limit allows, with so much more. */
  isOver(table: SharedTable, owner: string, more?: Amount): boolean;
  /** Removes the oldest of a caller or tenant that has too much; `false` when it still has after so many. */
  trim(table: 'tasks' | 'sessions' | 'events', owner: string, atMost: number): boolean;
}

/** How many keys of idempotent calls are kept. */
export const KEYS = { caller: 250_000, tenant: 1_000_000 } as const;

const LIMITS = {
  ...shareLimits,
  reservations: {
    caller: { rows: KEYS.caller, bytes: shareLimits.outcomes.caller.bytes },
    tenant: { rows: KEYS.tenant, bytes: shareLimits.outcomes.tenant.bytes },
  },
};

const NOTHING: Amount = { rows: 0, bytes: 0 };

/** Makes it for a database. */
export function createShares(db: SqliteDatabase): SqliteShares {
  const held: SqliteShares['held'] = (counted, name) =>
    db.get<Amount>('select kept as rows, bytes from holdings where kind = ? and owner = ?', counted, name) ??
    NOTHING;
  const parts = (table: SharedTable, owner: string) =>
    [
      { column: 'owner', name: owner, limit: LIMITS[table].caller },
      { column: 'tenant', name: tenantOf(owner), limit: LIMITS[table].tenant },
    ] as const;
  return {
    held,
    isOver: (table, owner, more = NOTHING) =>
      parts(table, owner).some(({ name, limit }) => exceeds(held(table, name), more, limit)),
    trim(table, owner, atMost) {
      let left = atMost;
      for (const { column, name, limit } of parts(table, owner)) {
        while (exceeds(held(table, name), NOTHING, limit)) {
          if (left-- <= 0) return false;
          // The row that was kept first; what was kept in its place since then is no younger.
          db.run(
            `delete from ${table} where rowid = (select rowid from ${table} where ${column} = ? order by rowid limit 1)`,
            name,
          );
        }
      }
      return true;
    },
  };
}

function exceeds({ rows, bytes }: Amount, more: Amount, limit: Amount): boolean {
  return rows + more.rows > limit.rows || bytes + more.bytes > limit.bytes;
}
