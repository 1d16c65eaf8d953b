import { tenantOf } from '../core/digest.ts';
import { MAX_EVENTS_PER_STREAM, maxKept } from '../core/kept-limits.ts';
import type { KeptText } from '../core/kept-text.ts';
import type { StreamEvent } from '../core/memory.ts';
import { settledTask } from './settled-task.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import { createShares } from './sqlite-shares.ts';

// As many as there can be of a caller and a tenant together.
const MAX_TRIMMED = 10_000;
const MAX_TRIMMED_EVENTS = 1_000;

/** A task or session that is ready to be kept. */
export interface KeptBody extends KeptText {
  readonly id: string;
  readonly owner: string;
  readonly expiresAt: number;
}

/** A task that is kept: its text, unless that is larger than asked for. */
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

/** How tasks and sessions are kept; each runs inside the transaction of its group. */
export function keptBodies(db: SqliteDatabase, holder: string) {
  const shares = createShares(db);
  const put = (table: 'tasks' | 'sessions', { id, owner, text, bytes, expiresAt }: KeptBody): void => {
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
      // Its process may have died while this one ran, or have been dying when this one started.
      const settled = row.is_open === 1 ? settledTask({ record, holder: row.holder }, holder) : undefined;
      if (!settled?.hasDied) return { text: record, owner, bytes };
      const text = JSON.stringify(settled.task);
      db.run(
        'update tasks set record = ?, bytes = ?, is_open = 0 where id = ?',
        text,
        Buffer.byteLength(text),
        id,
      );
      return { text, owner, bytes };
    },
    putSession: (body: KeptBody): void => put('sessions', body),
    getSession: (id: string): string | undefined =>
      db.get<{ record: string }>(
        'select record from sessions where id = ? and expires_at > ?',
        id,
        Date.now(),
      )?.record,
    deleteSession: (id: string): void => void db.run('delete from sessions where id = ?', id),
  };
}

/** How events are kept; each runs inside the transaction of its group. */
export function events(db: SqliteDatabase) {
  const shares = createShares(db);
  return {
    /** Keeps an event; `false` where its owner has too much for that. */
    keepEvent(stream: string, { id, text, bytes }: StreamEvent & KeptText, owner: string): boolean {
      const n = db.get<{ n: number }>(
        'select coalesce(max(n), 0) + 1 as n from events where stream = ?',
        stream,
      )!.n;
      db.run(
        'insert into events (stream, n, id, text, at, owner, tenant, bytes) values (?, ?, ?, ?, ?, ?, ?, ?)',
        stream,
        n,
        id,
        text,
        Date.now(),
        owner,
        tenantOf(owner),
        bytes,
      );
      db.run('delete from events where stream = ? and n <= ?', stream, n - MAX_EVENTS_PER_STREAM);
      for (let held = shares.held('stream', stream); held.bytes > maxKept.stream && held.rows > 1;) {
        db.run(
          'delete from events where stream = ? and n = (select min(n) from events where stream = ?)',
          stream,
          stream,
        );
        held = shares.held('stream', stream);
      }
      if (shares.trim('events', owner, MAX_TRIMMED_EVENTS)) return true;
      db.run('delete from events where stream = ? and n = ?', stream, n);
      return false;
    },
    eventsAfter(stream: string, eventId: string): StreamEvent[] | undefined {
      const from = db.get<{ n: number }>('select n from events where stream = ? and id = ?', stream, eventId);
      if (!from) return undefined;
      return db
        .all<StreamEvent>('select id, text from events where stream = ? and n > ? order by n', stream, from.n)
        .map(({ id, text }) => ({ id, text }));
    },
    forgetEvents: (stream: string): void => void db.run('delete from events where stream = ?', stream),
  };
}
