import { tenantOf } from '../../core/caller.ts';
import { shareLimits, type Amount } from '../../core/memory/limits.ts';
import type { SqliteDatabase } from './database.ts';

/** The tables with data of callers. */
export type SharedTable = 'tasks' | 'sessions' | 'events' | 'reservations' | 'approvals';

/** What is counted: the data of callers and tenants in a table, or the events of a stream. */
type Counted = SharedTable | 'stream';

/** How many idempotency keys are kept. */
export const KEYS = { caller: 250_000, tenant: 1_000_000 } as const;

const LIMITS = {
  ...shareLimits,
  reservations: {
    caller: { rows: KEYS.caller, bytes: shareLimits.outcomes.caller.bytes },
    tenant: { rows: KEYS.tenant, bytes: shareLimits.outcomes.tenant.bytes },
  },
};

const NOTHING: Amount = { rows: 0, bytes: 0 };

interface Held {
  readonly counted: Counted;
  readonly name: string;
  rows: number;
  bytes: number;
  isChanged: boolean;
}

/** A row that was removed. */
export interface Removed {
  readonly owner: string;
  readonly bytes: number;
  /** The stream of an event. */
  readonly stream?: string;
}

/**
 * Counts what is stored for each caller and tenant. Counts are kept in memory during a transaction and written at its
 * end: one statement per change would cost more than the change.
 */
export class SqliteShares {
  readonly #db: SqliteDatabase;
  readonly #held = new Map<string, Held>();

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** What is stored for a caller, a tenant or a stream. */
  held(counted: Counted, name: string): Readonly<Held> {
    return this.#find(counted, name);
  }

  /** Counts data stored for an owner. */
  add(table: SharedTable, owner: string, amount: Amount): void {
    change(this.#find(table, owner), amount);
    change(this.#find(table, tenantOf(owner)), amount);
  }

  /** Counts stored events of a stream. */
  addEvents(stream: string, owner: string, amount: Amount): void {
    this.add('events', owner, amount);
    change(this.#find('stream', stream), amount);
  }

  /** Counts removed rows. */
  remove(table: SharedTable, removed: readonly Removed[]): void {
    for (const { owner, bytes, stream } of removed) {
      this.add(table, owner, { rows: -1, bytes: -bytes });
      if (stream !== undefined) change(this.#find('stream', stream), { rows: -1, bytes: -bytes });
    }
  }

  /** Whether a caller or its tenant is over its limit, with `more` added. */
  isOver(table: SharedTable, owner: string, more: Amount = NOTHING): boolean {
    return partsOf(table, owner).some(({ name, limit }) => exceeds(this.held(table, name), more, limit));
  }

  /** Removes the oldest rows of a caller or tenant over its limit; `false` if it is still over after `atMost` rows. */
  trim(table: 'tasks' | 'sessions' | 'events', owner: string, atMost: number): boolean {
    const columns = table === 'events' ? 'owner, bytes, stream' : 'owner, bytes';
    let left = atMost;
    for (const { column, name, limit } of partsOf(table, owner)) {
      while (exceeds(this.held(table, name), NOTHING, limit)) {
        if (left-- <= 0) return false;
        const removed = this.#db.all<Removed>(
          `delete from ${table} where rowid = (select rowid from ${table} where ${column} = ? order by rowid limit 1)
           returning ${columns}`,
          name,
        );
        if (removed.length === 0) return false;
        this.remove(table, removed);
      }
    }
    return true;
  }

  /** Writes changed counts, inside the transaction that changed them. */
  flush(): void {
    const changed = [...this.#held.values()].filter(({ isChanged }) => isChanged);
    this.#held.clear();
    if (changed.length === 0) return;
    const there = changed.filter(({ rows }) => rows > 0);
    this.#db.run(
      `insert into holdings select value ->> 0, value ->> 1, value ->> 2, value ->> 3 from json_each(?) where true
       on conflict do update set kept = excluded.kept, bytes = excluded.bytes`,
      JSON.stringify(there.map(({ counted, name, rows, bytes }) => [counted, name, rows, bytes])),
    );
    for (const { counted, name, rows } of changed)
      if (rows <= 0) this.#db.run('delete from holdings where kind = ? and owner = ?', counted, name);
  }

  /** Discards the counts of a transaction that failed. */
  forget(): void {
    this.#held.clear();
  }

  #find(counted: Counted, name: string): Held {
    const key = `${counted} ${name}`;
    let held = this.#held.get(key);
    if (!held) {
      const kept = this.#db.get<Amount>(
        'select kept as rows, bytes from holdings where kind = ? and owner = ?',
        counted,
        name,
      );
      held = { counted, name, rows: kept?.rows ?? 0, bytes: kept?.bytes ?? 0, isChanged: false };
      this.#held.set(key, held);
    }
    return held;
  }
}

function partsOf(table: SharedTable, owner: string) {
  const { caller, tenant } = LIMITS[table];
  return [
    { column: 'owner', name: owner, limit: caller },
    { column: 'tenant', name: tenantOf(owner), limit: tenant },
  ] as const;
}

function change(held: Held, { rows, bytes }: Amount): void {
  held.rows += rows;
  held.bytes += bytes;
  held.isChanged = true;
}

function exceeds({ rows, bytes }: Amount, more: Amount, limit: Amount): boolean {
  return rows + more.rows > limit.rows || bytes + more.bytes > limit.bytes;
}
