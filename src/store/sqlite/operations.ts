import { randomBytes } from 'node:crypto';
import type { KeyRecord, TenantRecord } from '../../core/memory/identities.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Reservation } from '../../core/memory/memory.ts';
import type { SqliteDatabase } from './database.ts';
import { approvals, approvalUses } from './approvals.ts';
import { events, keptBodies } from './kept.ts';
import { pins } from './pins.ts';
import { reservations } from './reservations.ts';
import { SqliteShares } from './shares.ts';
import { SEALING_KEY_MS } from './sweep.ts';
import type { Committed } from '../store.ts';

interface Kept {
  readonly record: string;
}

interface KeyRow extends Kept {
  readonly revoked_at: number | null;
  readonly last_used_at: number | null;
}

/** The operations of the store beside writing rows, by name; each runs inside the transaction of its batch. */
export type Operations = ReturnType<typeof createOperations>;

/** The name of an operation. */
export type OperationName = keyof Operations;

/** Makes the operations for a database; the caller must flush `shares` after changes. */
export function createOperations(db: SqliteDatabase, holder: string, shares = new SqliteShares(db)) {
  return {
    ...claims(db, shares),
    ...identities(db),
    ...keptBodies(db, shares, holder),
    ...events(db, shares),
    ...protocol(db),
    ...pins(db),
  };
}

function claims(db: SqliteDatabase, shares: SqliteShares) {
  const { reserve, isFull, ...keys } = reservations(db, shares);
  const uses = approvalUses(db);
  const isTaken = ({ owner, key }: Reservation): boolean => keys.findReserved(owner, key, 0) !== undefined;
  return {
    ...approvals(db, shares),
    ...uses,
    ...keys,
    /** Takes a key and uses up an approval, or does neither. */
    claim(reservation: Reservation | undefined, approval: string | undefined): Committed {
      if (approval !== undefined && !uses.useApproval(approval)) return 'unapproved';
      const isRefused = reservation && isFull(reservation.owner) && !isTaken(reservation);
      if (!reservation || (!isRefused && reserve(reservation))) return 'committed';
      if (approval !== undefined) uses.giveBackApproval(approval);
      return isRefused ? 'full' : 'taken';
    },
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

function protocol(db: SqliteDatabase) {
  return {
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
