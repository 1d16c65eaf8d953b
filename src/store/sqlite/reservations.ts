import { tenantOf } from '../../core/caller.ts';
import { shareLimits } from '../../core/memory/limits.ts';
import type { KeptText } from '../../core/memory/text.ts';
import { notKept, type NotKept } from '../../core/memory/text.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Reservation } from '../../core/memory/memory.ts';
import type { SqliteDatabase } from './database.ts';
import { KEYS, type Removed, type SqliteShares } from './shares.ts';
import type { Reserved } from '../store.ts';

// Limits how many small outcomes are dropped to make room for a large one; each costs a write.
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
  readonly bytes: number;
}

/** A reservation whose outcome is too large to return with small responses. */
export interface Elsewhere {
  readonly subject: string;
  readonly bytes: number;
}

/** Takes and releases keys, and finds outcomes; each runs inside the transaction of its batch. */
export function reservations(db: SqliteDatabase, shares: SqliteShares) {
  const insert = ({ owner, key, subject, expiresAt }: Reservation): boolean =>
    db.run(
      'insert into reservations (owner, key, subject, expires_at, tenant) values (?, ?, ?, ?, ?) on conflict do nothing',
      owner,
      key,
      subject,
      expiresAt,
      tenantOf(owner),
    ) === 1;
  const remove = (owner: string, key: string, which: string): boolean => {
    const removed = db.all<Removed>(
      `delete from reservations where owner = ? and key = ? and ${which} returning owner, bytes`,
      owner,
      key,
    );
    shares.remove('reservations', removed);
    return removed.length > 0;
  };
  return {
    ...outcomes(db, shares),
    /** Takes a key; `false` if it is taken. */
    reserve: (reservation: Reservation): boolean => {
      const { owner, key } = reservation;
      const isTaken = !insert(reservation);
      if (isTaken && !(remove(owner, key, `expires_at <= ${Date.now()}`) && insert(reservation)))
        return false;
      shares.add('reservations', owner, { rows: 1, bytes: 0 });
      return true;
    },
    /** Whether an owner or its tenant has too many keys. */
    isFull: (owner: string): boolean =>
      shares.held('reservations', owner).rows >= KEYS.caller ||
      shares.held('reservations', tenantOf(owner)).rows >= KEYS.tenant,
    /** The outcome of a call under a key, or its size if that is larger than asked for. */
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
      void remove(owner, key, 'outcome is null and not_kept is null'),
  };
}

function outcomes(db: SqliteDatabase, shares: SqliteShares) {
  const drop = ({ owner, key, outcome, bytes }: Outcome): void => {
    db.run(
      'update reservations set outcome = null, bytes = 0, not_kept = ? where owner = ? and key = ?',
      JSON.stringify(notKept(outcome)),
      owner,
      key,
    );
    shares.add('reservations', owner, { rows: 0, bytes: -bytes });
  };
  // Replaces the oldest outcomes of a caller or tenant by digests; `false` if that is not enough.
  const makeRoom = (owner: string): boolean => {
    const { caller, tenant } = shareLimits.outcomes;
    const parts = [
      ['owner', owner, caller],
      ['tenant', tenantOf(owner), tenant],
    ] as const;
    let left = MAX_DROPPED;
    for (const [column, name, { bytes }] of parts)
      while (shares.held('reservations', name).bytes > bytes) {
        const oldest = db.get<Outcome>(
          `select owner, key, outcome, bytes from reservations where ${column} = ? and bytes > 0 order by expires_at limit 1`,
          name,
        );
        if (left-- <= 0 || !oldest) return false;
        drop(oldest);
      }
    return true;
  };
  return {
    /** Stores that a call ended, with only the digest of its outcome. */
    finishWithout: (owner: string, key: string, left: NotKept): void =>
      void db.run(
        'update reservations set not_kept = ? where owner = ? and key = ? and outcome is null',
        JSON.stringify(left),
        owner,
        key,
      ),
    /** Stores the outcome of a call; an earlier outcome is kept. */
    finish(owner: string, key: string, { text, bytes }: KeptText): void {
      const isKept = db.run(
        `update reservations set outcome = ?, bytes = ? where owner = ? and key = ?
         and outcome is null and not_kept is null`,
        text,
        bytes,
        owner,
        key,
      );
      if (isKept === 0) return;
      shares.add('reservations', owner, { rows: 0, bytes });
      if (!makeRoom(owner)) drop({ owner, key, outcome: text, bytes });
    },
  };
}
