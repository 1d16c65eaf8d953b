import { execFileSync } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { SqlRows, SqlStatement } from './driver.ts';
import { openPostgres, type PostgresDriver } from './postgres.ts';
import { hasPostgres, startPostgres, type PostgresServer } from '../../../test/postgres.ts';

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

describe.skipIf(!hasPostgres())('the PostgreSQL driver', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    await server.run(`create role reader login; create role single login connection limit 1;
      create table t (a integer primary key, b text); insert into t values (1, 'x'), (2, 'y');
      create table secrets (k text); insert into secrets values ('canary');
      create table wide (body text); insert into wide select repeat('x', 100000) from generate_series(1, 40);
      create function stubborn() returns text language plpgsql as
        'begin loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop; end';
      grant select, insert on t to reader; grant select on wide to reader`);
  }, 60_000);
  afterAll(() => server.stop());

  const open = (maxConnections = 4, url = server.url('reader')): PostgresDriver => {
    const db = openPostgres(url, { maxConnections });
    onTestFinished(() => db.close());
    return db;
  };
  const ask = (db: PostgresDriver, sql: string, parts: Partial<SqlStatement> = {}): Promise<SqlRows> =>
    db.query({
      sql,
      values: [],
      maxRows: 100,
      maxBytes: 1_000_000,
      timeoutMs: 10_000,
      signal: new AbortController().signal,
      ...parts,
    });
  const sessions = async (): Promise<number> =>
    (await server.run("select 1 from pg_stat_activity where usename = 'reader'")).length;

  const sleeping = async (role = 'reader'): Promise<number> =>
    (await server.run(`select 1 from pg_stat_activity where wait_event = 'PgSleep' and usename = '${role}'`))
      .length;

  /** Lets a statement begin, stops it, and waits until the server has ended it. */
  const runAndStop = async (db: PostgresDriver, sql: string, role?: string): Promise<unknown> => {
    const stop = new AbortController();
    const ended = ask(db, sql, { signal: stop.signal, timeoutMs: 60_000 }).catch(String);
    await expect.poll(() => sleeping(role), { timeout: 5_000 }).toBe(1);
    stop.abort(new Error('gone'));
    await expect.poll(() => sleeping(role), { timeout: 3_000 }).toBe(0);
    return ended;
  };

  test('D1 only a single SELECT is run, and nothing is changed', async () => {
    const db = open();
    for (const sql of [
      'select 1; drop table t',
      "select 1; commit; insert into t values (8, 'out')",
      'commit',
      "insert into t values (9, 'z') returning a",
      "with x as (insert into t values (9, 'z') returning a) select * from x",
      'select * into u from t',
      'select * from t for update',
      'copy t to stdout',
      "copy (select 1) to program 'true'",
      'show all',
      "set role 'postgres'",
      'begin',
      '',
    ])
      expect([sql, await ask(db, sql).catch(codeOf)]).toEqual([sql, 'tool_failed']);
    expect(await server.run('select count(*)::int as n from t')).toEqual([{ n: 2 }]);
  });

  test('D1 control: the same text leaves a read-only transaction over a connection that takes several statements', async () => {
    const naive = "begin read only; select 1; commit; insert into t values (8, 'out')";
    const { default: pg } = await import('pg');
    const client = new pg.Client(server.url('reader'));
    await client.connect();
    await client.query(naive);
    await client.end();
    expect(await server.run('delete from t where a = 8 returning b')).toEqual([{ b: 'out' }]);
  });

  test('D1 settings of a statement are reset before the connection is used again', async () => {
    const db = open(1);
    const leave = `select set_config('default_transaction_read_only', 'off', false), set_config('toolcrib.tenant', 'globex', false),
      set_config('search_path', 'secrets', false), pg_advisory_lock(1)::text, pg_backend_pid()`;
    const { rows } = await ask(db, leave);
    const look = `select current_setting('toolcrib.tenant', true), current_setting('search_path'),
      (select count(*) from pg_locks where locktype = 'advisory'), pg_backend_pid()`;
    const after = await ask(db, look);
    expect(after.rows).toEqual([['', 'pg_catalog, public, pg_temp', 0, rows[0]?.[4]]]);
  });

  test("the server's own error text is not returned, and kinds of errors can be told apart", async () => {
    const db = open();
    const troubles = [
      ['select * from secrets', 'not_permitted'],
      ['select * from nowhere', 'unknown_table'],
      ['select nothing from t', 'unknown_column'],
      ["select * from t where a = 'x'", 'unfit_value'],
      ['select 1 / 0', 'unfit_value'],
      ['selec 1', 'invalid_statement'],
      ['select $1::int', 'invalid_statement'],
    ] as const;
    for (const [sql, trouble] of troubles) {
      const error = await ask(db, sql).catch((reason: unknown) => reason);
      expect([sql, error]).toEqual([
        sql,
        expect.objectContaining({ data: expect.objectContaining({ trouble }) }),
      ]);
      expect((error as Error).message).not.toMatch(/secrets|nowhere|nothing|relation|syntax/);
    }
    await expect(ask(db, 'select 1 frm t')).rejects.toMatchObject({ data: { position: 14 } });
  });

  test('rows and bytes are limited, also those of a single value, and the result says so', async () => {
    const db = open();
    expect(await ask(db, 'select a from t order by a', { maxRows: 1 })).toMatchObject({
      rows: [[1]],
      isCut: true,
    });
    expect(await ask(db, 'select a from t', { maxRows: 2 })).toMatchObject({
      rows: [[1], [2]],
      isCut: false,
    });
    const cut = await ask(db, 'select body from wide', { maxBytes: 350_000 });
    expect([cut.rows.length, cut.isCut]).toEqual([3, true]);
    await expect(ask(db, "select repeat('x', 30000000)")).rejects.toMatchObject({
      code: 'result_too_large',
    });
    const late = await ask(db, "select 'x' union all select repeat('y', 30000000)");
    expect([late.rows, late.isCut]).toEqual([[['x']], true]);
  });

  test('D5 a hundred statements whose callers disconnect are ended in the server', async () => {
    const db = open(5);
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const all = Array.from({ length: 100 }, () =>
      ask(db, 'select pg_sleep(60)::text', { signal: stop.signal, timeoutMs: 60_000 }),
    );
    const ended = Promise.allSettled(all);
    await expect.poll(() => sleeping(), { timeout: 5_000 }).toBe(5);
    stop.abort(new Error('gone'));
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
    await expect.poll(() => sleeping(), { timeout: 3_000 }).toBe(0);
    expect((await ask(db, 'select 1')).rows).toEqual([[1]]);
  });

  test('D5 a statement is ended even if its role may not log in a second time', async () => {
    const db = open(1, server.url('single'));
    const stop = new AbortController();
    const ended = ask(db, 'select pg_sleep(60)::text', { signal: stop.signal, timeoutMs: 60_000 });
    const said = ended.catch(String);
    await expect.poll(() => sleeping('single'), { timeout: 5_000 }).toBe(1);
    const { default: pg } = await import('pg');
    const second = new pg.Client(server.url('single'));
    await expect(second.connect()).rejects.toMatchObject({ code: '53300' });
    stop.abort(new Error('gone'));
    expect(await said).toBe('Error: gone');
    await expect.poll(() => sleeping('single'), { timeout: 3_000 }).toBe(0);
    // The server may take a moment to count the ended session out.
    await expect.poll(() => ask(db, 'select 1').catch(codeOf)).toMatchObject({ rows: [[1]] });
  });

  test('D5 a statement that ignores cancellation is ended with its session', async () => {
    expect(await runAndStop(open(), 'select stubborn()')).toBe('Error: gone');
  });

  test('D5 with TLS, the request to end a statement uses TLS too', async () => {
    const certificate = await switchOnTls(server);
    const line = await recordOpenings(server.port);
    const url = `postgres://single@127.0.0.1:${line.port}/postgres`;
    const db = open(1, `${url}?sslmode=verify-full&sslrootcert=${certificate}`);
    expect(await runAndStop(db, 'select pg_sleep(60)::text', 'single')).toBe('Error: gone');
    expect(line.openings.length).toBeGreaterThan(1);
    expect(new Set(line.openings)).toEqual(new Set([ASKS_FOR_TLS]));
    // The same line does tell who speaks in the clear.
    const { default: pg } = await import('pg');
    const plain = new pg.Client(url.replace('single', 'reader'));
    await plain.connect();
    await plain.end();
    expect(line.openings.at(-1)).not.toBe(ASKS_FOR_TLS);
  });

  test('D5 control: closing the connection alone leaves the statement running', async () => {
    const { default: pg } = await import('pg');
    const client = new pg.Client(server.url('reader'));
    client.on('error', () => {});
    await client.connect();
    client.query('select pg_sleep(3), 4711').catch(() => {});
    const running = async (): Promise<number> =>
      (
        await server.run(
          "select 1 from pg_stat_activity where state = 'active' and query like '%4711' and usename = 'reader'",
        )
      ).length;
    await expect.poll(running).toBe(1);
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    await server.run('select pg_sleep(0.5)');
    expect(await running()).toBe(1);
    await server.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'reader'");
  });

  test('the server itself also ends a statement that takes too long', async () => {
    const db = open();
    await expect(ask(db, 'select pg_sleep(60)::text', { timeoutMs: 300 })).rejects.toMatchObject({
      code: 'timed_out',
    });
    const { rows } = await ask(
      db,
      "select current_setting('statement_timeout')::interval between '1 s' and '10 s', current_setting('lock_timeout')::interval between '1 s' and '10 s'",
    );
    expect(rows).toEqual([[true, true]]);
  });

  test('a server that cannot be reached is unavailable, and a full pool is busy', async () => {
    const away = openPostgres('postgres://reader:hunter2@127.0.0.1:1/postgres');
    await expect(ask(away, 'select 1')).rejects.toMatchObject({
      code: 'upstream_unavailable',
      message: expect.not.stringContaining('hunter2'),
    });
    await away.close();
    const full = open(1);
    const stop = new AbortController();
    const first = ask(full, 'select pg_sleep(60)::text', { signal: stop.signal, timeoutMs: 60_000 });
    const ended = first.catch(String);
    await expect(ask(full, 'select 1', { timeoutMs: 200 })).rejects.toMatchObject({ code: 'busy' });
    const impatient = new AbortController();
    const late = ask(full, 'select 1', { timeoutMs: 50, signal: impatient.signal }).catch(codeOf);
    expect(await late).toBe('busy');
    impatient.abort(new Error('too late to matter'));
    stop.abort(new Error('enough'));
    expect(await ended).toBe('Error: enough');
    expect((await ask(full, 'select 1')).rows).toEqual([[1]]);
  });

  test('closing twice is allowed, and later queries fail', async () => {
    const db = open();
    await ask(db, 'select 1');
    await Promise.all([db.close(), db.close()]);
    await expect(ask(db, 'select 1')).rejects.toMatchObject({ code: 'upstream_unavailable' });
    await expect.poll(sessions).toBe(0);
  });
});

const ASKS_FOR_TLS = 80_877_103;

/** Gives a server a certificate of its own; returns the file clients trust. */
async function switchOnTls(server: PostgresServer): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ];
  const facts = ['-subj', '/CN=database', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...kind, ...facts, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
    timeout: 30_000,
  });
  const [row] = await server.run('show data_directory');
  const data = String(row!['data_directory']);
  const { uid, gid } = statSync(data);
  for (const [from, name] of [
    [key, 'server.key'],
    [certificate, 'server.crt'],
  ] as const) {
    copyFileSync(from, join(data, name));
    chownSync(join(data, name), uid, gid);
    chmodSync(join(data, name), 0o600);
  }
  await server.run('alter system set ssl = on');
  await server.run('select pg_reload_conf()');
  await expect.poll(async () => (await server.run('show ssl'))[0]).toEqual({ ssl: 'on' });
  return certificate;
}

/** A line to a port that notes what each connection asks for first. */
async function recordOpenings(port: number): Promise<{ port: number; openings: readonly number[] }> {
  const openings: number[] = [];
  const line = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    near.once('data', (chunk) => openings.push(chunk.readInt32BE(4)));
    near.pipe(far).pipe(near);
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void line.close());
  await once(line, 'listening');
  return { port: (line.address() as AddressInfo).port, openings };
}
