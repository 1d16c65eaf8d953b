import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, asyncProperty, constantFrom, letrec, oneof, tuple } from 'fast-check';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ToolContext } from '../../src/core/context.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { sqlQueryTool, type SqlQueryOptions } from '../../src/tools/database/query-sql.ts';
import { propertyRuns } from '../property-runs.ts';

const CANARY = 'canary-91bd';
const folder = mkdtempSync(join(tmpdir(), 'toolcrib-query-sql-'));
const file = join(folder, 'shop.db');
const owned = join(folder, 'owned');

beforeAll(() => {
  const db = new Database(file);
  db.exec(`
    create table orders (id integer primary key, customer int, total real, note text);
    create table people (id integer primary key, name text);
    create table secret (id integer primary key, v text);
    create table pairs (a text, b text, primary key (a, b)) without rowid;
    create index secret_v on secret (v);
    create view strong_view as select * from secret;
    create view order_view as select id, total from orders;
    insert into secret values (1, '${CANARY}');
    insert into pairs values ('${CANARY}', 'x');
    insert into people values (1, 'Ada'), (2, 'Bob')`);
  const insert = db.prepare('insert into orders values (?, ?, ?, ?)');
  for (let id = 1; id <= 50; id++) insert.run(id, id % 5, id * 1.5, `note ${id}`);
  db.close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Answer {
  readonly error?: string;
  readonly message?: string;
  readonly isError?: boolean;
  readonly content?: readonly { readonly text: string }[];
  readonly structuredContent?: {
    readonly rows: readonly Record<string, unknown>[];
    readonly truncated: boolean;
  };
}

function toolFor(options: Partial<SqlQueryOptions> = {}) {
  const tool = sqlQueryTool({ url: `sqlite:${file}`, tables: ['orders', 'people'], ...options });
  onTestFinished(() => tool.close());
  const registry = new ToolRegistry().registerTool(tool);
  return async (
    query: string,
    parameters: unknown[] = [],
    context: Partial<ToolContext> = {},
  ): Promise<Answer> => {
    try {
      const answer = (await registry.execute(tool.name, { query, parameters }, context)) as Answer;
      return answer.isError ? { error: answer.content![0]!.text } : answer;
    } catch (error) {
      return { error: (error as { code: string }).code, message: (error as Error).message };
    }
  };
}

function state(): unknown {
  const files = readdirSync(folder).filter((name) => !/-(shm|wal)$/.test(name));
  return { files, digest: createHash('sha256').update(readFileSync(file)).digest('hex') };
}

const attacks: readonly string[] = [
  'SELECT 1; DROP TABLE orders',
  'SELECT 1; DROP TABLE orders --',
  'SELECT 1);DROP TABLE orders;--',
  'SELECT 1) UNION SELECT v FROM secret --',
  'DROP TABLE orders',
  'INSERT INTO orders (id) VALUES (99)',
  'WITH x AS (SELECT 1) DELETE FROM orders',
  'WITH x AS (SELECT 1) INSERT INTO orders (id) SELECT 99',
  'UPDATE orders SET id = 1 RETURNING *',
  'CREATE TEMP TABLE t AS SELECT * FROM secret',
  `ATTACH '${owned}' AS other`,
  `VACUUM INTO '${owned}'`,
  'PRAGMA writable_schema = 1',
  'PRAGMA table_info(secret)',
  'PRAGMA query_only = 0',
  "SELECT * FROM pragma_table_info('secret')",
  'SELECT * FROM pragma_database_list',
  "SELECT load_extension('/tmp/x.so')",
  "SELECT readfile('/etc/hostname')",
  `SELECT writefile('${owned}', 'x')`,
  "SELECT * FROM fsdir('/')",
  "SELECT hex(sha3_query('select v from secret'))",
  "SELECT fts3_tokenizer('simple')",
  "SELECT sqlite_log(1, 'x')",
  "SELECT sqlite3mc_config('cipher')",
  'SELECT * FROM sqlite_dbpage',
  'SELECT * FROM dbstat',
  'SELECT * FROM sqlite_stmt',
  "SELECT * FROM json_each('[1]')",
  'SELECT * FROM generate_series(1, 10)',
  'SELECT * FROM sqlite_master',
  'SELECT sql FROM sqlite_schema',
  'SELECT * FROM main.sqlite_master',
  'SELECT * FROM sqlite_temp_schema',
  'SELECT * FROM secret',
  'SELECT * FROM main.secret',
  'SELECT * FROM "secret"',
  'SELECT * FROM [secret]',
  'SELECT * FROM `secret`',
  'SELECT * FROM SECRET',
  'SELECT * FROM secret NOT INDEXED',
  'SELECT v FROM secret INDEXED BY secret_v',
  'SELECT max(v) FROM secret',
  'SELECT count(*) FROM secret',
  'SELECT * FROM pairs',
  'SELECT * FROM strong_view',
  'SELECT orders.id, s.v FROM orders JOIN secret AS s',
  'SELECT (SELECT v FROM secret) FROM orders',
  'SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM secret WHERE v LIKE $1)',
  'SELECT id FROM orders ORDER BY (SELECT v FROM secret)',
  'SELECT id FROM orders LIMIT (SELECT count(*) FROM secret)',
  'WITH orders AS (SELECT * FROM secret) SELECT * FROM orders',
  'SELECT id FROM orders UNION SELECT v FROM secret',
  'SELECT sum(id) OVER (PARTITION BY (SELECT v FROM secret)) FROM orders',
  'SELECT sqlite_compileoption_get(1)',
  'SELECT last_insert_rowid()',
  'SELECT length(randomblob(8))',
  'SELECT hex(uuid())',
  'SELECT zeroblob(1000000000)',
  'SELECT randomblob(1000000000)',
  "SELECT printf('%1000000000d', 1)",
  "SELECT replicate('x', 1000000000)",
  'SELECT 1\0; DROP TABLE orders',
  'EXPLAIN SELECT * FROM secret',
  'BEGIN EXCLUSIVE',
  'REINDEX',
  'ANALYZE',
  'RELEASE x',
];

describe('D1 query_sql on SQLite', () => {
  test('every known way around the check is refused, and nothing is read, changed or left behind', async () => {
    const ask = toolFor();
    const before = state();
    for (const sql of attacks) {
      const answer = await ask(sql, sql.includes('$1') ? ['c%'] : []);
      expect([sql, typeof answer.error]).toEqual([sql, 'string']);
      expect(JSON.stringify(answer)).not.toContain(CANARY);
    }
    expect(state()).toEqual(before);
    expect(existsSync(owned)).toBe(false);
  }, 60_000);

  test('control: an ordinary connection fails under the same attacks', () => {
    const naive = new Database(file, { readonly: true });
    onTestFinished(() => void naive.close());
    const all = (sql: string): string => JSON.stringify(naive.prepare(sql).all());
    expect(all('SELECT sql FROM sqlite_schema')).toContain('CREATE TABLE secret');
    expect(all('WITH orders AS (SELECT * FROM secret) SELECT * FROM orders')).toContain(CANARY);
    expect(all('SELECT * FROM strong_view')).toContain(CANARY);
    expect(all("SELECT CAST(readfile('/etc/hostname') AS TEXT) AS t")).toContain(
      readFileSync('/etc/hostname', 'utf8').trim(),
    );
    all(`SELECT writefile('${owned}', 'x')`);
    expect(existsSync(owned)).toBe(true);
    rmSync(owned);
  });

  test('ordinary queries are accepted', async () => {
    const ask = toolFor();
    for (const sql of [
      'SELECT * FROM orders',
      'VALUES (1), (2)',
      "SELECT upper(note), round(total, 1), strftime('%Y', 'now'), coalesce(note, 'x') FROM orders WHERE note LIKE 'n%' AND id IN (1, 2, 3)",
      'SELECT customer, count(*), sum(total), group_concat(note) FROM orders GROUP BY customer HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 3 OFFSET 1',
      'SELECT o.id, p.name FROM orders o LEFT JOIN people p ON p.id = o.customer ORDER BY p.name, o.id',
      'SELECT id, row_number() OVER (PARTITION BY customer ORDER BY total DESC), lag(total) OVER (ORDER BY id) FROM orders',
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n JOIN orders ON orders.id = i',
      'SELECT id FROM orders UNION SELECT id FROM people EXCEPT SELECT 3 INTERSECT SELECT 1',
      "SELECT json_extract('{\"a\":1}', '$.a'), '{\"a\":1}' ->> 'a', json_group_array(id) FROM orders",
      'SELECT DISTINCT customer FROM orders WHERE id > (SELECT avg(id) FROM orders) OR id = 3 OR total < 2',
      'SELECT * FROM (SELECT customer, max(total) AS best FROM orders GROUP BY customer) WHERE best > 10 -- the best',
      "SELECT CASE WHEN total > 10 THEN 'big' ELSE 'small' END AS size, CAST(total AS INTEGER) FROM orders;",
      'SELECT a.id FROM orders a JOIN orders b USING (customer) WHERE a.note = b.note',
    ]) {
      const answer = await ask(sql);
      expect([sql, answer.error, answer.message]).toEqual([sql, undefined, undefined]);
      expect(answer.structuredContent?.rows.length).toBeGreaterThan(0);
    }
  });

  test('a view can be read if all of its tables can, and a missing table looks like a table that is not allowed', async () => {
    const ask = toolFor();
    expect((await ask('SELECT * FROM order_view')).error).toBeUndefined();
    for (const name of ['strong_view', 'secret', 'nothing_here'])
      expect(await ask(`SELECT * FROM ${name}`)).toEqual({ error: `Error: Table '${name}' not found` });
  });

  test('a runaway query is ended with its process, and the next query works', async () => {
    const ask = toolFor({ timeoutSeconds: 1 });
    const bomb = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
    expect((await ask(bomb)).error).toBe('timed_out');
    const swelling =
      "WITH RECURSIVE n(s) AS (SELECT 'xxxxxxxx' UNION ALL SELECT s || s FROM n) SELECT max(length(s)) FROM n";
    expect((await ask(swelling)).error).toBeTypeOf('string');
    expect((await ask('SELECT count(*) AS n FROM orders')).structuredContent?.rows).toEqual([{ n: 50 }]);
  });

  test('a slow query is ended when the call is cancelled', async () => {
    const ask = toolFor({ timeoutSeconds: 60 });
    await ask('SELECT 1');
    const [child] = childrenOf(file);
    expect(child).toBeDefined();
    const stop = new AbortController();
    const bomb = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
    const running = ask(bomb, [], { signal: stop.signal });
    await vi.waitFor(() => expect(isBusy(child!)).toBe(true), 5_000);
    stop.abort(new Error('cancelled'));
    expect((await running).message).toBe('cancelled');
    await vi.waitFor(() => expect(childrenOf(file)).toEqual([]), 5_000);
  });

  test('any accepted query reads only what is on the list', async () => {
    const ask = toolFor();
    // Rows of the tables on the list, and of no other, end up in the answer.
    const tally = { answered: 0, refused: 0, read: 0 };
    const naive = new Database(file, { readonly: true });
    onTestFinished(() => void naive.close());
    await assert(
      asyncProperty(queries, async (sql) => {
        const answer = await ask(sql);
        if (answer.error === undefined) tally.answered++;
        else tally.refused++;
        expect(JSON.stringify(answer)).not.toContain(CANARY);
        try {
          if (JSON.stringify(naive.prepare(sql).all()).includes(CANARY)) tally.read++;
        } catch {
          // Not every query of the grammar means something.
        }
      }),
      { numRuns: propertyRuns(1_000, 300) },
    );
    expect(tally.answered).toBeGreaterThan(propertyRuns() / 10);
    expect(tally.refused).toBeGreaterThan(propertyRuns() / 10);
    expect(tally.read).toBeGreaterThan(propertyRuns() / 20);
  }, 60_000);
});

const relation = oneof(
  {
    weight: 4,
    arbitrary: constantFrom('orders', 'people', '"orders"', '[people]', 'main.orders', 'order_view'),
  },
  {
    weight: 1,
    arbitrary: constantFrom('secret', '"secret"', 'main.secret', '`secret`', 'strong_view', 'SECRET'),
  },
);

const { query: queries } = letrec<{ query: string }>((tie) => ({
  query: oneof(
    { depthSize: 'small', withCrossShrink: true },
    relation.map((name) => `SELECT * FROM ${name}`),
    relation.map((name) => `SELECT max(x.id), min(x.rowid) FROM ${name} AS x`),
    tuple(relation, relation).map(
      ([a, b]) => `SELECT a.*, b.* FROM ${a} AS a LEFT JOIN ${b} AS b ON a.id = b.id`,
    ),
    tuple(relation, tie('query')).map(([a, q]) => `SELECT * FROM ${a}, (${q})`),
    tuple(relation, relation).map(([a, b]) => `SELECT (SELECT b.v FROM ${b} AS b), id FROM ${a}`),
    tuple(tie('query'), relation).map(([q, a]) => `WITH c AS (${q}) SELECT * FROM c, ${a} LIMIT 3`),
    tuple(tie('query'), relation).map(
      ([q, a]) => `WITH orders AS (${q}) SELECT * FROM orders JOIN ${a} LIMIT 3`,
    ),
    relation.map((name) => `SELECT group_concat(v) FROM (SELECT v FROM ${name} ORDER BY v)`),
  ),
}));

// The processes that serve a file carry its name.
function childrenOf(path: string): string[] {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  return rows
    .filter((row) => row.includes(path))
    .flatMap((row) => {
      const [pid = '', parent] = row.trim().split(/\s+/);
      return Number(parent) === process.pid ? [pid] : [];
    });
}

// More than a tenth of a second of processor time beyond what it had when it was idle.
const idle = new Map<string, number>();
function isBusy(pid: string): boolean {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  const ticks = Number(fields[13]);
  if (!idle.has(pid)) idle.set(pid, ticks);
  return ticks > idle.get(pid)! + 10;
}
