import { readFileSync, writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { createStoreFolder, type StoreFolder } from './store-folder.ts';
import { genesis, linkRow, parseRow, writeRow } from '../src/store/journal/chain.ts';
import {
  checkpointKeys,
  fingerprint,
  openCheckpoint,
  signCheckpoint,
} from '../src/store/journal/checkpoint.ts';
import { retain } from '../src/store/sqlite/journal-upkeep.ts';
import { JournalWriter } from '../src/store/sqlite/journal-writer.ts';
import { SqliteDatabase } from '../src/store/sqlite/database.ts';
import { migrate } from '../src/store/sqlite/schema.ts';
import { verifyJournal, type JournalVerdict } from '../src/store/journal/verify.ts';

const DAY_MS = 24 * 3_600_000;

/** A record with everything that can be done to it, allowed or not. */
export interface TestRecord extends StoreFolder {
  readonly db: SqliteDatabase;
  /** Writes one group of a row for each chain. */
  write(chains?: readonly string[]): void;
  writer(): JournalWriter;
  rowsOf(group: number): string[];
  change(group: number, how: (rows: string) => string): void;
  /** Makes every chain anew with changed bodies, as somebody without the key could. */
  rebuild(how: (body: string) => string): void;
  lines(): string[];
  withoutCheckpoints(): void;
  /** Makes the first checkpoints 60 days old. */
  age(checkpoints: number): void;
  /** Cuts off what is older than so many days. */
  retain(days: number): void;
  /** Moves everything into the database file itself. */
  settle(): void;
  verify(signingKey?: string): JournalVerdict;
  /** Checks it against other copies of the checkpoints than its own. */
  verifyWith(checkpointFiles: readonly string[]): JournalVerdict;
}

/** Seven groups of two rows of acme; two have a row of other. Every second group has a checkpoint. */
export async function createRecord({ groups = 7 } = {}): Promise<TestRecord> {
  const folder = createStoreFolder();
  const db = new SqliteDatabase(folder.file);
  onTestFinished(() => db.close());
  db.run('pragma synchronous = off');
  await migrate(db);
  const { signing, checking } = checkpointKeys(folder.signingKey);
  const writer = new JournalWriter(db, {
    key: signing,
    files: [folder.copy],
    everyRows: 1_000,
  });
  let n = 0;
  const write: TestRecord['write'] = (chains = ['acme', 'acme']) => {
    n++;
    const entries = chains.map((chain, at) => ({ chain, body: JSON.stringify({ kind: 'call', n, at }) }));
    db.atOnce(() => writer.write(entries));
    writer.kept(entries);
  };
  for (let group = 1; group <= groups; group++) {
    write(group % 3 === 2 ? ['acme', 'other', 'acme'] : undefined);
    if (group % 2 === 0) writer.checkpoint();
  }
  const rowsOf: TestRecord['rowsOf'] = (group) =>
    db.get<{ rows: string }>('select rows from journal where id = ?', group)!.rows.split('\n');
  const change: TestRecord['change'] = (group, how) =>
    void db.run('update journal set rows = ? where id = ?', how(rowsOf(group).join('\n')), group);
  return {
    ...folder,
    db,
    write,
    writer: () => writer,
    rowsOf,
    change,
    rebuild(how) {
      const heads = new Map<string, ReturnType<typeof genesis>>();
      for (const { id } of db.all<{ id: number }>('select id from journal order by id')) {
        const made = rowsOf(id).map((line) => {
          const { chain, body } = parseRow(line)!;
          const changed = how(body);
          const head = linkRow(heads.get(chain) ?? genesis(chain), changed);
          heads.set(chain, head);
          return writeRow(chain, head, changed);
        });
        change(id, () => made.join('\n'));
      }
      for (const [chain, { seq, hash }] of heads)
        db.run('update heads set seq = ?, hash = ? where chain = ?', seq, hash, chain);
    },
    verifyWith: (checkpointFiles) =>
      folder.inside((other) =>
        verifyJournal(other, { checkpointFiles, key: checkpointKeys(folder.signingKey).checking }),
      ),
    settle: () => void db.get('pragma wal_checkpoint(truncate)'),
    lines: () => readFileSync(folder.copy, 'utf8').trimEnd().split('\n'),
    withoutCheckpoints() {
      db.run('delete from checkpoints');
      db.run('delete from heads');
      writeFileSync(folder.copy, '');
    },
    age(checkpoints) {
      const made: string[] = [];
      const all = db.all<{ line: string }>('select line from checkpoints order by n');
      for (const { line } of all) {
        const kept = openCheckpoint(line, checking)!;
        const at = kept.n <= checkpoints ? new Date(Date.now() - 60 * DAY_MS) : new Date(kept.at);
        const before = made.length === 0 ? '' : fingerprint(made.at(-1)!);
        made.push(signCheckpoint({ ...kept, at: at.toISOString(), before }, signing));
        db.run('update checkpoints set at = ?, line = ? where n = ?', at.getTime(), made.at(-1)!, kept.n);
      }
      writeFileSync(folder.copy, `${made.join('\n')}\n`);
    },
    retain: (days) => retain(db, writer, { days, key: checking }),
  };
}
