import { randomBytes } from 'node:crypto';
import type { KeyRecord, TenantRecord } from '../core/identity.ts';
import type { SessionRecord, StreamEvent, TaskRecord } from '../core/memory.ts';
import { parseJson } from '../core/parse-json.ts';
import type { Reservation } from '../core/reservation.ts';
import { settledTask, type Held } from './settled-task.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import { approvals, approvalUses } from './sqlite-approvals.ts';
import type { Committed, Reserved } from './store.ts';

const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;
const SESSION_MS = DAY_MS;
// A key seals for so long, and opens what it sealed for as long again: such state is good for minutes.
const SEALING_KEY_MS = DAY_MS;
const MAX_EVENTS_PER_STREAM = 1_000;

interface Kept {
  readonly record: string;
}

interface KeyRow extends Kept {
  readonly revoked_at: number | null;
  readonly last_used_at: number | null;
}

/** What the store can be asked to do beside writing rows, by name; each runs inside the transaction of its group. */
export type Operations = ReturnType<typeof createOperations>;

/** The name of an operation. */
export type OperationName = keyof Operations;

/** Makes the operations for a database. */
export function createOperations(db: SqliteDatabase, holder: string) {
  return {
    ...claims(db),
    ...identities(db),
    ...protocol(db, holder),
    ...events(db),
    ...upkeep(db),
  };
}

function claims(db: SqliteDatabase) {
  const reserve = ({ owner, key, subject, expiresAt }: Reservation): boolean =>
    db.run(
      `insert into reservations values (?, ?, ?, null, ?) on conflict do update
       set subject = excluded.subject, outcome = null, expires_at = excluded.expires_at where expires_at <= ?`,
      owner,
      key,
      subject,
      expiresAt,
      Date.now(),
    ) === 1;
  const uses = approvalUses(db);
  return {
    ...approvals(db),
    ...uses,
    /** Takes a key and uses up an approval, or neither. */
    claim(reservation: Reservation | undefined, approval: string | undefined): Committed {
      if (approval !== undefined && !uses.useApproval(approval)) return 'unapproved';
      if (!reservation || reserve(reservation)) return 'committed';
      if (approval !== undefined) uses.giveBackApproval(approval);
      return 'taken';
    },
    findReserved(owner: string, key: string): Reserved | undefined {
      const row = db.get<{ subject: string; outcome: string | null; expires_at: number }>(
        'select subject, outcome, expires_at from reservations where owner = ? and key = ?',
        owner,
        key,
      );
      return row && row.expires_at > Date.now()
        ? { subject: row.subject, outcome: row.outcome ?? undefined }
        : undefined;
    },
    finish: (owner: string, key: string, outcome: string): void =>
      void db.run('update reservations set outcome = ? where owner = ? and key = ?', outcome, owner, key),
    release: (owner: string, key: string): void =>
      void db.run('delete from reservations where owner = ? and key = ? and outcome is null', owner, key),
    takeQuota: (name: string, startsAt: number, endsAt: number): number =>
      db.get<{ taken: number }>(
        `insert into quotas values (?, ?, ?, 1)
         on conflict (name, starts_at) do update set taken = taken + 1 returning taken`,
        name,
        startsAt,
        endsAt,
      )!.taken,
  };
}

function identities(db: SqliteDatabase) {
  const findTenant = (id: string): TenantRecord | undefined => {
    const row = db.get<Kept>('select record from tenants where id = ?', id);
    return row && (parseJson(row.record) as TenantRecord);
  };
  return {
    findTenant,
    findKey(hash: string): { key: KeyRecord; tenant: TenantRecord | undefined } | undefined {
      const row = db.get<KeyRow>('select record, revoked_at, last_used_at from keys where hash = ?', hash);
      if (!row) return undefined;
      const key = toKey(row);
      return { key, tenant: findTenant(key.tenant) };
    },
    touch: (ids: readonly string[], at: number): void =>
      void db.run(
        'update keys set last_used_at = ? where id in (select value from json_each(?))',
        at,
        JSON.stringify(ids),
      ),
    putKey: (key: KeyRecord): void =>
      void db.run(
        'insert into keys values (?, ?, ?, ?, ?)',
        key.id,
        key.hash,
        JSON.stringify(key),
        key.revokedAt ?? null,
        key.lastUsedAt ?? null,
      ),
    revokeKey: (id: string, at: number): boolean =>
      db.run('update keys set revoked_at = ? where id = ? and revoked_at is null', at, id) === 1,
    listKeys: (): KeyRecord[] =>
      db.all<KeyRow>('select record, revoked_at, last_used_at from keys order by id').map(toKey),
    putTenant: (tenant: TenantRecord): void =>
      void db.run(
        'insert into tenants values (?, ?) on conflict do update set record = excluded.record',
        tenant.id,
        JSON.stringify(tenant),
      ),
    listTenants: (): TenantRecord[] =>
      db
        .all<Kept>('select record from tenants order by id')
        .map(({ record }) => parseJson(record) as TenantRecord),
  };
}

function toKey({ record, revoked_at: revokedAt, last_used_at: lastUsedAt }: KeyRow): KeyRecord {
  const key = parseJson(record) as KeyRecord;
  return {
    ...key,
    expiresAt: key.expiresAt,
    revokedAt: revokedAt ?? undefined,
    lastUsedAt: lastUsedAt ?? undefined,
  };
}

function protocol(db: SqliteDatabase, holder: string) {
  const expiring = (table: 'tasks' | 'sessions') => ({
    put: (id: string, record: object, expiresAt: number): void =>
      void db.run(
        `insert into ${table} values (?, ?, ?, ?)
         on conflict do update set record = excluded.record, expires_at = excluded.expires_at, holder = excluded.holder`,
        id,
        JSON.stringify(record),
        expiresAt,
        holder,
      ),
    get: (id: string): Held | undefined =>
      db.get<Held>(`select record, holder from ${table} where id = ? and expires_at > ?`, id, Date.now()),
  });
  const tasks = expiring('tasks');
  const sessions = expiring('sessions');
  const putTask = (record: TaskRecord): void => tasks.put(record.id, record, record.createdAt + record.ttlMs);
  return {
    putTask,
    getTask(id: string): TaskRecord | undefined {
      const held = tasks.get(id);
      if (!held) return undefined;
      // Its process may have died while this one ran, or have been dying when this one started.
      const { task, hasDied } = settledTask(held, holder);
      if (hasDied) putTask(task);
      return task;
    },
    putSession: (record: SessionRecord): void =>
      sessions.put(record.id, record, record.createdAt + SESSION_MS),
    getSession(id: string): SessionRecord | undefined {
      const held = sessions.get(id);
      return held && (parseJson(held.record) as SessionRecord);
    },
    deleteSession: (id: string): void => void db.run('delete from sessions where id = ?', id),
    spend: (id: string, expiresAt: number): boolean =>
      db.run('insert into spent values (?, ?) on conflict do nothing', id, expiresAt) === 1,
    currentSealingKey(): { id: string; bytes: string } {
      const newest = db.get<{ id: string; bytes: string }>(
        'select id, bytes from sealing_keys where created_at > ? order by created_at desc limit 1',
        Date.now() - SEALING_KEY_MS,
      );
      if (newest) return { id: newest.id, bytes: newest.bytes };
      const made = { id: randomBytes(4).toString('hex'), bytes: randomBytes(32).toString('base64url') };
      db.run('insert into sealing_keys values (?, ?, ?)', made.id, made.bytes, Date.now());
      return made;
    },
    findSealingKey: (id: string): string | undefined =>
      db.get<{ bytes: string }>('select bytes from sealing_keys where id = ?', id)?.bytes,
  };
}

function events(db: SqliteDatabase) {
  return {
    keepEvent(stream: string, { id, text }: StreamEvent): void {
      const n = db.get<{ n: number }>(
        'select coalesce(max(n), 0) + 1 as n from events where stream = ?',
        stream,
      )!.n;
      db.run('insert into events values (?, ?, ?, ?, ?)', stream, n, id, text, Date.now());
      db.run('delete from events where stream = ? and n <= ?', stream, n - MAX_EVENTS_PER_STREAM);
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

function upkeep(db: SqliteDatabase) {
  return {
    /** Removes what has run out. */
    sweep(): void {
      const now = Date.now();
      for (const table of ['tasks', 'sessions', 'spent', 'reservations', 'approvals'])
        db.run(`delete from ${table} where expires_at <= ?`, now);
      db.run('delete from quotas where ends_at <= ?', now);
      db.run('delete from events where at <= ?', now - HOUR_MS);
      db.run('delete from sealing_keys where created_at <= ?', now - 2 * SEALING_KEY_MS);
    },
  };
}
