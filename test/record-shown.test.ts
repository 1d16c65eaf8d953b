import { copyFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRecord, type TestRecord } from './journal-record.ts';
import { propertyRuns } from './property-runs.ts';
import { checkpointKeys } from '../src/store/journal/checkpoint.ts';
import { retain } from '../src/store/sqlite/journal-upkeep.ts';
import { JournalWriter } from '../src/store/sqlite/journal-writer.ts';
import { readJournal, type RowFilter } from '../src/store/journal/reader.ts';
import { SqliteDatabase } from '../src/store/sqlite/database.ts';
import type { Entry } from '../src/store/store.ts';
import { verifyJournal } from '../src/store/journal/verify.ts';

const DAY_MS = 24 * 3_600_000;
const NOW = Date.now();

/** Every table that a command or a start reads and that is about rows. */
const COLUMNS = {
  journal: ['id', 'at', 'rows'],
  checkpoints: ['n', 'up_to', 'at', 'line'],
  heads: ['chain', 'seq', 'hash'],
  intents: ['call', 'chain', 'body'],
} as const;
type Table = keyof typeof COLUMNS;
const TABLES = Object.keys(COLUMNS) as Table[];

test('E1 a changed time of a group hides no row', async () => {
  const { db, verify } = await agedRecord();
  db.run('update journal set at = -1');
  const rows = [...readJournal(db, { order: 'oldest', limit: Infinity })];
  expect([verify().problem, rows.length]).toEqual([undefined, verify().rows]);
  const recent = { since: NOW - DAY_MS, order: 'oldest', limit: Infinity } as const;
  expect([...readJournal(db, recent)]).toHaveLength(rows.length / 2);
});

test.each([
  ['put in', "insert into intents select 'x-1', chain, replace(body, 'live-7', 'x-1') from intents limit 1"],
  ['removed', 'delete from intents'],
  ['given to another tenant', "update intents set chain = 'acme'"],
  ['changed', "update intents set body = replace(body, 'ada', 'eve')"],
])('E1 an open intent that was %s is detected', async (_how, sql) => {
  const { db, verify } = await agedRecord();
  expect(verify().problem).toBeUndefined();
  db.run(sql);
  expect(verify().problem).toEqual({
    what: 'The open intents kept in the database are not those that were signed.',
  });
});

test('E1 swapped rows of different tenants are detected', async () => {
  const { change, verify } = await agedRecord();
  change(2, (rows) => rows.split('\n').toReversed().join('\n'));
  expect(verify().problem).toMatchObject({ what: expect.stringContaining('not in the order') });
});

test('E1 any change in the database is either detected, or changes nothing that is shown', async () => {
  const record = await agedRecord();
  record.settle();
  const before = shownBy(copyOf(record), record);
  expect(before.problem).toBeUndefined();
  const found: unknown[] = [];
  fc.assert(
    fc.property(changes, (change) => {
      const copy = copyOf(record);
      if (!apply(copy, change)) return;
      const after = shownBy(copy, record);
      if (after.problem === undefined) expect(after).toEqual(before);
      else found.push(change);
    }),
    { numRuns: propertyRuns(150, 150) },
  );
  // Many changes are found, so the property is not about nothing.
  expect(found.length).toBeGreaterThan(propertyRuns(150) / 5);
});

type Change =
  | { how: 'value'; table: Table; column: number; row: number; value: string | number | null }
  | { how: 'other' | 'lines' | 'letter'; table: Table; column: number; row: number; at: number }
  | { how: 'delete'; table: Table; row: number };

const place = { table: fc.constantFrom(...TABLES), column: fc.nat(3), row: fc.nat(9) };
const values = fc.oneof(
  fc.constantFrom(-1, 0, 1, 2, 3, NOW, NOW - 30 * DAY_MS, 2 ** 53, '', '{}', 'acme', null),
  fc.integer(),
  fc.string(),
);
const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ how: fc.constant('value' as const), ...place, value: values }),
  fc.record({ how: fc.constantFrom('other', 'lines', 'letter'), ...place, at: fc.nat(999) }),
  fc.record({ how: fc.constant('delete' as const), table: place.table, row: place.row }),
);

/** Does it; `false` where the database refuses it or nothing is different. */
function apply(db: SqliteDatabase, change: Change): boolean {
  const rows = db.all<Record<string, string | number>>(`select rowid as place, * from ${change.table}`);
  const row = rows[change.row % rows.length]!;
  try {
    if (change.how === 'delete')
      return db.run(`delete from ${change.table} where rowid = ?`, row['place']!) === 1;
    const columns = COLUMNS[change.table];
    const column = columns[change.column % columns.length]!;
    const value = newValue(
      change,
      row[column]!,
      rows.map((one) => one[column]!),
    );
    if (value === row[column]) return false;
    return db.run(`update ${change.table} set ${column} = ? where rowid = ?`, value, row['place']!) === 1;
  } catch {
    return false;
  }
}

function newValue(
  change: Exclude<Change, { how: 'delete' }>,
  old: string | number,
  all: readonly (string | number)[],
): string | number | null {
  if (change.how === 'value') return change.value;
  if (change.how === 'other') return all[change.at % all.length]!;
  if (typeof old === 'number') return old + change.at - 500;
  if (change.how === 'lines') return old.split('\n').toReversed().join('\n');
  const at = change.at % Math.max(old.length, 1);
  return `${old.slice(0, at)}x${old.slice(at + 1)}`;
}

/** What the check says, and what commands, a start and the next cut make of a database; it is closed after that. */
function shownBy(db: SqliteDatabase, { copy, signingKey }: TestRecord) {
  const { signing, checking } = checkpointKeys(signingKey);
  const { problem } = verifyJournal(db, { checkpointFiles: [copy], key: checking });
  // What was found is found; only what was not must be as before.
  if (problem) {
    db.close();
    return { problem };
  }
  const filters: Partial<RowFilter>[] = [
    {},
    { chain: 'other' },
    { since: NOW - 30 * DAY_MS },
    { until: NOW - 30 * DAY_MS },
    { since: NOW - 60 * DAY_MS - 5_000, until: NOW - 60 * DAY_MS + 5_000 },
    { fields: [{ names: ['tool'], value: 'pay' }], since: NOW - DAY_MS },
  ];
  const show = () =>
    filters.flatMap((filter) =>
      (['oldest', 'newest'] as const).map((order) => [...readJournal(db, { limit: 100, order, ...filter })]),
    );
  const shown = show();
  const writer = new JournalWriter(db, { key: signing, files: [], everyRows: 1_000 });
  const intents = writer.intents.entries();
  retain(db, writer, { days: 30, key: checking });
  const left = show().map((rows) =>
    rows.map(({ chain, seq, hash, facts }) =>
      facts['kind'] === 'cut' ? { chain, seq } : { chain, seq, hash },
    ),
  );
  db.close();
  return { problem, shown, intents, left };
}

let copies = 0;

function copyOf({ file }: TestRecord): SqliteDatabase {
  const copied = `${file}.${++copies}`;
  copyFileSync(file, copied);
  return new SqliteDatabase(copied, 'existing');
}

/** Eight groups of two tenants' rows, the first four 60 days old, all covered by checkpoints; one intent is open. */
async function agedRecord(): Promise<TestRecord> {
  const record = await createRecord({ groups: 0 });
  const writer = record.writer();
  for (let n = 1; n <= 8; n++) {
    const at = new Date(NOW - (n <= 4 ? 60 * DAY_MS : 0) + n).toISOString();
    const bodies = [
      `{"kind":"call","call":"dead-${n}","at":"${at}","tool":"pay","caller":"ada"}`,
      `{"kind":"${n === 7 ? 'intent' : 'call'}","call":"live-${n}","at":"${at}","tool":"get","caller":"ada"}`,
    ];
    const entries: Entry[] = bodies.map((body, index) => ({ chain: index === 0 ? 'acme' : 'other', body }));
    record.db.atOnce(() => writer.write(entries));
    writer.kept(entries);
    if (n % 2 === 0) writer.checkpoint();
  }
  record.age(2);
  return record;
}
