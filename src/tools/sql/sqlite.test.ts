import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite, type SqliteDriver } from './sqlite.ts';
import { troubleOf, type SqlStatement } from './driver.ts';

interface Place {
  readonly folder: string;
  readonly file: string;
  readonly db: SqliteDriver;
  query(
    sql: string,
    parts?: Partial<Parameters<SqliteDriver['query']>[0]>,
  ): ReturnType<SqliteDriver['query']>;
}

function open(maxProcesses = 2): Place {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-sqlite-'));
  const file = join(folder, 'data.db');
  const owner = new Libsql(file);
  owner.exec(`create table t (a integer primary key, b text); insert into t values (1, 'x'), (2, 'y');
    create table secrets (k text); insert into secrets values ('canary'); create index by_k on secrets (k);
    create view v as select k from secrets;
    create table kept (a integer primary key, b text) without rowid;`);
  owner.close();
  const db = openSqlite(file, { maxProcesses });
  onTestFinished(async () => {
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, file, db, query: (sql, parts) => db.query({ sql, ...limits(), ...parts }) };
}

function limits(): Omit<SqlStatement, 'sql'> {
  return {
    values: [],
    maxRows: 100,
    maxBytes: 100_000,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  };
}

const ENDLESS = 'with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n';

test('D1 only a single SELECT is run, however it is wrapped', async () => {
  const { query, file } = open();
  const before = readFileSync(file);
  for (const sql of [
    'select 1; drop table t',
    'select 1); drop table t; --',
    'select 1 /* ; */; delete from t',
    'delete from t returning *',
    'with x as (select 1) insert into t select 9, 9 from x',
    'insert into t values (9, 9) returning a',
    'create table u (a)',
    'pragma user_version',
    'pragma writable_schema = 1',
    "attach 'other.db' as other",
    "vacuum into 'copy.db'",
    'explain select 1',
    'begin',
    'commit',
    '',
    '-- nothing',
    'select 1 \0; drop table t',
  ])
    expect([sql, await query(sql).catch(troubleOf)]).toEqual([sql, expect.any(String)]);
  expect((await query('select a from t -- the end')).rows).toEqual([[1], [2]]);
  expect((await query('values (1), (2) ; ')).rows).toEqual([[1], [2]]);
  expect(readFileSync(file).equals(before)).toBe(true);
});

test('D1 a SELECT cannot reach files or run other SQL, even though the library could', async () => {
  const { query, folder } = open();
  const target = join(folder, 'written');
  const naive = new Libsql(':memory:');
  naive.prepare(`select writefile('${target}', 'x')`).all();
  expect(existsSync(target)).toBe(true);
  rmSync(target);
  for (const sql of [
    `select writefile('${target}', 'x')`,
    `select readfile('/etc/hostname')`,
    `select * from fsdir('${folder}')`,
    `select sha3_query('select * from secrets')`,
    `select load_extension('x')`,
    'select * from sqlite_dbpage',
    'select * from dbstat',
    "select * from pragma_table_info('t')",
    "select case when 1 then writefile('" + target + "', 'y') end",
  ])
    expect([sql, await query(sql).catch(troubleOf)]).toEqual([sql, expect.any(String)]);
  expect(existsSync(target)).toBe(false);
});

test('the plan of a statement names its tables and functions, also behind views, names and indexes', async () => {
  const { db } = open();
  const survey = (sql: string): ReturnType<SqliteDriver['survey']> => db.survey(sql, limits());
  expect(await survey('select * from v')).toEqual({
    tables: ['secrets'],
    functions: [],
    unclear: [],
    parameterCount: 0,
  });
  expect((await survey('select 1 from "secrets" as t')).tables).toEqual(['secrets']);
  expect((await survey('with t as (select k from [secrets]) select * from t')).tables).toEqual(['secrets']);
  expect((await survey('select b from t where b in (select k from `main`.secrets)')).tables).toEqual(
    expect.arrayContaining(['t', 'secrets']),
  );
  expect((await survey('select count(*) from sqlite_master')).tables).toEqual(['sqlite_schema']);
  expect((await survey('select b from kept')).tables).toEqual(['kept']);
  expect((await survey('select upper(b), sum(a) over () from t')).functions.toSorted()).toEqual([
    'sum',
    'upper',
  ]);
  expect((await survey('select * from json_each(?1)')).unclear).toContain('VOpen');
});

test('a statement that goes beyond its tables is not run', async () => {
  const { query } = open();
  const scope = { tables: ['t'], functions: ['upper'] };
  expect((await query('select upper(b) from t', { scope })).rows).toEqual([['X'], ['Y']]);
  for (const sql of ['select * from v', 'select lower(b) from t', 'select (select k from secrets) from t'])
    expect([sql, await query(sql, { scope }).catch(troubleOf)]).toEqual([sql, 'not_permitted']);
});

test('D5 a statement that takes too much time or memory is ended with its process, and the next one gets a new process', async () => {
  const { query } = open();
  await expect(query(ENDLESS, { timeoutMs: 300 })).rejects.toMatchObject({ code: 'timed_out' });
  await expect(query('select hex(zeroblob(100000000))')).rejects.toMatchObject({ code: 'result_too_large' });
  const flood =
    'with recursive n(x) as (select 1 union all select x + 1 from n) select zeroblob(20000000) from n';
  await expect(query(flood)).rejects.toMatchObject({ code: 'result_too_large' });
  expect((await query('select a from t')).rows).toHaveLength(2);
});

test('rows and bytes are limited, and the result says so', async () => {
  const { query } = open();
  expect(await query('select a from t', { maxRows: 1 })).toMatchObject({ rows: [[1]], isCut: true });
  expect(await query('select a from t', { maxRows: 2 })).toMatchObject({ rows: [[1], [2]], isCut: false });
  expect(await query('select a, b from t', { maxBytes: 10 })).toMatchObject({
    rows: [[1, 'x']],
    isCut: true,
  });
});

test.each(['wal', 'delete'])(
  'a database in %s mode can be written to after every kind of query, and the next query sees it',
  async (mode) => {
    const { db, file, query } = open(1);
    const owner = new Libsql(file);
    onTestFinished(() => void owner.close());
    owner.exec(`pragma journal_mode = ${mode}`);
    const many =
      'with recursive n(x) as (select 1 union all select x + 1 from n) select x, (select count(*) from t) from n';
    const kinds: (() => Promise<unknown>)[] = [
      () => query('select * from t'),
      () => query(many),
      () => query('select b from t where a > ?1', { values: [0], maxRows: 1 }),
      () => query('select abs(-9223372036854775808) from t').catch(troubleOf),
      () => query('select nothing from t').catch(troubleOf),
      () => query('select * from t', { scope: { tables: [] } }).catch(troubleOf),
      () => db.survey('select * from t', limits()),
      () => db.columns({ schema: 'main', table: 't' }, limits()),
    ];
    for (const [index, kind] of kinds.entries()) {
      await kind();
      owner.exec(`insert into t (b) values ('new')`);
      expect((await query('select count(*) from t')).rows).toEqual([[3 + index]]);
    }
  },
);

test('values are bound with their types', async () => {
  const { query } = open();
  const sql = 'select typeof(?1), typeof(?2), typeof(?3), typeof(?4), typeof(?5), ?6';
  const values = [1, 1.5, true, 'x', null, 9007199254740993n];
  expect((await query(sql, { values })).rows).toEqual([
    ['integer', 'real', 'integer', 'text', 'null', '9007199254740993'],
  ]);
});

test('a query that waits too long for a process is refused as busy', async () => {
  const { query } = open(1);
  const stop = new AbortController();
  const first = query(ENDLESS, { signal: stop.signal }).catch(String);
  await expect(query('select 1', { timeoutMs: 100 })).rejects.toMatchObject({ code: 'busy' });
  const gone = AbortSignal.abort(new Error('not me'));
  await expect(query('select 1', { signal: gone })).rejects.toThrow('not me');
  const third = query('select 1');
  stop.abort(new Error('enough'));
  expect(await first).toBe('Error: enough');
  expect((await third).rows).toEqual([[1]]);
});

test('a process that cannot be started frees its place', async () => {
  const db = openSqlite('no\0file', { maxProcesses: 1 });
  onTestFinished(() => db.close());
  for (let turn = 0; turn < 3; turn++)
    await expect(db.query({ sql: 'select 1', ...limits(), timeoutMs: 500 })).rejects.toMatchObject({
      code: 'upstream_unavailable',
    });
});

test('a missing file, or one that is not a database, is unavailable', async () => {
  const { folder } = open();
  const file = join(folder, 'text.db');
  writeFileSync(file, 'no database, but long enough to be looked at as one'.repeat(40));
  for (const path of [file, join(folder, 'none.db')]) {
    const db = openSqlite(path);
    await expect(db.query({ sql: 'select * from t', ...limits() })).rejects.toMatchObject({
      code: 'upstream_unavailable',
      message: 'The database cannot be reached; try again later.',
    });
    await db.close();
  }
  expect(existsSync(join(folder, 'none.db'))).toBe(false);
});

test('D5 the process of a statement ends with its server', async () => {
  const { folder, file } = open();
  const script = join(folder, 'server.mts');
  writeFileSync(
    script,
    `import { openSqlite } from ${JSON.stringify(join(import.meta.dirname, 'sqlite.ts'))};
    const limits = { values: [], maxRows: 1, maxBytes: 99, timeoutMs: 60_000, signal: new AbortController().signal };
    const db = openSqlite(process.argv[2]!);
    await db.query({ sql: 'select 1', ...limits });
    const endless = db.query({ sql: ${JSON.stringify(ENDLESS)}, ...limits });
    console.log('started');
    await endless;`,
  );
  const server = spawn(process.execPath, ['--import', 'jiti/register', script, file], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void server.kill('SIGKILL'));
  await once(server.stdout, 'data');
  await expect.poll(() => statesOf(file), { timeout: 5_000 }).toEqual(['R']);
  server.kill('SIGKILL');
  await expect.poll(() => statesOf(file), { timeout: 5_000 }).toEqual([]);
});

test('a program that has finished ends, whether it closes its databases or not', async () => {
  const { folder, file } = open();
  const script = join(folder, 'program.mts');
  writeFileSync(
    script,
    `import { openSqlite } from ${JSON.stringify(join(import.meta.dirname, 'sqlite.ts'))};
    const limits = { values: [], maxRows: 1, maxBytes: 99, timeoutMs: 60_000, signal: new AbortController().signal };
    for (const isClosed of [true, false]) {
      const db = openSqlite(process.argv[2]!);
      await db.query({ sql: 'select 1', ...limits });
      if (isClosed) await db.close();
    }`,
  );
  const program = spawn(process.execPath, ['--import', 'jiti/register', script, file], { stdio: 'ignore' });
  expect(await once(program, 'exit')).toEqual([0, null]);
});

/** What the processes of a file are doing: `R` if they run. */
function statesOf(file: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const isOurs = words.includes(file) && words.some((word) => /sql[-/]child/.test(word));
      return isOurs ? [/\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? ''] : [];
    } catch {
      return [];
    }
  });
}
