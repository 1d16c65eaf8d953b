import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, asyncProperty, constantFrom, letrec, oneof, sample, tuple } from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ToolContext } from '../../src/core/context.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { sqlQueryTool, type SqlQueryOptions } from '../../src/tools/database/query-sql.ts';
import { postgresFunctions } from '../../src/tools/sql/query-functions.ts';
import { SqlRefusal, type SqlRules } from '../../src/tools/sql/query-rules.ts';
import { checkSelect } from '../../src/tools/sql/check-select.ts';
import { hasPostgres, startPostgres, type PostgresServer } from '../postgres.ts';
import { propertyRuns } from '../property-runs.ts';

const CANARY = 'canary-7f3a';

const schema = `
  create table orders (id int primary key, customer int, total numeric, note varchar(50), created timestamptz default now());
  insert into orders select n, n % 5, n * 1.5, 'note ' || n, '2026-01-01' from generate_series(1, 20) n;
  create table people (id int, name text, password text);
  insert into people values (1, 'Ada', '${CANARY}'), (2, 'Bob', '${CANARY}');
  create table secret (id int, v text);
  insert into secret values (1, '${CANARY}');
  create view strong_view as select * from secret;
  create function strong() returns text language sql security definer as 'select v from public.secret limit 1';
  create function lower(varchar) returns text language sql as $$select v from public.secret limit 1$$;
  create function reveal(varchar, int) returns boolean language sql as $$select true from public.secret$$;
  create operator > (leftarg = varchar, rightarg = int, function = public.reveal);
  create sequence counter`;

let pg: PostgresServer;

beforeAll(async () => {
  if (!hasPostgres()) return;
  pg = await startPostgres();
  await pg.run(schema);
  await pg.run('create database naive template postgres', 'template1');
}, 60_000);

afterAll(() => pg?.stop());

type Answer = {
  readonly error?: string;
  readonly message?: string;
  readonly isError?: boolean;
  readonly content?: readonly { readonly text: string }[];
  readonly structuredContent?: {
    readonly rows: readonly Record<string, unknown>[];
    readonly truncated: boolean;
  };
};

type Ask = (query: string, parameters?: unknown[], context?: Partial<ToolContext>) => Promise<Answer>;

// Connected as the owner of everything: what is refused here is refused by the tool, not by the database's rights.
function toolFor(options: Partial<SqlQueryOptions> = {}): Ask {
  const tables = { orders: {}, people: { columns: ['id', 'name'] } };
  return askerFor({ url: pg.url(), tables, ...options });
}

function askerFor(options: SqlQueryOptions): Ask {
  const tool = sqlQueryTool(options);
  onTestFinished(() => tool.close());
  const registry = new ToolRegistry().registerTool(tool);
  return async (query, parameters = [], context = {}) => {
    try {
      const answer = (await registry.execute(tool.name, { query, parameters }, context)) as Answer;
      return answer.isError ? { error: answer.content![0]!.text } : answer;
    } catch (error) {
      return { error: (error as { code: string }).code, message: (error as Error).message };
    }
  };
}

async function stateOf(database = 'postgres'): Promise<unknown> {
  const [tables] = await pg.run(
    `select (select string_agg(concat(c.relname, c.relkind, c.relowner), ',' order by c.oid) from pg_class c) as objects,
     (select md5(string_agg(o::text, '' order by o.id)) from orders o) as orders, (select md5(string_agg(o::text, '')) from people o) as people,
     (select md5(string_agg(o::text, '')) from secret o) as secret, (select last_value from counter) as counter,
     (select count(*) from pg_largeobject_metadata) as large_objects, (select count(*) from pg_locks where locktype = 'advisory') as locks,
     (select string_agg(a::text, ',' order by oid) from pg_authid a) as roles, (select count(*) from pg_db_role_setting) as role_settings,
     (select md5(string_agg(name || setting, ',' order by name)) from pg_settings where name not in ('application_name')) as settings,
     (select count(*) from pg_prepared_statements) as prepared, (select count(*) from pg_proc) as functions`,
    database,
  );
  return tables;
}

const attacks: readonly string[] = [
  'SELECT 1; DROP TABLE orders',
  'SELECT 1; COMMIT; DROP TABLE orders',
  'SELECT 1; COMMIT; SET SESSION default_transaction_read_only = off; INSERT INTO orders (id) VALUES (99)',
  'WITH x AS (INSERT INTO orders (id) VALUES (99) RETURNING *) SELECT * FROM x',
  'WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x',
  "WITH x AS MATERIALIZED (SELECT set_config('app.tenant', 'b', false)) SELECT * FROM x, orders",
  "SELECT set_config('role', 'postgres', false)",
  "SELECT set_config('default_transaction_read_only', 'off', false)",
  "SELECT query_to_xml('select * from secret', true, true, '')",
  "SELECT query_to_xml('select * from ' || chr(115) || 'ecret', true, true, '')",
  "SELECT table_to_xml('secret', true, true, '')",
  "SELECT database_to_xml(true, true, '')",
  "SELECT schema_to_xml('public', true, true, '')",
  "SELECT cursor_to_xml('toolcrib', 1, true, true, '')",
  "SELECT * FROM ts_stat('select to_tsvector(v) from secret')",
  "SELECT * FROM dblink('dbname=postgres', 'select v from secret') AS t(v text)",
  "COPY (SELECT 1) TO PROGRAM 'touch /tmp/owned'",
  'COPY secret TO STDOUT',
  "SELECT pg_read_file('postgresql.conf')",
  "SELECT pg_ls_dir('.')",
  "SELECT lo_import('/etc/hostname')",
  'SELECT lo_create(0)',
  "SELECT lo_from_bytea(0, 'x')",
  "SELECT pg_notify('a', 'b')",
  'SELECT pg_advisory_lock(1)',
  'SELECT pg_sleep(60)',
  "SELECT nextval('counter')",
  'SELECT pg_terminate_backend(pid) FROM pg_stat_activity',
  'SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b',
  "SELECT repeat('x', 1000000000)",
  'SELECT * FROM orders FOR UPDATE',
  'SELECT * INTO stolen FROM orders',
  'SELECT * FROM U&"\\0073ecret"',
  'SELECT * FROM U&"!0073ecret" UESCAPE \'!\'',
  'SELECT * FROM "secret"',
  'SELECT * FROM/**/secret',
  'SELECT * /* /* */ FROM orders */ FROM secret --',
  'SELECT o.id, s.v FROM orders o JOIN public.secret s ON true',
  'WITH secret AS (SELECT * FROM secret) SELECT * FROM secret',
  'SELECT (SELECT v FROM secret LIMIT 1) FROM orders',
  'SELECT * FROM pg_catalog.pg_authid',
  'SELECT * FROM orders JOIN pg_class ON true',
  'SELECT * FROM information_schema.columns',
  'SELECT * FROM strong_view',
  'SELECT strong()',
  'SELECT public.strong()',
  "SELECT f.pg_read_file FROM unnest(array['postgresql.conf']) f",
  "SELECT ('postgresql.conf'::text).pg_read_file",
  "SELECT \"coalesce\".pg_read_file FROM coalesce('postgresql.conf', 'x')",
  "SELECT (SELECT f.pg_read_file FROM unnest(array['PG_VERSION']) f), (SELECT 1 FROM unnest(array[1]) f(pg_read_file))",
  "SELECT j.pg_read_file FROM (unnest(array['PG_VERSION']) f CROSS JOIN orders) AS j",
  "WITH f AS (SELECT * FROM unnest(array['PG_VERSION'])) SELECT f.pg_read_file FROM f",
  'SELECT password FROM people',
  'SELECT people.password FROM people',
  'SELECT password(people) FROM people',
  'SELECT * FROM people WHERE password LIKE $$c%$$',
  'SELECT name FROM people ORDER BY password',
  'SELECT a.name FROM people a NATURAL JOIN (SELECT 1 AS id) b GROUP BY a.password, a.name',
  "SELECT '\ud800' FROM secret --'",
  'SELECT 1\0; DROP TABLE orders',
  'EXPLAIN ANALYZE SELECT * FROM secret',
  'DECLARE c CURSOR WITH HOLD FOR SELECT * FROM secret',
  'PREPARE p AS SELECT * FROM secret',
  'EXECUTE p',
  'SET ROLE postgres',
  'DO $$BEGIN PERFORM pg_sleep(60); END$$',
  'FETCH ALL FROM toolcrib',
  'SHOW ALL',
];

describe.skipIf(!hasPostgres())('D1 query_sql on PostgreSQL', () => {
  test('every known way around the check is refused, and nothing is read, changed or left behind', async () => {
    const ask = toolFor();
    const before = await stateOf();
    for (const sql of attacks) {
      const answer = await ask(sql);
      expect([sql, typeof answer.error]).toEqual([sql, 'string']);
      expect(JSON.stringify(answer)).not.toContain(CANARY);
    }
    expect(await stateOf()).toEqual(before);
  });

  test('a whole row, a star and a table as JSON have only the allowed columns', async () => {
    const ask = toolFor();
    for (const sql of [
      'SELECT * FROM people',
      'SELECT people FROM people',
      'SELECT p.* FROM public.people AS p',
      'SELECT to_jsonb(p) FROM people p',
      'SELECT row_to_json(people) FROM people',
      'SELECT p.to_jsonb FROM people p',
      'SELECT json_agg(people) FROM people',
    ]) {
      const answer = await ask(sql);
      expect(JSON.stringify(answer)).toContain('Ada');
      expect(JSON.stringify(answer)).not.toContain(CANARY);
    }
    expect(JSON.stringify(await pg.run('SELECT to_jsonb(p) FROM people p'))).toContain(CANARY);
  });

  test('a function or operator that shadows a built-in one is not used', async () => {
    const ask = toolFor();
    const lower = await ask('SELECT lower(note) AS n FROM orders WHERE id = $1', [1]);
    expect(lower.structuredContent?.rows).toEqual([{ n: 'note 1' }]);
    expect((await ask('SELECT note > 1 AS x FROM orders')).error).toBe('Database query failed');
    // With `public` on the path, as usual, both would have been run.
    expect(JSON.stringify(await pg.run('SELECT lower(note) FROM orders WHERE id = 1'))).toContain(CANARY);
    expect(await pg.run('SELECT note > 1 AS x FROM orders LIMIT 1')).toEqual([{ x: true }]);
  });

  test('a database with backslash escapes in text cannot be made to read the query differently', async () => {
    await pg.run('alter database postgres set standard_conforming_strings = off');
    onTestFinished(() => pg.run('alter database postgres reset standard_conforming_strings').then(() => {}));
    const sql = String.raw`SELECT '\' , '|| (SELECT v FROM secret) --'`;
    const answer = await toolFor()(sql);
    expect(JSON.stringify(answer)).not.toContain(CANARY);
    expect(answer.structuredContent?.rows).toHaveLength(1);
    // Read the other way, the subquery is part of the statement.
    expect(JSON.stringify(await pg.run(String.raw`SELECT '\' , ' || (SELECT v FROM secret) --'`))).toContain(
      CANARY,
    );
  });

  test('100 calls of two tenants on one connection leave no data for each other', async () => {
    const ask = toolFor({
      functions: ['set_config', 'current_setting', 'pg_backend_pid', 'pg_advisory_lock'],
    });
    const pids = new Set<unknown>();
    for (let turn = 0; turn < 50; turn++) {
      const set = await ask(
        `SELECT pg_backend_pid() AS pid, set_config('app.tenant', $1, false), set_config('work_mem', '99MB', false),
         set_config('default_transaction_read_only', 'off', false), pg_advisory_lock($2)::text`,
        ['a', turn],
        { tenant: { id: 'a', name: 'A', data: {} } },
      );
      expect(set.error).toBeUndefined();
      const seen = await ask(
        `SELECT pg_backend_pid() AS pid, coalesce(current_setting('app.tenant', true), '') AS tenant, current_setting('transaction_read_only') AS ro`,
        [],
        { tenant: { id: 'b', name: 'B', data: {} } },
      );
      const [row] = seen.structuredContent!.rows;
      expect(row).toMatchObject({ tenant: '', ro: 'on' });
      pids.add(row!['pid']);
    }
    expect(pids.size).toBe(1);
    expect(await pg.run("select count(*)::int as n from pg_locks where locktype = 'advisory'")).toEqual([
      { n: 0 },
    ]);

    // The same on a connection that is simply used again: what one left, the next one finds.
    const kept = new Client({ connectionString: pg.url() });
    await kept.connect();
    onTestFinished(() => kept.end());
    await kept.query('begin read only');
    await kept.query("select set_config('app.tenant', 'a', false)");
    await kept.query('commit');
    expect((await kept.query("select current_setting('app.tenant') as tenant")).rows).toEqual([
      { tenant: 'a' },
    ]);
  });

  test('each tenant has its own role, and a tenant without one is refused', async () => {
    await pg.run(
      `create role tenant_a login; create role tenant_b login; grant select on orders to tenant_a; grant select on people to tenant_b`,
    );
    const ask = askerFor({
      tables: ['orders', 'people', 'secret'],
      urlByTenant: { a: pg.url('tenant_a'), b: pg.url('tenant_b') },
    });
    const as = (id: string) => ({ tenant: { id, name: id, data: {} } });
    expect((await ask('SELECT count(*) FROM orders', [], as('a'))).error).toBeUndefined();
    expect((await ask('SELECT count(*) FROM orders', [], as('b'))).message).toBe(
      'The database does not permit this.',
    );
    expect((await ask('SELECT count(*) FROM people', [], as('b'))).error).toBeUndefined();
    expect((await ask('SELECT * FROM secret', [], as('a'))).error).toBe('Database query failed');
    for (const id of ['c', '', '__proto__', 'toString'])
      expect((await ask('SELECT 1', [], as(id))).error).toBe('No database');
  });

  test('the documented role reads its own rows and columns, and no more', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/tools/query-sql.md'), 'utf8');
    const [, statements = ''] = /```sql\n([^]*?)```/.exec(page) ?? [];
    await pg.run('create database roles', 'template1');
    await pg.run(
      `create table orders (id int, tenant text); insert into orders values (1, 'north'), (2, 'south');
       create table customers (id int, name text, city text, phone text); ${statements}`,
      'roles',
    );
    const ask = askerFor({ url: pg.url('north_reader', 'roles'), tables: ['orders', 'customers'] });
    expect((await ask('SELECT id FROM orders')).structuredContent?.rows).toEqual([{ id: 1 }]);
    expect((await ask('SELECT id, name, city FROM customers')).structuredContent?.rows).toEqual([]);
    expect((await ask('SELECT phone FROM customers')).message).toBe('The database does not permit this.');
    expect(await pg.run('SELECT id FROM orders', 'roles')).toHaveLength(2);
  });

  test('a slow query is ended in the database when the call is cancelled', async () => {
    const ask = toolFor({ functions: ['pg_sleep'], timeoutSeconds: 60 });
    const stop = new AbortController();
    const running = ask("SELECT 'slow-1' FROM pg_sleep(60)", [], { signal: stop.signal });
    const active = async (): Promise<number> =>
      (
        await pg.run(
          "select 1 from pg_stat_activity where query like '%slow-1%' or (state = 'active' and query like 'fetch%')",
        )
      ).length;
    await vi.waitFor(async () => expect(await active()).toBeGreaterThan(1), 5_000);
    stop.abort(new Error('cancelled'));
    expect((await running).message).toBe('cancelled');
    await vi.waitFor(async () => expect(await active()).toBe(1), 5_000);
  });

  test('a query that takes too long or returns too much is stopped with a message', async () => {
    const quick = toolFor({ timeoutSeconds: 0.3 });
    const joined = Array.from({ length: 12 }, (_, n) => `orders o${n}`).join(', ');
    expect((await quick(`SELECT count(*) FROM ${joined}`)).error).toBe('timed_out');
    const small = toolFor({ maxRows: 3, maxBytes: 1_024 });
    expect((await small('SELECT id FROM orders ORDER BY id')).structuredContent).toMatchObject({
      rows: [{ id: 1 }, { id: 2 }, { id: 3 }],
      truncated: true,
    });
    const doubled = `WITH RECURSIVE r(s, n) AS (SELECT 'xxxxxxxx', 1 UNION ALL SELECT s || s, n + 1 FROM r WHERE n < 22) SELECT s FROM r ORDER BY n DESC LIMIT 1`;
    expect(await small(doubled)).toEqual({
      error: 'Database query failed',
      message: 'A row is too large to return; ask for fewer columns.',
    });
  });

  test('a mistake in a query is reported with its word and place, without the text of the server', async () => {
    const ask = toolFor();
    expect(await ask('SELECT o.totl FROM orders o')).toEqual({
      error: 'Database query failed',
      message: 'There is no such column: look at o.totl. orders has id, customer, total, note, created.',
    });
    expect((await ask('SELECT * FROM orders WHERE id = $1')).error).toBe('Wrong number of parameters');
    expect((await ask('SELECT * FROM orders WHERE id = $1', ['x'])).message).toBe(
      'A value has the wrong type for its place.',
    );
  });

  test('control: a usual naive design fails under the same attacks', async () => {
    // A string check in front of `BEGIN READ ONLY` and the simple protocol.
    const naive = async (sql: string): Promise<string> => {
      if (!/^\s*(select|with)\b/i.test(sql) || /\bsecret\b/i.test(sql.replaceAll(/'[^']*'/g, '')))
        return 'refused';
      const client = new Client({ connectionString: pg.url('postgres', 'naive') });
      await client.connect();
      try {
        await client.query('BEGIN READ ONLY');
        return JSON.stringify(await client.query(sql));
      } finally {
        await client.query('ROLLBACK');
        await client.end();
      }
    };
    const before = (await stateOf('naive')) as { objects: string };
    for (const sql of [
      "SELECT query_to_xml('select * from secret', true, true, '')",
      'SELECT * FROM U&"\\0073ecret"',
      'SELECT * FROM strong_view',
      'SELECT strong()',
    ])
      expect([sql, await naive(sql)]).toEqual([sql, expect.stringContaining(CANARY)]);
    const [server] = await pg.run("select current_setting('server_version_num')::int / 10000 as major");
    expect(await naive("SELECT f.pg_read_file FROM unnest(array['PG_VERSION']) f")).toContain(
      String.raw`"pg_read_file":"${String(server!['major'])}\n"`,
    );
    expect(await naive('SELECT lo_create(0)')).toContain('lo_create');
    await naive('SELECT 1; COMMIT; DROP TABLE orders');
    expect(before.objects).toContain('orders');
    await expect(stateOf('naive')).rejects.toThrow('"orders" does not exist');
  });
});

describe.skipIf(!hasPostgres())('D1 the query plans of PostgreSQL', () => {
  const rules: SqlRules = {
    tables: [
      { schema: 'public', table: 'orders' },
      { schema: 'public', table: 'people', columns: ['id', 'name'] },
    ],
    functions: postgresFunctions,
  };

  async function guarded(sql: string): Promise<string | undefined> {
    try {
      return (await checkSelect(sql, rules)).sql;
    } catch (error) {
      if (error instanceof SqlRefusal) return undefined;
      throw error;
    }
  }

  test('any accepted query reads only tables on the list', async () => {
    const client = new Client({ connectionString: pg.url() });
    await client.connect();
    onTestFinished(() => client.end());
    const relationsOf = async (sql: string): Promise<Set<string>> => {
      const { rows } = await client.query(`EXPLAIN (VERBOSE, FORMAT JSON) ${sql}`);
      const text = JSON.stringify(rows);
      return new Set(
        [...text.matchAll(/"Relation Name":"(\w+)","Schema":"(\w+)"/g)].map(
          ([, name, schemaName]) => `${schemaName}.${name}`,
        ),
      );
    };
    const tally = { explained: 0, refused: 0, missed: 0 };
    await client.query('set search_path = pg_catalog, pg_temp');
    await assert(
      asyncProperty(queries, async (sql) => {
        const written = await guarded(sql);
        if (written === undefined) {
          tally.refused++;
          return;
        }
        // One that PostgreSQL cannot make sense of reads nothing either.
        const relations = await relationsOf(written).catch(() => new Set<string>());
        if (relations.size > 0) tally.explained++;
        for (const relation of relations) expect(['public.orders', 'public.people']).toContain(relation);
      }),
      { numRuns: propertyRuns(1_000, 300) },
    );
    // A list of forbidden words lets some of the same queries through: the planner would tell.
    await client.query('set search_path = public');
    for (const sql of sample(queries, 900)) {
      if (/\b(secret|strong_view)\b/.test(sql.replaceAll(/"[^"]*"|WITH \w+ AS/g, ''))) continue;
      const relations = await relationsOf(sql).catch(() => new Set<string>());
      if (relations.has('public.secret')) tally.missed++;
    }
    expect(tally.explained).toBeGreaterThan(propertyRuns() / 10);
    expect(tally.refused).toBeGreaterThan(propertyRuns() / 10);
    expect(tally.missed).toBeGreaterThan(0);
  }, 60_000);

  test('no row can be given to a built-in function that does more than show it', async () => {
    // `t.f` means f(t) where t has no column f; a row fits only parameters of these types.
    const rows = await pg.run(
      `select p.proname from pg_proc p join pg_type t on t.oid = p.proargtypes[0] where p.pronamespace = 'pg_catalog'::regnamespace
       and p.pronargs >= 1 and p.pronargs - p.pronargdefaults <= 1 and p.provolatile = 'v'
       and t.typname in ('any', 'anyelement', 'anynonarray', 'anycompatible', 'anycompatiblenonarray', 'record')`,
    );
    expect(rows).toEqual([]);
  });
});

// Queries from a small grammar, over tables that may and may not be read, under all kinds of names.
const relation = oneof(
  {
    weight: 8,
    arbitrary: constantFrom('orders', 'public.orders', '"orders"', 'people', 'public.people', 'ORDERS'),
  },
  {
    weight: 1,
    arbitrary: constantFrom(
      'secret',
      'public.secret',
      '"secret"',
      'Secret',
      'strong_view',
      'U&"\\0073ecret"',
      'pg_class',
      'only secret',
    ),
  },
  { weight: 1, arbitrary: constantFrom('c', 'secret') },
);

const { query: queries } = letrec<{ query: string; from: string; value: string }>((tie) => ({
  value: oneof(
    { depthSize: 'small', withCrossShrink: true },
    constantFrom('1', "'x'", 'null', 'x.id', 'id'),
    tie('query').map((query) => `(SELECT count(*) FROM (${query}) q)`),
    tuple(tie('value'), tie('value')).map(([a, b]) => `coalesce(${a}, ${b})`),
    tie('from').map((from) => `(SELECT max(x.id) FROM ${from})`),
    tie('from').map((from) => `(SELECT count(x) FROM ${from})`),
  ),
  from: oneof(
    { depthSize: 'small', withCrossShrink: true },
    relation.map((name) => `${name} AS x`),
    tie('query').map((query) => `(${query}) AS x`),
    tuple(relation, relation).map(([a, b]) => `${a} AS x CROSS JOIN ${b} AS y`),
    tuple(relation, tie('query')).map(([a, query]) => `${a} AS x, LATERAL (${query}) AS y`),
  ),
  query: oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('from').map((from) => `SELECT x.id FROM ${from}`),
    tuple(tie('value'), tie('from')).map(([value, from]) => `SELECT ${value} AS id FROM ${from}`),
    tuple(tie('from'), tie('value')).map(([from, value]) => `SELECT x.id FROM ${from} WHERE x.id = ${value}`),
    tuple(tie('from'), tie('value')).map(
      ([from, value]) => `SELECT x.id FROM ${from} GROUP BY x.id ORDER BY ${value} LIMIT 3`,
    ),
    tuple(tie('query'), tie('query')).map(([a, b]) => `(${a}) UNION ALL (${b})`),
    tuple(
      constantFrom('', 'RECURSIVE '),
      constantFrom('secret', 'orders', 'c', 'people'),
      tie('query'),
      tie('query'),
    ).map(([recursive, name, inner, outer]) => `WITH ${recursive}${name} AS (${inner}) ${outer}`),
  ),
}));
