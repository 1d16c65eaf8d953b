import type { JournalWriter } from './journal-writer.ts';
import { OPERATOR_CHAIN } from './operator-chain.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { Entry } from './store.ts';

interface Intent {
  readonly call: string;
  readonly chain: string;
  readonly pid: number;
  readonly body: string;
}

/** Puts on record that nobody knows how the calls of a process that died have ended. */
export function settleIntents(db: SqliteDatabase, writer: JournalWriter): void {
  const left = db
    .all<Intent>('select call, chain, pid, body from intents')
    .filter(({ pid }) => !isAlive(pid));
  if (left.length === 0) return;
  const rows: Entry[] = left.map(({ call, chain, body }) => {
    const tool = toolOf(body);
    const facts = { kind: 'outcome', call, at: new Date().toISOString(), tool, outcome: 'unknown' };
    return {
      chain,
      closes: call,
      body: JSON.stringify({ ...facts, reason: 'The process ended while the call ran.' }),
    };
  });
  db.atOnce(() => writer.write(rows));
  writer.kept(rows);
}

/** Cuts off rows older than some days, at a checkpoint and nowhere else, and puts that on record. */
export function retain(db: SqliteDatabase, writer: JournalWriter, days: number): void {
  const cut = db.get<{ n: number; up_to: number }>(
    'select n, up_to from checkpoints where at < ? order by n desc limit 1',
    Date.now() - days * 24 * 3_600_000,
  );
  const oldest = db.get<{ id: number | null }>('select min(id) as id from journal')?.id;
  if (!cut || oldest === null || oldest === undefined || oldest > cut.up_to) return;
  const facts = { kind: 'cut', at: new Date().toISOString(), checkpoint: cut.n, upTo: cut.up_to };
  const rows: Entry[] = [{ chain: OPERATOR_CHAIN, body: JSON.stringify(facts) }];
  db.atOnce(() => {
    db.run('delete from journal where id <= ?', cut.up_to);
    writer.write(rows);
  });
  writer.kept(rows);
}

function toolOf(intent: string): unknown {
  try {
    return (JSON.parse(intent) as { tool?: unknown } | null)?.tool;
  } catch {
    return undefined;
  }
}

// The id of a process may be given out again, to this one too: what is left under it is from before.
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
