import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import type { SqlDriver, SqlRows, SqlValue } from '../src/tools/sql/driver.ts';
import { openPostgres } from '../src/tools/sql/postgres.ts';
import { openSqlite } from '../src/tools/sql/sqlite.ts';
import { hasMariaDb, startMariaDb } from './mariadb.ts';
import { openMysql } from '../src/tools/sql/mysql.ts';
import { hasPostgres, startPostgres } from './postgres.ts';

/** A database with the world of these tests in it, and somebody who may read all of it. */
export interface World {
  readonly db: SqlDriver;
  readonly url: string;
  /** Runs any SELECT, as careless code that builds statements would. */
  select(sql: string, values?: readonly SqlValue[]): Promise<SqlRows>;
  /** How many slow statements are under way, as the operating system or the server sees it. */
  running(): Promise<number>;
  /** How many connections or processes there are, busy or not. */
  sessions(): Promise<number>;
  close(): Promise<void>;
}

/** The databases there are on this machine. */
export const databases = [
  'sqlite',
  ...(hasPostgres() ? (['postgres'] as const) : []),
  ...(hasMariaDb() ? (['mysql'] as const) : []),
] as const;

/** A value that must never be shown. */
export const CANARY = 'canary-4711';

const TABLES = `
  create table orders (id integer primary key, tenant_id text not null, item text, price numeric(10,2), paid boolean, note text);
  insert into orders values
    (1, 'acme', 'anvil', 12.50, true, null), (2, 'acme', 'rope', 3, false, 'soon'),
    (3, 'globex', 'laser', 999.99, true, 'hidden'), (4, 'acme', 'it''s', 1, false, 'x" or 1=1 --');
  create table customers (id integer primary key, tenant_id text not null, email text, password text);
  insert into customers values (7, 'acme', 'ada@acme.example', '${CANARY}'), (8, 'globex', 'g@globex.example', '${CANARY}');
  create table secrets (k text);
  insert into secrets values ('${CANARY}');
  create table accounts (id integer primary key, tenant_no integer not null, owner text);
  insert into accounts values (1, 1, 'one'), (2, 2, 'two');
  create table "order" ("select" text, "with space" text, "a""b" text);
  insert into "order" values ('reserved', 'spaced', 'quoted');
  create view paid_orders as select id, tenant_id, item from orders where paid;
`;

/** Opens a database of a kind, with the same tables in each. */
export function openWorld(kind: (typeof databases)[number]): Promise<World> {
  if (kind === 'mysql') return openMysqlWorld();
  return kind === 'sqlite' ? openSqliteWorld() : openPostgresWorld();
}

async function openSqliteWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-databases-'));
  const file = join(folder, 'world ?#%.db');
  const owner = new Libsql(file);
  owner.exec(TABLES);
  owner.exec(`
    create table kinds (id integer primary key, large integer, exact text, part real, bytes blob, flag boolean, moment text);
    insert into kinds values (1, 9007199254740993, '1.10', 1.5, x'00ff', true, '2024-01-02T03:04:05Z');
    create table wide (id integer primary key, body text);
    with recursive n(x) as (select 1 union all select x + 1 from n where x < 50) insert into wide select x, hex(zeroblob(5000)) from n;
    create table nocase (id integer primary key, tenant_id text collate nocase);
    insert into nocase values (1, 'acme');
    create view slow as with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) as id from n;
  `);
  owner.close();
  const db = openSqlite(file);
  return {
    db,
    url: `sqlite:${file}`,
    select: selectWith(db),
    running: () => Promise.resolve(processesOf(file).length),
    sessions: () => Promise.resolve(processesOf(file).length),
    async close() {
      await db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The processes that have a file among their arguments. */
export function processesOf(file: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.some((word) => /sql[-/]child/.test(word)) && words.includes(file);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function openPostgresWorld(): Promise<World> {
  const server = await startPostgres();
  await server.run(`create role reader login; ${TABLES}
    create table kinds (id integer primary key, large bigint, exact numeric, part float8, bytes bytea, flag boolean, moment timestamptz);
    insert into kinds values (1, 9007199254740993, 1.10, 1.5, '\\x00ff', true, '2024-01-02 03:04:05+00');
    create table wide (id integer primary key, body text);
    insert into wide select x, repeat('00', 5000) from generate_series(1, 50) x;
    create collation anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create table nocase (id integer primary key, tenant_id text collate anycase);
    insert into nocase values (1, 'acme');
    create view slow as select 1 as id from pg_sleep(60);
    create schema stock; create table stock.parts (id integer primary key, part text); insert into stock.parts values (1, 'bolt');
    grant usage on schema stock to reader; grant select on all tables in schema public, stock to reader`);
  const db = openPostgres(server.url('reader'));
  const count = async (condition: string): Promise<number> =>
    (await server.run(`select 1 from pg_stat_activity where usename = 'reader' and ${condition}`)).length;
  return {
    db,
    url: server.url('reader'),
    select: selectWith(db),
    running: () => count("wait_event = 'PgSleep'"),
    sessions: () => count('true'),
    async close() {
      await db.close();
      await server.stop();
    },
  };
}

async function openMysqlWorld(): Promise<World> {
  const server = await startMariaDb();
  await server.run(`create user reader@'%'; create user nobody@'%'; ${TABLES.replaceAll('text', 'varchar(200)')}
    create table kinds (id integer primary key, large bigint, exact numeric(10,2), part double, bytes blob, flag boolean, moment timestamp null);
    insert into kinds values (1, 9007199254740993, 1.10, 1.5, x'00ff', true, '2024-01-02 03:04:05');
    create table wide (id integer primary key, body longtext);
    insert into wide with recursive n(x) as (select 1 union all select x + 1 from n where x < 50) select x, repeat('00', 5000) from n;
    create table nocase (id integer primary key, tenant_id varchar(50) collate utf8mb4_general_ci);
    insert into nocase values (1, 'acme');
    create view slow as select sleep(60) as id;
    create database stock; create table stock.parts (id integer primary key, part varchar(50)); insert into stock.parts values (1, 'bolt');
    grant select on shop.* to reader@'%'; grant select on stock.* to reader@'%'`);
  const url = server.url('reader');
  const db = openMysql(url);
  const count = async (condition: string): Promise<number> => {
    const rows = await server.run(
      `select 1 from information_schema.processlist where user = 'reader' and ${condition}`,
    );
    return rows.length;
  };
  return {
    db,
    url,
    select: selectWith(db),
    running: () => count("state = 'User sleep'"),
    sessions: () => count('true'),
    async close() {
      await db.close();
      await server.stop();
    },
  };
}

function selectWith(db: SqlDriver): World['select'] {
  return (sql, values = []) =>
    db.query({
      sql,
      values,
      maxRows: 100,
      maxBytes: 1_000_000,
      timeoutMs: 5_000,
      signal: AbortSignal.timeout(5_000),
    });
}
