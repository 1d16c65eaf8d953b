import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hasMariaDb, startMariaDb, type MariaDbServer } from '../../../test/mariadb.ts';
import { troubleOf, type SqlRows, type SqlStatement } from './driver.ts';
import { openMysql, type MysqlDriver } from './mysql.ts';

test('MariaDB is available for the tests', () => {
  expect(hasMariaDb()).toBe(true);
});

describe.skipIf(!hasMariaDb())('a MySQL database', () => {
  let server: MariaDbServer;
  let db: MysqlDriver;
  beforeAll(async () => {
    server = await startMariaDb();
    // With every right there is, so that only the driver stands in the way.
    await server.run(`create table orders (id integer primary key, note varchar(50)); insert into orders values (1, 'one');
      create user almighty@'%'; grant all on *.* to almighty@'%'`);
    db = openMysql(server.url('almighty'));
  }, 60_000);
  afterAll(async () => {
    await db.close();
    await server.stop();
  });

  const ask = (sql: string, more: Partial<SqlStatement> = {}, driver = db): Promise<SqlRows> =>
    driver.query({
      sql,
      values: [],
      maxRows: 100,
      maxBytes: 100_000,
      timeoutMs: 10_000,
      signal: new AbortController().signal,
      ...more,
    });
  const troubleIn = (sql: string, more: Partial<SqlStatement> = {}): Promise<unknown> =>
    ask(sql, more).then(() => 'nothing', troubleOf);
  const sleeping = async (): Promise<number> =>
    (
      await server.run(
        "select 1 from information_schema.processlist where info like '%sleep(%' and id <> connection_id()",
      )
    ).length;

  const outside = join(tmpdir(), `toolcrib-outfile-${process.pid}`);
  test.each([
    "insert into orders values (2, 'two')",
    'delete from orders',
    'drop table orders',
    'create table stolen (id integer)',
    'select 1; drop table orders',
    `select note from orders into outfile '${outside}'`,
    `select note into outfile '${outside}' from orders`,
    `select note from orders into dumpfile '${outside}'`,
    `select 1) union (select note into outfile '${outside}' from orders`,
    `select note from orders /*! into outfile '${outside}' */`,
    'set global max_connections = 1',
    'select note into @kept from orders',
    'call sys.nothing()',
    'select * from orders for update into @x',
    'kill 1',
    'with x as (select 1) delete from orders',
  ])('D1 only a single SELECT that writes nothing is run: %s', async (sql) => {
    expect(await troubleIn(sql)).not.toBe('nothing');
    expect(await server.run('select * from orders')).toEqual([{ id: 1, note: 'one' }]);
    expect(existsSync(outside)).toBe(false);
  });

  test('D1 control: without the driver the same rights write a file and change a table', async () => {
    await server.run('create table proof (id integer); insert into proof values (1)');
    expect(await server.run('select count(*) as n from proof')).toEqual([{ n: 1 }]);
    const variables = await server.run("show variables like 'secure_file_priv'");
    expect(variables[0]!['Value']).toBe('');
  });

  test('values of every type become plain JSON', async () => {
    await server.run(`create table kinds (a tinyint, b smallint unsigned, c mediumint, d int unsigned, e bigint unsigned, f decimal(30,10),
      g float, h double, i bit(12), j bit(64), k date, l datetime(6), m timestamp(3) null, n time, o year, p char(5), q varchar(20), r binary(3),
      s varbinary(4), t tinyblob, u longtext, v enum('x','y'), w set('a','b'), x json, y point, z boolean, nothing int, id uuid, ip inet6);
      insert into kinds values (-1, 65535, -8388608, 4294967295, 18446744073709551615, 12345678901234567890.0123456789,
      1.5, 1e300, b'101', b'${'1'.repeat(64)}', '2024-02-29', '2024-01-02 03:04:05.678901', '2024-01-02 03:04:05.678', '-12:34:56', 2024, 'ab', 'ö€😀', 'abc',
      x'00ff', x'01', 'long', 'y', 'a,b', '{"n": [1, 2]}', point(1, 2), true, null, '123e4567-e89b-12d3-a456-426655440000', '::1')`);
    const { columns, rows } = await ask('select * from kinds');
    expect(Object.fromEntries(columns.map((name, index) => [name, rows[0]![index]]))).toEqual({
      a: -1,
      b: 65535,
      c: -8388608,
      d: 4294967295,
      e: '18446744073709551615',
      f: '12345678901234567890.0123456789',
      g: 1.5,
      h: 1e300,
      i: 5,
      j: '18446744073709551615',
      k: '2024-02-29',
      l: '2024-01-02T03:04:05.678901',
      m: '2024-01-02T03:04:05.678Z',
      n: '-12:34:56',
      o: 2024,
      p: 'ab',
      q: 'ö€😀',
      r: 'YWJj',
      s: 'AP8=',
      t: 'AQ==',
      u: 'long',
      v: 'y',
      w: 'a,b',
      x: { n: [1, 2] },
      y: { x: 1, y: 2 },
      z: 1,
      nothing: null,
      id: '123e4567-e89b-12d3-a456-426655440000',
      ip: '::1',
    });
    expect(() => JSON.stringify(rows)).not.toThrow();
  });

  test('D5 a statement that takes too long is ended in the server', async () => {
    expect(await troubleIn('select sleep(60)', { timeoutMs: 300 })).toBe('timed_out');
    await expect.poll(sleeping, { timeout: 3_000 }).toBe(0);
    expect((await ask('select 1')).rows).toEqual([[1]]);
  });

  test('D5 a statement whose call is cancelled is ended in the server, and leaves no connection behind', async () => {
    const own = openMysql(server.url('almighty'), { maxConnections: 1 });
    const stop = new AbortController();
    const asked = ask('select sleep(60)', { signal: stop.signal }, own).catch(String);
    await expect.poll(sleeping, { timeout: 5_000 }).toBe(1);
    stop.abort(new Error('gone away'));
    expect(await asked).toBe('Error: gone away');
    await expect.poll(sleeping, { timeout: 3_000 }).toBe(0);
    expect((await ask('select 2', {}, own)).rows).toEqual([[2]]);
    await own.close();
    await expect
      .poll(
        async () =>
          (await server.run("select 1 from information_schema.processlist where user = 'almighty'")).length,
        { timeout: 3_000 },
      )
      .toBeLessThanOrEqual(1);
  });

  test('no state of a statement is left on its connection', async () => {
    const own = openMysql(server.url('almighty'), { maxConnections: 1 });
    onTestFinished(() => own.close());
    await ask("select get_lock('mine', 0)", {}, own);
    await ask('select @left := 7', {}, own);
    expect((await ask('select @left', {}, own)).rows).toEqual([[null]]);
    expect(await server.run("select is_free_lock('mine') as free")).toEqual([{ free: 1 }]);
  });

  test('a value that is too large is not read completely', async () => {
    expect(await troubleIn("select repeat('x', 15000000)", { maxBytes: 1_024 })).toBe('too_large');
    expect((await ask('select 1')).rows).toEqual([[1]]);
    const { rows, isCut } = await ask('select 1 union all select 2 union all select 3', { maxRows: 2 });
    expect([rows, isCut]).toEqual([[[1], [2]], true]);
  });

  test.each([
    ['select nme from orders', 'unknown_column'],
    ['select * from missing', 'unknown_table'],
    ['selec 1', 'invalid_statement'],
    ['', 'invalid_statement'],
    ['select 1 \0', 'invalid_statement'],
  ])('the kind of an error is recognised: %s', async (sql, trouble) => {
    expect(await troubleIn(sql)).toBe(trouble);
  });

  test('a server that is down, or refuses the login, is unavailable', async () => {
    for (const url of ['mysql://x@127.0.0.1:1/shop', `mysql://nobody:wrong@127.0.0.1:${server.port}/shop`]) {
      const away = openMysql(url);
      await expect(ask('select 1', {}, away)).rejects.toMatchObject({ code: 'upstream_unavailable' });
      await away.close();
    }
  });

  test.each([
    'mysql://host',
    'mysql://host/shop?multipleStatements=true',
    'mysql://host/shop?flags=LOCAL_FILES',
  ])('a URL without a database, or with options, is refused: %s', (url) =>
    expect(() => openMysql(url)).toThrow(/^url /),
  );
});
