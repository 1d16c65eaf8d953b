import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstFew, propertyRuns } from '../../../test/property-runs.ts';
import { createRecord } from '../../../test/journal-record.ts';
import { newSigningKey } from '../../../test/store-folder.ts';
import { genesis, linkRow, parseRow, writeRow } from './chain.ts';
import { checkpointKeys, fingerprint, openCheckpoint, signCheckpoint } from './checkpoint.ts';

const PAGE_BYTES = 16_384;

describe('E1 an unchanged record', () => {
  test('is good, and every row up to the last checkpoint is proven (000-39)', async () => {
    const { verify } = await createRecord();
    expect(verify()).toEqual({
      problem: undefined,
      rows: 16,
      chains: 2,
      checkpoints: 3,
      unproven: 2,
      cut: undefined,
      missingCopies: [],
    });
  });

  test('is good when it is empty, and before its first checkpoint', async () => {
    const record = await createRecord({ groups: 0 });
    expect(record.verify()).toMatchObject({ problem: undefined, rows: 0, unproven: 0 });
    record.write();
    expect(record.verify()).toMatchObject({ problem: undefined, rows: 2, unproven: 2, checkpoints: 0 });
  });
});

describe('E1 the first bad row is named', () => {
  const first = { chain: 'acme', seq: 3 };

  test('when a letter of a row is changed', async () => {
    const { change, verify } = await createRecord();
    change(2, (rows) => rows.replace('"n":2', '"n":7'));
    expect(verify().problem).toEqual({ ...first, group: 2, what: 'The row was changed.' });
  });

  test('when its hash is changed', async () => {
    const { change, verify, rowsOf } = await createRecord();
    const { hash } = parseRow(rowsOf(2)[0]!)!;
    change(2, (rows) => rows.replace(hash, `${hash.slice(0, -2)}AA`));
    expect(verify().problem).toMatchObject(first);
  });

  test('when its sequence number is changed', async () => {
    const { change, verify } = await createRecord();
    change(2, (rows) => rows.replace('acme\t3\t', 'acme\t4\t'));
    expect(verify().problem).toMatchObject(first);
  });

  test('when it is moved to another chain', async () => {
    const { change, verify } = await createRecord();
    change(2, (rows) => rows.replace('acme\t3\t', 'other\t3\t'));
    expect(verify().problem).toMatchObject({ chain: 'other', seq: 1, group: 2 });
    change(2, (rows) => rows.replace('other\t3\t', 'nobody\t3\t'));
    expect(verify().problem).toMatchObject({ chain: 'nobody', seq: 1, group: 2 });
  });

  test('when a row is deleted', async () => {
    const { change, verify, rowsOf } = await createRecord();
    change(2, () => rowsOf(2).slice(1).join('\n'));
    expect(verify().problem).toMatchObject(first);
  });

  test('when a group is deleted', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run('delete from journal where id = 2'));
    expect(verify().problem).toMatchObject({ ...first, group: 2 });
    inside((db) => db.run('delete from checkpoints'));
    expect(verify().problem).toMatchObject(first);
  });

  test('when a group is deleted whose chains have no other rows', async () => {
    const record = await createRecord();
    record.write(['lonely']);
    record.write();
    const lonely = record.inside((db) => db.get<{ id: number }>('select max(id) - 1 as id from journal'))!.id;
    record.inside((db) => db.run('delete from journal where id = ?', lonely));
    expect(record.verify().problem).toMatchObject({ group: lonely });
    record.writer().checkpoint();
    expect(record.verify().problem).toMatchObject({ group: lonely });
  });

  test('when a row is inserted', async () => {
    const { change, verify, rowsOf } = await createRecord();
    change(2, () => [writeRow('acme', { seq: 3, hash: 'x'.repeat(43) }, '{}'), ...rowsOf(2)].join('\n'));
    expect(verify().problem).toMatchObject(first);
  });

  test('when a new chain is inserted among rows that a checkpoint covers', async () => {
    const { change, verify, rowsOf } = await createRecord();
    const invented = writeRow('ghost', linkRow(genesis('ghost'), '{}'), '{}');
    change(2, () => [...rowsOf(2), invented].join('\n'));
    expect(verify().problem).toMatchObject({ chain: 'ghost', seq: 1 });
  });

  test('when two rows are swapped', async () => {
    const { change, verify, rowsOf } = await createRecord();
    const [a, b, c] = rowsOf(2);
    change(2, () => [c, b, a].join('\n'));
    expect(verify().problem).toMatchObject(first);
  });

  test('when two groups are swapped', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => {
      db.run('update journal set id = -1 where id = 2');
      db.run('update journal set id = 2 where id = 3');
      db.run('update journal set id = 3 where id = -1');
    });
    expect(verify().problem).toMatchObject({ ...first, group: 2 });
  });

  test('when a row is duplicated', async () => {
    const { change, verify, rowsOf } = await createRecord();
    change(2, () => [rowsOf(2)[0], ...rowsOf(2)].join('\n'));
    expect(verify().problem).toMatchObject(first);
  });

  test('when a group is duplicated', async () => {
    const { inside, verify } = await createRecord();
    inside((db) =>
      db.run(
        'insert into journal select (select max(id) + 1 from journal), at, rows from journal where id = 2',
      ),
    );
    expect(verify().problem).toMatchObject({ ...first, group: 8 });
  });

  test('when two writers have forked a chain', async () => {
    const record = await createRecord();
    const forked = record.rowsOf(7);
    const [row] = forked.map((line) => parseRow(line)!);
    const rival = linkRow(
      { seq: row!.seq - 1, hash: parseRow(record.rowsOf(6)[0]!)!.hash },
      '{"rival":true}',
    );
    record.inside((db) =>
      db.run('insert into journal values (8, 0, ?)', writeRow('acme', rival, '{"rival":true}')),
    );
    expect(record.verify().problem).toMatchObject({ chain: 'acme', seq: row!.seq, group: 8 });
  });

  test('when a line is not a row', async () => {
    const { change, verify } = await createRecord();
    change(2, (rows) => rows.replace('\t', ' '));
    expect(verify().problem).toMatchObject({ group: 2, what: expect.stringContaining('is not a row') });
  });
});

describe('E1 a database that cannot be read is reported as damaged, with the place', () => {
  const says = (what: string): object => ({ problem: { what: expect.stringContaining(what) } });

  test.each([
    ["rows = x'41'", 'Group 2 of the record is not text.'],
    ["rows = cast(x'ff41' as text)", 'Group 2 of the record is not text.'],
    ['rows = 7', 'of the record is not a row.'],
  ])('when a group is not text: %s', async (change, what) => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run(`update journal set ${change} where id = 2`));
    expect(verify()).toMatchObject({ problem: { group: 2, what: expect.stringContaining(what) }, rows: 2 });
  });

  test.each([
    ["line = x'41'", 'Checkpoint 1 in the database is not text.'],
    ["line = cast(x'ff' as text)", 'Checkpoint 1 in the database is not text.'],
    ["up_to = cast(x'ff' as text)", 'The place of checkpoint 1 in the database was changed.'],
  ])('when a checkpoint is invalid: %s', async (change, what) => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run(`update checkpoints set ${change} where n = 1`));
    expect(verify()).toMatchObject(says(what));
  });

  test.each(["hash = x'41'", "hash = cast(x'ff' as text)", "seq = 'x'", "chain = cast(x'ff' as text)"])(
    'when a head is invalid: %s',
    async (change) => {
      const { inside, verify } = await createRecord();
      inside((db) => db.run(`update heads set ${change} where chain = 'acme'`));
      expect(verify()).toMatchObject(says('The head kept in the database is not the one that was signed.'));
    },
  );

  test.each(['journal', 'checkpoints', 'heads'])('when the table %s is missing', async (table) => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run(`drop table ${table}`));
    expect(verify()).toMatchObject(says(`The table "${table}" is missing.`));
  });

  test.each([
    ['journal', 'The rows in the database cannot be read.'],
    ['checkpoints', 'The checkpoints in the database cannot be read.'],
    ['heads', 'The heads of the chains in the database cannot be read.'],
  ])('when the pages of the table %s were overwritten', async (table, what) => {
    const { inside, verify, settle, file, db } = await createRecord();
    settle();
    const page = inside((other) =>
      other.get<{ rootpage: number }>('select rootpage from sqlite_schema where name = ?', table),
    )!.rootpage;
    db.close();
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xa5, (page - 1) * PAGE_BYTES, page * PAGE_BYTES));
    expect(verify()).toMatchObject(says(what));
    expect(verify()).toMatchObject(says('The file is damaged: '));
  });
});

describe('E1 a missing copy of the checkpoints', () => {
  test('is named, and is not damage as long as another copy exists and agrees', async () => {
    const { copy, verifyWith, lines } = await createRecord();
    const added = `${copy}.added`;
    expect(verifyWith([copy, added])).toMatchObject({ problem: undefined, missingCopies: [added] });
    // One that is there and holds less is another matter.
    writeFileSync(added, '');
    expect(verifyWith([copy, added])).toMatchObject({
      problem: { what: `${added} lacks checkpoint 1; there are 3.` },
      missingCopies: [],
    });
    writeFileSync(added, `${lines().join('\n')}\n`);
    expect(verifyWith([copy, added])).toMatchObject({ problem: undefined, missingCopies: [] });
  });

  test('is named when it was removed; the remaining copy still shows missing rows', async () => {
    const { copy, verifyWith, inside } = await createRecord();
    const left = `${copy}.left`;
    copyFileSync(copy, left);
    rmSync(copy);
    expect(verifyWith([copy, left])).toMatchObject({ problem: undefined, missingCopies: [copy] });
    inside((db) => db.run('delete from journal where id >= 6'));
    expect(verifyWith([copy, left])).toMatchObject({
      problem: { chain: 'acme', seq: 11 },
      missingCopies: [copy],
    });
  });

  test.each([2, 3])(
    'is damage when no other copy is left, with %i checkpoints in the database',
    async (count) => {
      const { copy, verifyWith, inside } = await createRecord();
      inside((db) => db.run('delete from checkpoints where n > ?', count));
      rmSync(copy);
      const files = [copy, `${copy}.added`];
      expect(verifyWith(files)).toMatchObject({
        problem: {
          what: `No copy of the checkpoints is left; the database holds ${count}: ${files.join(', ')}`,
        },
        missingCopies: files,
      });
    },
  );

  test('is not reported after a crash between the first checkpoint and its copies', async () => {
    const { copy, verify, inside } = await createRecord({ groups: 2 });
    expect(inside((db) => db.get('select count(*) as n from checkpoints'))).toMatchObject({ n: 1 });
    rmSync(copy);
    expect(verify()).toMatchObject({ problem: undefined });
  });

  test('is not reported before the first checkpoint', async () => {
    const record = await createRecord({ groups: 0 });
    record.write();
    expect(record.verify()).toMatchObject({ problem: undefined, missingCopies: [record.copy] });
  });

  test('is not confused with a copy that cannot be read', async () => {
    const { copy, verify } = await createRecord();
    rmSync(copy);
    mkdirSync(copy);
    expect(() => verify()).toThrow(`${copy}, a copy of the checkpoints, cannot be read (EISDIR)`);
  });
});

describe('E1 rows that were removed from the end', () => {
  test('are detected if a checkpoint covers them', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run('delete from journal where id >= 6'));
    expect(verify().problem).toMatchObject({ chain: 'acme', seq: 11 });
  });

  test('are not detected without a checkpoint; the verdict says how many rows could be missing', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run('delete from journal where id = 7'));
    expect(verify()).toMatchObject({ problem: undefined, unproven: 0 });
  });

  test('are detected if all rows were removed', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run('delete from journal'));
    expect(verify().problem).toMatchObject({ chain: 'acme', seq: 1 });
  });

  test('are detected when an older copy of the database is restored', async () => {
    const { file, write, writer, verify, settle } = await createRecord();
    settle();
    copyFileSync(file, `${file}.old`);
    for (let n = 0; n < 2; n++) {
      write();
      writer().checkpoint();
    }
    expect(verify().problem).toBeUndefined();
    settle();
    copyFileSync(`${file}.old`, file);
    expect(verify().problem).toMatchObject({ chain: 'acme', seq: 15 });
  });

  test('control: are not detected without the copy of the checkpoints', async () => {
    const { file, copy, write, writer, verify, settle } = await createRecord();
    settle();
    copyFileSync(file, `${file}.old`);
    copyFileSync(copy, `${copy}.old`);
    write();
    writer().checkpoint();
    settle();
    copyFileSync(`${file}.old`, file);
    copyFileSync(`${copy}.old`, copy);
    expect(verify().problem).toBeUndefined();
  });
});

describe('E1 a chain that was rebuilt without the key', () => {
  test('is detected, and the rows that may be false are named', async () => {
    const { rebuild, verify } = await createRecord();
    rebuild((body) => body.replace('"n":2', '"n":7'));
    expect(verify().problem).toMatchObject({ chain: 'acme', seq: 1 });
  });

  test('is detected if rows were only inserted', async () => {
    const record = await createRecord();
    record.change(2, (rows) => `${rows}\n${writeRow('acme', { seq: 5, hash: 'x' }, '{"invented":true}')}`);
    record.rebuild((body) => body);
    expect(record.verify().problem).toMatchObject({ chain: 'acme', seq: 1 });
  });

  test('is detected from the last row on that a checkpoint proves', async () => {
    const { rebuild, verify } = await createRecord();
    rebuild((body) => body.replace('"n":4', '"n":7'));
    expect(verify().problem).toMatchObject({ chain: 'acme', seq: 5 });
  });

  test('control: is not detected without checkpoints', async () => {
    const { rebuild, verify, withoutCheckpoints } = await createRecord();
    rebuild((body) => body.replace('"n":2', '"n":7'));
    withoutCheckpoints();
    expect(verify()).toMatchObject({ problem: undefined, unproven: 16, checkpoints: 0 });
  });

  test('control: without checkpoints, removing its last rows is not detected either', async () => {
    const { inside, verify, withoutCheckpoints } = await createRecord();
    withoutCheckpoints();
    inside((db) => db.run('delete from journal where id >= 4'));
    expect(verify()).toMatchObject({ problem: undefined });
  });
});

describe('E1 checkpoints', () => {
  const says = (what: string): object => ({ problem: { what: expect.stringContaining(what) } });

  test('that were edited are detected, in the database and in the copy', async () => {
    const { inside, copy, verify, lines } = await createRecord();
    const edited = lines()[1]!.replace('"upTo":4', '"upTo":3');
    inside((db) => db.run('update checkpoints set line = ? where n = 2', edited));
    expect(verify()).toMatchObject(says('Checkpoint 2 in'));
    writeFileSync(copy, `${[lines()[0], edited, lines()[2]].join('\n')}\n`);
    expect(verify()).toMatchObject(says('Checkpoint 2 was not signed with this key, or was changed.'));
  });

  test('whose place in the database was changed are detected', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run('update checkpoints set up_to = 3 where n = 2'));
    expect(verify()).toMatchObject(says('The place of checkpoint 2 in the database was changed.'));
  });

  test.each(['0', "'soon'", "cast(x'ff' as text)", 'at - 60000'])(
    'whose time in the database was changed are detected: %s',
    async (time) => {
      const { inside, verify } = await createRecord();
      inside((db) => db.run(`update checkpoints set at = ${time} where n = 2`));
      expect(verify()).toMatchObject(says('The time of checkpoint 2 in the database was changed.'));
    },
  );

  test('that are missing from the copy are detected', async () => {
    const { copy, verify, lines } = await createRecord();
    const all = lines();
    writeFileSync(copy, `${[all[0], all[2]].join('\n')}\n`);
    expect(verify()).toMatchObject(says('lacks checkpoint 2'));
    writeFileSync(copy, `${all[0]}\n`);
    expect(verify()).toMatchObject(says('lacks checkpoint 2'));
    writeFileSync(copy, '');
    expect(verify()).toMatchObject(says('lacks checkpoint 1'));
  });

  test('that a crash kept out of the copy are not an error: the last one, whole or in part', async () => {
    const { copy, verify, lines } = await createRecord();
    const [a, b, c] = lines();
    writeFileSync(copy, `${a}\n${b}\n`);
    expect(verify().problem).toBeUndefined();
    writeFileSync(copy, `${a}\n${b}\n${c!.slice(0, 60)}`);
    expect(verify().problem).toBeUndefined();
    writeFileSync(copy, `${a}\n${b!.slice(0, 60)}\n${c}\n${b}\n${c}\n`);
    expect(verify().problem).toBeUndefined();
  });

  test('that are something else are detected', async () => {
    const { copy, verify, lines } = await createRecord();
    appendFileSync(copy, 'nonsense\n');
    expect(verify()).toMatchObject(says('Line 4 of'));
    writeFileSync(
      copy,
      `${lines().join('\n')}\n${lines()[2]!.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))}\n`,
    );
    expect(verify()).toMatchObject(says('holds two different checkpoints 3'));
  });

  test('that are missing from the database are detected', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run('delete from checkpoints where n = 2'));
    expect(verify()).toMatchObject(says('The database lacks checkpoint 2.'));
  });

  test('that were removed from the end of the database are detected', async () => {
    const { inside, verify, lines, signingKey } = await createRecord();
    const { checking } = checkpointKeys(signingKey);
    const heads = lines().map((line) => openCheckpoint(line, checking)!.heads['acme']!);
    inside((db) => {
      db.run('delete from checkpoints where n = 3');
      db.run("update heads set seq = ?, hash = ? where chain = 'acme'", ...heads[1]!);
      db.run("delete from heads where chain = 'other'");
      const [seq, hash] = openCheckpoint(lines()[0]!, checking)!.heads['other']!;
      db.run("insert into heads values ('other', ?, ?)", seq, hash);
    });
    expect(verify()).toMatchObject(says('The database ends at checkpoint 2, a copy at 3.'));
  });

  test('that were signed with another key are detected', async () => {
    const { verify } = await createRecord();
    expect(verify(newSigningKey())).toMatchObject(says('Checkpoint 1 was not signed with this key'));
  });

  test('that were all rebuilt with another key are detected', async () => {
    const record = await createRecord();
    const key = checkpointKeys(newSigningKey()).signing;
    const own = checkpointKeys(record.signingKey).checking;
    const made: string[] = [];
    for (const line of record.lines()) {
      const before = made.length === 0 ? '' : fingerprint(made.at(-1)!);
      made.push(signCheckpoint({ ...openCheckpoint(line, own)!, before }, key));
    }
    record.inside((db) => {
      for (const [index, line] of made.entries())
        db.run('update checkpoints set line = ? where n = ?', line, index + 1);
    });
    writeFileSync(record.copy, `${made.join('\n')}\n`);
    expect(record.verify()).toMatchObject(says('Checkpoint 1 was not signed with this key'));
  });

  test('whose heads were changed in the database are detected before a server continues from them', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run("update heads set hash = 'x' where chain = 'acme'"));
    expect(verify().problem).toMatchObject({ chain: 'acme' });
    inside((db) => db.run("delete from heads where chain = 'acme'"));
    expect(verify().problem).toMatchObject({ chain: 'acme' });
  });
});

describe('E1 retention', () => {
  test('cuts at a checkpoint and records it; the remaining rows are still proven', async () => {
    const record = await createRecord();
    record.age(2);
    record.retain(30);
    expect(record.inside((db) => db.get('select min(id) as id from journal'))).toMatchObject({ id: 5 });
    expect(record.verify()).toMatchObject({ problem: undefined, rows: 8, cut: { checkpoint: 2 } });
    record.change(5, (rows) => rows.replace('"n":5', '"n":7'));
    expect(record.verify().problem).toMatchObject({ chain: 'acme', seq: 9 });
  });

  test('keeps rows that are not old enough, and cuts nothing twice', async () => {
    const record = await createRecord();
    record.retain(30);
    expect(record.verify()).toMatchObject({ rows: 16, cut: undefined });
    record.age(2);
    record.retain(30);
    record.retain(30);
    expect(record.verify()).toMatchObject({ problem: undefined, rows: 8 });
  });

  test('can be repeated: a later cut replaces the note of the earlier one', async () => {
    const record = await createRecord();
    record.age(2);
    record.retain(30);
    record.write();
    record.writer().checkpoint();
    record.age(4);
    record.write();
    record.retain(30);
    expect(record.verify()).toMatchObject({ problem: undefined, rows: 3, cut: { checkpoint: 4 } });
  });

  test.each([
    ['the time of a young checkpoint', 'update checkpoints set at = 0 where n = 3'],
    ['how far an old one goes', 'update checkpoints set up_to = 6 where n = 2'],
    [
      'the line of an old one for that of a young one',
      'update checkpoints set (up_to, line) = (select up_to, line from checkpoints where n = 3) where n = 2',
    ],
  ])('does not trust a changed %s: nothing is cut', async (_what, change) => {
    const record = await createRecord();
    record.age(2);
    record.inside((db) => db.run(change));
    expect(() => record.retain(30)).toThrow(
      /^checkpoint \d in the database was changed, so old rows are kept/,
    );
    expect(record.inside((db) => db.get('select count(*) as n from journal'))).toMatchObject({ n: 7 });
  });

  test('that removed rows younger than it says is detected', async () => {
    const record = await createRecord();
    record.inside((db) => db.run('delete from journal where id <= 4'));
    const facts = { kind: 'cut', at: new Date().toISOString(), checkpoint: 2, upTo: 4, days: 30 };
    const note = [{ chain: '@operator', body: JSON.stringify(facts) }];
    record.db.atOnce(() => record.writer().write(note));
    record.writer().kept(note);
    expect(record.verify().problem).toMatchObject({
      chain: '@operator',
      seq: 1,
      what: 'Rows were cut off that were younger than the row says.',
    });
  });

  test('that is not on record is detected', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run('delete from journal where id <= 4'));
    expect(verify().problem).toMatchObject({
      chain: '@operator',
      what: 'Old rows were removed, and nothing on record says so.',
    });
  });

  test('that does not end at a checkpoint is detected', async () => {
    const { inside, verify } = await createRecord();
    inside((db) => db.run('delete from journal where id <= 3'));
    expect(verify().problem?.what).toBe('The record begins with group 4, and no checkpoint ends before it.');
  });
});

test('a group that was not written to disk leaves no gap in its chains', async () => {
  const record = await createRecord();
  const entries = ['acme', 'new'].map((chain) => ({ chain, body: '{"lost":true}' }));
  expect(() =>
    record.db.atOnce(() => {
      record.writer().write(entries);
      throw new Error('disk full');
    }),
  ).toThrow('disk full');
  record.writer().lost();
  record.write(['new', 'acme']);
  record.writer().checkpoint();
  expect(record.verify()).toMatchObject({ problem: undefined, rows: 18, chains: 3, unproven: 0 });
});

test('R22 any single change of any line is detected', async () => {
  const record = await createRecord();
  record.writer().checkpoint();
  const lines = Array.from({ length: 7 }, (_, at) => record.rowsOf(at + 1));
  const cases = fc.record({
    group: fc.integer({ min: 1, max: 7 }),
    line: fc.nat(),
    at: fc.nat(),
    kind: fc.constantFrom('replace', 'insert', 'delete'),
    text: fc.oneof(
      fc.string({ minLength: 1, maxLength: 3, unit: 'binary' }),
      fc.constantFrom('\t', '\n', ' ', '0'),
    ),
  });
  fc.assert(
    fc.property(cases, ({ group, line, at, kind, text }) => {
      const rows = lines[group - 1]!;
      const index = line % rows.length;
      const old = rows[index]!;
      const place = at % old.length;
      const rest = old.slice(place + (kind === 'insert' ? 0 : 1));
      const changed = `${old.slice(0, place)}${kind === 'delete' ? '' : text}${rest}`;
      fc.pre(changed !== old && !changed.includes('\0'));
      record.change(group, () => rows.with(index, changed).join('\n'));
      const { problem } = record.verify();
      record.change(group, () => rows.join('\n'));
      expect(problem).toBeDefined();
    }),
    { numRuns: propertyRuns(1_000, 40) },
  );
  expect(record.verify().problem).toBeUndefined();
}, 120_000);

test('a long record is verified in one pass', async () => {
  const record = await createRecord({ groups: 0 });
  const writer = record.writer();
  const groups = firstFew(
    Array.from({ length: 100 }).map((_, n) => n),
    25,
  );
  for (const group of groups) {
    const entries = Array.from({ length: 1_000 }, (_, n) => ({
      chain: `tenant-${n % 200}`,
      body: JSON.stringify({ kind: 'call', group, n, text: 'x'.repeat(200) }),
    }));
    record.db.atOnce(() => writer.write(entries));
    writer.kept(entries);
    if (group % 5 === 4) writer.checkpoint();
  }
  expect(record.verify()).toMatchObject({
    problem: undefined,
    rows: groups.length * 1_000,
    chains: 200,
    unproven: 0,
  });
}, 120_000);
