import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ToolRegistry } from '../../src/core/registry.ts';
import { sqlQueryTool } from '../../src/tools/database/query-sql.ts';
import type { SqlRows, SqlStatement } from '../../src/tools/sql/driver.ts';
import { openPostgres, type PostgresDriver, type PostgresOptions } from '../../src/tools/sql/postgres.ts';
import { hasPostgres, startPostgres, type PostgresServer } from '../postgres.ts';

let pg: PostgresServer;

beforeAll(async () => {
  if (!hasPostgres()) return;
  pg = await startPostgres();
  await pg.run(`create table orders (id int, note text, data jsonb, tags text[]);
    insert into orders values (1, 'a', '[]', '{}'); create role reader login; create role single login connection limit 1;
    grant select on orders to reader, single`);
}, 60_000);

afterAll(() => pg?.stop());

async function active(): Promise<number> {
  const [row] = await pg.run(
    "select count(*)::int as n from pg_stat_activity where state <> 'idle' and backend_type = 'client backend' and pid <> pg_backend_pid()",
  );
  return Number(row?.['n']);
}

// A text of two to the power of n letters, and as many whole numbers as asked for.
const letters = (n: number): string =>
  `(with recursive r(s, n) as (select 'a'::text, 0 union all select s || s, n + 1 from r where n < ${n}) select s from r order by n desc limit 1)`;
const numbers = (n: number): string =>
  `(with recursive r(n) as (select 1 union all select n + 1 from r where n < ${n}) select n from r) numbers`;
const long = `(select ${letters(20)} x offset 0) q`;

// Each of these runs for minutes, and neither a time limit nor a request to cancel or to terminate ends it.
const endless: readonly (readonly [sql: string, parameters?: readonly string[]])[] = [
  [`select length(translate(x, 'b' || left(x, 500000), '')) from ${long}`],
  [`select length(btrim(x, 'b' || left(x, 500000))) from ${long}`],
  [`select length(ltrim(x, 'bcdefghijklmnopqrst' || x)) from ${long}`],
  [`select length(trim(trailing 'b' || x from x)) from ${long}`],
  [`select strpos(x, 'b' || left(x, 500000)) from ${long}`],
  [`select position('b' || left(x, 500000) in x) from ${long}`],
  [`select position((left(x, 500000) || 'b')::bytea in x::bytea) from ${long}`],
  [`select length(replace(x, 'b' || left(x, 500000), '')) from ${long}`],
  [`select split_part(x, 'b' || left(x, 500000), 2) from ${long}`],
  [`select x like '%' || left(x, 500000) || 'b' from ${long}`],
  [`select x ilike '%' || left(x, 500000) || 'b' from ${long}`],
  ["select string_to_array($1, ',') && string_to_array($2, ',')", ['a,'.repeat(5_000), 'b,'.repeat(5_000)]],
  [`select array_agg('x' || n) && array_agg('y' || n) from ${numbers(200_000)}`],
  [`select array_agg('x' || n) @> array_agg('x' || n) from ${numbers(200_000)}`],
  [`select jsonb_agg(n::text) <@ jsonb_agg('x' || n) from ${numbers(200_000)}`],
  [`select jsonb_agg(n::text) ?| array_agg('x' || n) from ${numbers(200_000)}`],
  [`select jsonb_agg(n::text) - array_agg('x' || n) from ${numbers(200_000)}`],
  [`select j - a from (select jsonb_agg(n::text) j, array_agg('x' || n) a from ${numbers(200_000)}) q`],
  [
    `select j @@ '$.a[*] == $.b[*]' from (select jsonb_build_object('a', jsonb_agg(n), 'b', jsonb_agg(-n)) j from ${numbers(200_000)}) q`,
  ],
  [
    `select ts_rank(to_tsvector('simple', s), plainto_tsquery('simple', s)) from (select string_agg('w' || n, ' ') s from ${numbers(60_000)}) q`,
  ],
  [
    `select ${Array.from({ length: 90 }, (_, n) => `mod(a, b + ${n})`).join('+')} from (select 3::numeric ^ (250000 + id) a, 7::numeric ^ 100000 b from orders offset 0) q`,
  ],
];

// These take as long, but look whether they are to stop.
const interruptible: readonly string[] = [
  `select regexp_count(x, 'a|a*b') from ${long}`,
  `select x ~ '^(a+)a+\\1\\1c?$' from (select 'a' || x x from ${long}) p`,
  `select length(regexp_replace(x, 'a|a*b', '', 'g')) from ${long}`,
  'with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r',
];

describe.skipIf(!hasPostgres())('a query that PostgreSQL cannot interrupt', () => {
  const asker = (timeoutSeconds: number) => {
    const tool = sqlQueryTool({ url: pg.url('reader'), tables: ['orders'], timeoutSeconds });
    onTestFinished(() => tool.close());
    const registry = new ToolRegistry().registerTool(tool);
    return (query: string, parameters: readonly unknown[] = []): Promise<unknown> =>
      registry
        .execute('query_sql', { query, parameters })
        .catch((error: unknown) => ({ error: (error as { code: string }).code }));
  };

  test('D5 is refused, and nothing runs on after the response', async () => {
    const ask = asker(2);
    for (const [sql, parameters] of endless)
      expect([sql, await ask(sql, parameters)]).toEqual([
        sql,
        { error: expect.stringMatching(/ not allowed$|too complex$/), message: expect.any(String) },
      ]);
    expect(await active()).toBe(0);
  });

  test('D5 an accepted query is gone from the server soon after the response', async () => {
    const ask = asker(0.5);
    for (const sql of interruptible) {
      expect([sql, await ask(sql)]).toEqual([sql, { error: 'timed_out' }]);
      await expect.poll(active, { timeout: 3_000 }).toBe(0);
    }
  }, 30_000);

  test('D5 a search parameter must be short, and every parameter has a length limit', async () => {
    const ask = asker(2);
    const sql = "select id from orders where note like '%' || $1 || '%'";
    expect(await ask(sql, ['a'])).toMatchObject({ structuredContent: { rowCount: 1 } });
    expect(await ask(sql, ['a'.repeat(101)])).toEqual({
      error: 'Parameter too long',
      message: '$1 is searched for in other text, so it can have 100 characters at most.',
    });
    expect(await ask('select length($1) as n', ['a'.repeat(10_000)])).toMatchObject({
      structuredContent: { rows: [{ n: 10_000 }] },
    });
    expect(await ask('select length($1) as n', ['a'.repeat(10_001)])).toEqual({ error: 'invalid_arguments' });
  });

  test('D5 control: without the check such a query runs on after it is cancelled', async () => {
    const client = new Client({ connectionString: pg.url('reader') });
    client.on('error', () => {});
    await client.connect();
    await client.query("set statement_timeout = '100ms'");
    // Short enough to come to its own end.
    const ended = client
      .query(`select strpos(x, 'b' || left(x, 130000)) from (select ${letters(18)} x offset 0) q`)
      .catch(() => {});
    await expect.poll(active, { timeout: 5_000 }).toBe(1);
    const [told] = await pg.run(
      "select pg_cancel_backend(pid), pg_terminate_backend(pid), pg_sleep(0.5)::text from pg_stat_activity where usename = 'reader' and state = 'active'",
    );
    expect(told).toMatchObject({ pg_cancel_backend: true, pg_terminate_backend: true });
    expect(await active()).toBe(1);
    await ended;
    await client.end().catch(() => {});
  }, 60_000);
});

describe.skipIf(!hasPostgres())('a database server that stops answering', () => {
  const ask = (db: PostgresDriver, parts: Partial<SqlStatement> = {}): Promise<SqlRows> =>
    db.query({
      sql: 'select 1',
      values: [],
      maxRows: 10,
      maxBytes: 10_000,
      timeoutMs: 10_000,
      signal: new AbortController().signal,
      ...parts,
    });
  const open = (port: number, options: PostgresOptions = {}): PostgresDriver => {
    const db = openPostgres(`postgres://reader@127.0.0.1:${port}/postgres`, options);
    onTestFinished(() => db.close());
    return db;
  };

  test('D5 does not block calls, and takes no connection of the pool', async () => {
    const proxy = await startProxy('rollback');
    const db = open(proxy.port);
    const all = Array.from({ length: 4 }, () => ask(db));
    expect((await Promise.all(all)).map(({ rows }) => rows)).toEqual([[[1]], [[1]], [[1]], [[1]]]);
    proxy.thaw();
    expect((await ask(db)).rows).toEqual([[1]]);

    // Without a limit of our own the library would wait for ever.
    const silent = await startProxy('rollback');
    const client = new Client({ connectionString: `postgres://reader@127.0.0.1:${silent.port}/postgres` });
    client.on('error', () => {});
    await client.connect();
    const naive = client.query('rollback').catch(() => 'ended');
    expect(await Promise.race([naive, pause(2_500, 'waiting')])).toBe('waiting');
    silent.cut();
    await naive;
  }, 30_000);

  test('D5 ends a call that is cancelled, and the log says that its statement could not be ended', async () => {
    const heard: unknown[] = [];
    const proxy = await startProxy('pg_sleep');
    const db = open(proxy.port, { onFailure: (error) => heard.push(error) });
    const stop = new AbortController();
    const asked = ask(db, { sql: 'select pg_sleep(60)::text', signal: stop.signal });
    await proxy.isSilent;
    proxy.refuse();
    stop.abort(new Error('gone'));
    await expect(asked).rejects.toThrow('gone');
    await expect
      .poll(() => heard.map(String))
      .toEqual([expect.stringContaining('A statement could not be ended; its process is ')]);
  }, 30_000);

  test('D5 without free connections is reported as busy, not as unavailable', async () => {
    const holder = new Client({ connectionString: pg.url('single') });
    await holder.connect();
    onTestFinished(() => holder.end());
    const db = openPostgres(pg.url('single'));
    onTestFinished(() => db.close());
    await expect(ask(db)).rejects.toMatchObject({ code: 'busy' });
  });

  test('D5 waiting for a connection counts as part of the time limit of a statement', async () => {
    const db = open(pg.port, { maxConnections: 1 });
    const first = ask(db, { sql: 'select pg_sleep(0.5)::text' });
    const { rows } = await ask(db, {
      sql: "select extract(epoch from current_setting('statement_timeout')::interval)::float8",
    });
    await first;
    expect(rows[0]?.[0]).toBeLessThan(9.9);
  });
});

interface Proxy {
  readonly port: number;
  /** Settles when a connection has fallen silent. */
  readonly isSilent: Promise<void>;
  /** Lets new connections through from end to end. */
  thaw(): void;
  /** Takes no new connections. */
  refuse(): void;
  /** Ends the connections there are. */
  cut(): void;
}

/** Stands in front of the server; a connection that says the word gets no answer any more, but stays open. */
async function startProxy(word: string): Promise<Proxy> {
  let isFreezing = true;
  let fellSilent = (): void => {};
  const isSilent = new Promise<void>((resolve) => (fellSilent = resolve));
  const ends = new Set<() => void>();
  const server: Server = createServer((near) => {
    const far = connect(pg.port, '127.0.0.1');
    let isFrozen = false;
    near.on('error', () => {}).on('close', () => far.destroy());
    far.on('error', () => {}).on('close', () => !isFrozen && near.destroy());
    near.on('data', (chunk) => {
      isFrozen ||= isFreezing && chunk.includes(word);
      if (isFrozen) fellSilent();
      else far.write(chunk);
    });
    far.on('data', (chunk) => !isFrozen && near.write(chunk));
    ends.add(() => near.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => ends.forEach((end) => end());
  onTestFinished(() => {
    cut();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    isSilent,
    thaw: () => (isFreezing = false),
    refuse: () => void server.close(),
    cut,
  };
}
