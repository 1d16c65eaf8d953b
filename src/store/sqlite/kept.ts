import { tenantOf } from '../../core/caller.ts';
import { MAX_EVENTS_PER_STREAM, maxKept } from '../../core/memory/limits.ts';
import type { KeptText } from '../../core/memory/text.ts';
import type { StreamEvent } from '../../core/memory/memory.ts';
import { settledTask } from '../journal/settled-task.ts';
import type { SqliteDatabase } from './database.ts';
import type { KeptEvent } from './gathered-events.ts';
import type { Removed, SqliteShares } from './shares.ts';

// The most a caller and its tenant can have together.
const MAX_TRIMMED = 10_000;
const MAX_TRIMMED_EVENTS = 1_000;

/** A task or session ready to be stored. */
export interface KeptBody extends KeptText {
  readonly id: string;
  readonly owner: string;
  readonly expiresAt: number;
}

/** A stored task; without its text if that is larger than asked for. */
export interface FoundTask {
  readonly text: string | undefined;
  readonly owner: string;
  readonly bytes: number;
}

interface TaskRow {
  readonly record: string | null;
  readonly holder: string;
  readonly owner: string;
  readonly bytes: number;
  readonly is_open: number;
}

/** Stores tasks and sessions; each runs inside the transaction of its batch. */
export function keptBodies(db: SqliteDatabase, shares: SqliteShares, holder: string) {
  const put = (table: 'tasks' | 'sessions', { id, owner, text, bytes, expiresAt }: KeptBody): void => {
    const before = db.get<{ bytes: number }>(`select bytes from ${table} where id = ?`, id);
    shares.add(table, owner, { rows: before ? 0 : 1, bytes: bytes - (before?.bytes ?? 0) });
    db.run(
      `insert into ${table} (id, record, expires_at, holder, owner, tenant, bytes) values (?, ?, ?, ?, ?, ?, ?)
       on conflict do update set record = excluded.record, bytes = excluded.bytes, expires_at = excluded.expires_at,
       holder = excluded.holder`,
      id,
      text,
      expiresAt,
      holder,
      owner,
      tenantOf(owner),
      bytes,
    );
    shares.trim(table, owner, MAX_TRIMMED);
  };
  return {
    putTask(body: KeptBody, isOpen: boolean): void {
      put('tasks', body);
      db.run('update tasks set is_open = ? where id = ?', Number(isOpen), body.id);
    },
    getTask(id: string, maxBytes: number): FoundTask | undefined {
      const row = db.get<TaskRow>(
        `select case when bytes <= ? then record end as record, holder, owner, bytes, is_open
         from tasks where id = ? and expires_at > ?`,
        maxBytes,
        id,
        Date.now(),
      );
      if (!row) return undefined;
      const { record, owner, bytes } = row;
      if (record === null) return { text: undefined, owner, bytes };
      // Its process may have died while this one ran, or while this one started.
      const settled = row.is_open === 1 ? settledTask({ record, holder: row.holder }, holder) : undefined;
      if (!settled?.hasDied) return { text: record, owner, bytes };
      const text = JSON.stringify(settled.task);
      db.run('update tasks set record = ?, is_open = 0 where id = ?', text, id);
      return { text, owner, bytes };
    },
    putSession: (body: KeptBody): void => put('sessions', body),
    getSession: (id: string): string | undefined =>
      db.get<{ record: string }>(
        'select record from sessions where id = ? and expires_at > ?',
        id,
        Date.now(),
      )?.record,
    deleteSession: (id: string): void =>
      shares.remove(
        'sessions',
        db.all<Removed>('delete from sessions where id = ? returning owner, bytes', id),
      ),
  };
}

/** Stores events; each runs inside the transaction of its batch. */
export function events(db: SqliteDatabase, shares: SqliteShares) {
  const remove = (which: string, ...values: readonly (string | number)[]): void =>
    shares.remove(
      'events',
      db.all<Removed>(`delete from events where ${which} returning owner, bytes, stream`, ...values),
    );
  return {
    /** Stores events of a stream; `false` if its owner has too much. */
    keepEvents(stream: string, kept: readonly KeptEvent[], owner: string): boolean {
      const { n } = db.get<{ n: number }>(
        'select coalesce(max(n), 0) + 1 as n from events where stream = ?',
        stream,
      )!;
      db.run(
        `insert into events (stream, n, id, text, at, owner, tenant, bytes)
         select ?1, ?2 + key, value ->> 0, value ->> 1, ?3, ?4, ?5, value ->> 2 from json_each(?6)`,
        stream,
        n,
        Date.now(),
        owner,
        tenantOf(owner),
        JSON.stringify(kept.map(({ id, text, bytes }) => [id, text, bytes])),
      );
      const bytes = kept.reduce((sum, event) => sum + event.bytes, 0);
      shares.addEvents(stream, owner, { rows: kept.length, bytes });
      remove('stream = ? and n < ?', stream, n + kept.length - MAX_EVENTS_PER_STREAM);
      const held = shares.held('stream', stream);
      while (held.bytes > maxKept.stream && held.rows > 1)
        remove('stream = ?1 and n = (select min(n) from events where stream = ?1)', stream);
      if (shares.trim('events', owner, MAX_TRIMMED_EVENTS)) return true;
      remove('stream = ? and n >= ?', stream, n);
      return false;
    },
    eventsAfter(stream: string, eventId: string): StreamEvent[] | undefined {
      const from = db.get<{ n: number }>('select n from events where stream = ? and id = ?', stream, eventId);
      if (!from) return undefined;
      return db
        .all<StreamEvent>('select id, text from events where stream = ? and n > ? order by n', stream, from.n)
        .map(({ id, text }) => ({ id, text }));
    },
    forgetEvents: (stream: string): void => remove('stream = ?', stream),
  };
}
