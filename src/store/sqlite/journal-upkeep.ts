import type { KeyObject } from 'node:crypto';
import { openCheckpoint } from '../journal/checkpoint.ts';
import { isRunning } from '../journal/holder.ts';
import { endIntent, holderOf } from '../journal/intent.ts';
import type { JournalWriter } from './journal-writer.ts';
import { OPERATOR_CHAIN } from '../journal/chain.ts';
import { settledTask, type Held } from '../journal/settled-task.ts';
import type { SqliteDatabase } from './database.ts';
import type { Entry } from '../store.ts';

/** Records that the outcome of the calls of a dead process is unknown. */
export function settleIntents(db: SqliteDatabase, writer: JournalWriter, own: string): void {
  const left = writer.intents.entries().filter(([call]) => !isRunning(holderOf(call), own));
  if (left.length === 0) return;
  const ending = { outcome: 'unknown', reason: 'The process ended while the call ran.' };
  const rows = left.map(([, intent]) => endIntent(intent, ending));
  db.atOnce(() => writer.write(rows));
  writer.kept(rows);
}

/** Ends the tasks of dead processes. */
export function settleTasks(db: SqliteDatabase, own: string): void {
  for (const { id } of db.all<{ id: string }>('select id from tasks where is_open')) {
    const kept = db.get<Held>('select record, holder from tasks where id = ?', id)!;
    const { task, hasDied } = settledTask(kept, own);
    if (!hasDied) continue;
    db.run('update tasks set record = ?, is_open = 0 where id = ?', JSON.stringify(task), id);
  }
}

/** How long rows are kept. */
export interface Retention {
  readonly days: number;
  /** Verifies the checkpoints. */
  readonly key: KeyObject;
}

// The most that one transaction removes, as far as checkpoints allow: new rows wait for it.
const SLICE_BYTES = 8 * 1_048_576;
const SLICE_GROUPS = 5_000;

interface Cut {
  readonly n: number;
  readonly up_to: number;
  readonly line: string;
}

/**
 * Removes a slice of the rows older than some days, always up to a checkpoint, and records it; `true` if there may be
 * more.
 */
export function retain(db: SqliteDatabase, writer: JournalWriter, { days, key }: Retention): boolean {
  const dueBefore = Date.now() - days * 24 * 3_600_000;
  const last = db.get<Cut>(
    'select n, up_to, line from checkpoints where at < ? order by at desc, n desc limit 1',
    dueBefore,
  );
  const oldest = db.get<{ id: number | null }>('select min(id) as id from journal')?.id;
  if (!last || oldest === null || oldest === undefined || oldest > last.up_to) return false;
  const cut = sliceOf(db, oldest, last);
  // Anyone who can write to the database can change the unsigned time and number of a checkpoint.
  const signed = openCheckpoint(cut.line, key);
  if (signed?.n !== cut.n || signed.upTo !== cut.up_to || !(Date.parse(signed.at) < dueBefore))
    throw wasChanged(cut.n);
  const next = db.get<{ at: number }>('select at from checkpoints where n = ?', last.n + 1);
  if (next && next.at < dueBefore) throw wasChanged(last.n + 1);
  const facts = { kind: 'cut', at: new Date().toISOString(), checkpoint: cut.n, upTo: cut.up_to, days };
  const rows: Entry[] = [{ chain: OPERATOR_CHAIN, body: JSON.stringify(facts) }];
  db.atOnce(() => {
    db.run('delete from journal where id <= ?', cut.up_to);
    writer.write(rows);
  });
  writer.kept(rows);
  return cut.n !== last.n;
}

function wasChanged(n: number): Error {
  return new Error(
    `checkpoint ${n} in the database was changed, so old rows are kept; run: toolcrib audit verify`,
  );
}

// The last checkpoint whose rows are few enough for one slice; at least the next one.
function sliceOf(db: SqliteDatabase, oldest: number, last: Cut): Cut {
  let bytes = 0;
  let upTo = oldest;
  for (const group of db.all<{ id: number; bytes: number }>(
    `select id, octet_length(rows) as bytes from journal where id <= ? order by id limit ${SLICE_GROUPS}`,
    last.up_to,
  )) {
    bytes += group.bytes;
    if (bytes > SLICE_BYTES) break;
    upTo = group.id;
  }
  const select = 'select n, up_to, line from checkpoints where up_to >= ? and up_to <= ? order by up_to';
  return (
    db.get<Cut>(`${select} desc, n desc limit 1`, oldest, upTo) ??
    db.get<Cut>(`${select}, n limit 1`, oldest, last.up_to) ??
    last
  );
}
