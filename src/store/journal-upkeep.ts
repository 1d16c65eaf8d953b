import type { KeyObject } from 'node:crypto';
import { openCheckpoint } from './checkpoint.ts';
import { isRunning } from './holder.ts';
import { endIntent, holderOf } from './intent.ts';
import type { JournalWriter } from './journal-writer.ts';
import { OPERATOR_CHAIN } from './operator-chain.ts';
import { settledTask, type Held } from './settled-task.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { Entry } from './store.ts';

/** Puts on record that nobody knows how the calls of a process that died have ended. */
export function settleIntents(db: SqliteDatabase, writer: JournalWriter, own: string): void {
  const left = writer.intents.entries().filter(([call]) => !isRunning(holderOf(call), own));
  if (left.length === 0) return;
  const ending = { outcome: 'unknown', reason: 'The process ended while the call ran.' };
  const rows = left.map(([, intent]) => endIntent(intent, ending));
  db.atOnce(() => writer.write(rows));
  writer.kept(rows);
}

/** Ends the tasks of processes that died. */
export function settleTasks(db: SqliteDatabase, own: string): void {
  for (const { id, ...kept } of db.all<Held & { id: string }>('select id, record, holder from tasks')) {
    const { task, hasDied } = settledTask(kept, own);
    if (hasDied) db.run('update tasks set record = ? where id = ?', JSON.stringify(task), id);
  }
}

/** How long rows are kept. */
export interface Retention {
  readonly days: number;
  /** Checks the checkpoints. */
  readonly key: KeyObject;
}

/** Cuts off rows older than some days, at a checkpoint and nowhere else, and puts that on record. */
export function retain(db: SqliteDatabase, writer: JournalWriter, { days, key }: Retention): void {
  const dueBefore = Date.now() - days * 24 * 3_600_000;
  const cut = db.get<{ n: number; up_to: number; line: string }>(
    'select n, up_to, line from checkpoints where at < ? order by n desc limit 1',
    dueBefore,
  );
  const oldest = db.get<{ id: number | null }>('select min(id) as id from journal')?.id;
  if (!cut || oldest === null || oldest === undefined || oldest > cut.up_to) return;
  // Whoever can write to the database can give a checkpoint another time or place beside what was signed.
  const signed = openCheckpoint(cut.line, key);
  if (signed?.n !== cut.n || signed.upTo !== cut.up_to || !(Date.parse(signed.at) < dueBefore))
    throw new Error(
      `checkpoint ${cut.n} in the database was changed, so old rows are kept; run: toolcrib audit verify`,
    );
  const facts = { kind: 'cut', at: new Date().toISOString(), checkpoint: cut.n, upTo: cut.up_to, days };
  const rows: Entry[] = [{ chain: OPERATOR_CHAIN, body: JSON.stringify(facts) }];
  db.atOnce(() => {
    db.run('delete from journal where id <= ?', cut.up_to);
    writer.write(rows);
  });
  writer.kept(rows);
}
