import { tenantOf } from '../core/digest.ts';
import { shareLimits } from '../core/kept-limits.ts';
import type { KeptText } from '../core/kept-text.ts';
import { notKept, type NotKept } from '../core/not-kept.ts';
import { parseJson } from '../core/parse-json.ts';
import type { Reservation } from '../core/reservation.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import { createShares, KEYS } from './sqlite-shares.ts';
import type { Reserved } from './store.ts';

// To make room for a large outcome many small ones may have to go; each costs a write.
const MAX_DROPPED = 256;

interface Row {
  readonly subject: string;
  readonly outcome: string | null;
  readonly not_kept: string | null;
  readonly bytes: number;
}

interface Outcome {
  readonly owner: string;
  readonly key: string;
  readonly outcome: string;
}

/** A reservation whose outcome is too large to come with small answers. */
export interface Elsewhere {
  readonly subject: string;
  readonly bytes: number;
}

/** How keys are taken and given back, and outcomes found; each runs inside the transaction of its group. */
export function reservations(db: SqliteDatabase) {
  const shares = createShares(db);
  return {
    ...outcomes(db),
    /** Takes a key; `false` when it is taken. */
    reserve: ({ owner, key, subject, expiresAt }: Reservation): boolean =>
      db.run(
        `insert into reservations (owner, key, subject, expires_at, tenant) values (?, ?, ?, ?, ?)
         on conflict do update set subject = excluded.subject, outcome = null, bytes = 0, not_kept = null,
         expires_at = excluded.expires_at where expires_at <= ?`,
        owner,
        key,
        subject,
        expiresAt,
        tenantOf(owner),
        Date.now(),
      ) === 1,
    /** Whether there is no room for one more key of an owner. */
    isFull: (owner: string): boolean =>
      shares.held('reservations', owner).rows >= KEYS.caller ||
      shares.held('reservations', tenantOf(owner)).rows >= KEYS.tenant,
    /** How a call under a key ended, or how large that is when it is larger than asked for. */
    findReserved(owner: string, key: string, maxBytes: number): Reserved | Elsewhere | undefined {
      const row = db.get<Row>(
        `select subject, not_kept, bytes, case when bytes <= ? then outcome end as outcome
         from reservations where owner = ? and key = ? and expires_at > ?`,
        maxBytes,
        owner,
        key,
        Date.now(),
      );
      if (!row) return undefined;
      const { subject, outcome, not_kept: left, bytes } = row;
      if (bytes > maxBytes) return { subject, bytes };
      const gone = left === null ? undefined : (parseJson(left) as NotKept);
      return { subject, outcome: outcome ?? undefined, ...(gone && { notKept: gone }) };
    },
    release: (owner: string, key: string): void =>
      void db.run(
        'delete from reservations where owner = ? and key = ? and outcome is null and not_kept is null',
        owner,
        key,
      ),
  };
}

function outcomes(db: SqliteDatabase) {
  const shares = createShares(db);
  const finishWithout = (owner: string, key: string, left: NotKept): void =>
    void db.run(
      'update reservations set outcome = null, bytes = 0, not_kept = ? where owner = ? and key = ?',
      JSON.stringify(left),
      owner,
      key,
    );
  // The oldest outcome of a caller or tenant becomes its digest; `false` when none is left.
  const dropOldest = (column: 'owner' | 'tenant', name: string): boolean => {
    const oldest = db.get<Outcome>(
      `select owner, key, outcome from reservations where ${column} = ? and bytes > 0 order by expires_at limit 1`,
      name,
    );
    if (oldest) finishWithout(oldest.owner, oldest.key, notKept(oldest.outcome));
    return oldest !== undefined;
  };
  const makeRoom = (owner: string): boolean => {
    const { caller, tenant } = shareLimits.outcomes;
    const parts = [
      ['owner', owner, caller],
      ['tenant', tenantOf(owner), tenant],
    ] as const;
    let left = MAX_DROPPED;
    for (const [column, name, { bytes }] of parts)
      while (shares.held('reservations', name).bytes > bytes)
        if (left-- <= 0 || !dropOldest(column, name)) return false;
    return true;
  };
  return {
    finishWithout,
    /** Keeps how a call ended. */
    finish(owner: string, key: string, { text, bytes }: KeptText): void {
      db.run(
        'update reservations set outcome = ?, bytes = ?, not_kept = null where owner = ? and key = ?',
        text,
        bytes,
        owner,
        key,
      );
      if (!makeRoom(owner)) finishWithout(owner, key, notKept(text));
    },
  };
}
