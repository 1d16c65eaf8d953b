import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createServer, ToolRegistry, withStages, type Caller } from '../../index.ts';
import { retry } from '../../stages.ts';
import { createFakeClock, createTestCall, createTestClient } from '../../testing.ts';
import { sqlError } from '../sql/driver.ts';
import {
  databaseQueryTool,
  openMysql,
  openPostgres,
  openSql,
  openSqlite,
  type DatabaseQueryConfig,
  type SqlDriver,
} from '../../tools.ts';
import { CANARY, databases, openWorld, type World } from '../../../test/databases.ts';
import { hasMariaDb } from '../../../test/mariadb.ts';
import { hasPostgres } from '../../../test/postgres.ts';
import { everythingForStaff, openCrib } from '../../../test/gateway.ts';

type Answer = {
  table: string;
  row_count: number;
  data: Record<string, unknown>[];
  truncated?: boolean;
  query_timestamp: string;
  error?: string;
  message?: string;
};

const acme: Caller = { id: 'ada', tenant: { id: 'acme', name: 'Acme', data: {} }, scopes: [], roles: [] };
const globex: Caller = { ...acme, tenant: { id: 'globex', name: 'Globex', data: {} } };

test('PostgreSQL and MariaDB are available for the tests', () => {
  expect([hasPostgres(), hasMariaDb()]).toEqual([true, true]);
});

describe.each(databases)('query_database on %s', (kind) => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld(kind);
  }, 60_000);
  afterAll(() => world.close());

  const ask = async (
    options: Partial<DatabaseQueryConfig>,
    query: Record<string, unknown>,
    caller: Caller = acme,
  ): Promise<Answer> => {
    const registry = new ToolRegistry().registerTool(databaseQueryTool({ db: world.db, ...options }));
    return (await registry.execute('query_database', query, { caller })) as Answer;
  };

  test('the tool is named query_database, takes a table, columns, filters and a limit, and is read-only (001-26, 001-27, 001-28)', () => {
    const { tools } = new ToolRegistry()
      .registerTool(databaseQueryTool({ db: world.db, tables: ['orders'] }))
      .getToolsList();
    const { name, inputSchema, annotations, outputSchema, description } = tools[0]!;
    expect(name).toBe('query_database');
    expect(description).toContain('orders');
    expect(inputSchema['required']).toEqual(['table']);
    expect(inputSchema['properties']).toMatchObject({
      table: { type: 'string' },
      columns: { type: 'array', items: { type: 'string' } },
      where: { type: 'object' },
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
    });
    expect(annotations).toEqual({
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    });
    expect(outputSchema).toBeDefined();
  });

  test('a limit outside 1 to 100, or a filter that is not a plain value, is refused before any query (001-27)', async () => {
    for (const wrong of [
      { limit: 0 },
      { limit: 101 },
      { limit: 1.5 },
      { where: { id: [1] } },
      { where: { id: { a: 1 } } },
    ])
      await expect(ask({ tables: ['orders'] }, { table: 'orders', ...wrong })).rejects.toMatchObject({
        code: 'invalid_arguments',
      });
  });

  test('only listed tables can be read, and all tables only with "*" (001-29)', async () => {
    const none = {
      error: 'Table not allowed',
      message: 'No table can be read here; its operator must list some.',
    };
    expect(await ask({}, { table: 'orders' })).toEqual(none);
    expect(await ask({ tables: [] }, { table: 'orders' })).toEqual(none);
    expect(await ask({ tables: ['customers', 'wide'] }, { table: 'orders' })).toEqual({
      error: 'Table not allowed',
      message: 'orders is not among the tables that can be read: customers, wide.',
    });
    expect(await ask({ tables: { customers: {} } }, { table: 'not_there' })).toMatchObject({
      error: 'Table not allowed',
      message: expect.stringContaining('read: customers.'),
    });
    expect((await ask({ tables: ['orders'] }, { table: 'orders' })).row_count).toBe(4);
    expect((await ask({ tables: '*' }, { table: 'secrets' })).row_count).toBe(1);
    expect((await ask({ tables: ['paid_orders'] }, { table: 'paid_orders' })).row_count).toBe(2);
  });

  test('an invalid name is refused first, so that it reveals nothing about the list (001-30)', async () => {
    const wrong = {
      error: 'Invalid table name',
      message:
        'Names have letters, digits and "_" only, 63 at most, and begin with no digit; leave out schemas and quotes.',
    };
    expect(await ask({}, { table: 'orders; drop table orders' })).toEqual(wrong);
    expect(await ask({ tables: ['orders'] }, { table: '1orders' })).toEqual(wrong);
    expect(await ask({ tables: '*' }, { table: 'public.orders' })).toEqual(wrong);
    expect(await ask({ tables: '*' }, { table: 'x'.repeat(64) })).toEqual(wrong);
  });

  test('columns are checked and quoted, and "*" means those that can be read (001-31)', async () => {
    const tables = { orders: { columns: ['id', 'item'] }, order: {} };
    const one = { table: 'orders', where: { id: 1 } };
    expect((await ask({ tables }, one)).data).toEqual([{ id: 1, item: 'anvil' }]);
    expect((await ask({ tables }, { ...one, columns: ['*'] })).data).toEqual([{ id: 1, item: 'anvil' }]);
    expect((await ask({ tables }, { ...one, columns: ['item'] })).data).toEqual([{ item: 'anvil' }]);
    expect(await ask({ tables }, { ...one, columns: ['note'] })).toEqual({
      error: 'Invalid column name',
      message: 'There is no column note; there are id, item.',
    });
    expect(await ask({ tables }, { ...one, columns: ['id", note --'] })).toMatchObject({
      error: 'Invalid column name',
    });
    expect((await ask({ tables }, { table: 'order', where: { select: 'reserved' } })).data).toEqual([
      { select: 'reserved', 'with space': 'spaced', 'a"b': 'quoted' },
    ]);
  });

  test('a redacted column shows only that it exists, and reveals nothing through a filter (001-31)', async () => {
    const tables = { customers: { redact: ['password'] } };
    const all = await ask({ tables }, { table: 'customers', where: { id: 7 } });
    expect(all.data).toEqual([
      { id: 7, tenant_id: 'acme', email: 'ada@acme.example', password: '[redacted]' },
    ]);
    expect((await ask({ tables }, { table: 'customers', columns: ['password'] })).data).toEqual([
      { password: '[redacted]' },
      { password: '[redacted]' },
    ]);
    expect(await ask({ tables }, { table: 'customers', where: { password: CANARY } })).toEqual({
      error: 'Invalid where key',
      message: 'password cannot be filtered by; use id, tenant_id, email.',
    });
  });

  test('all filters must hold, and a key that is not a column is an error (001-32)', async () => {
    const tables = ['orders'];
    const both = await ask(
      { tables },
      { table: 'orders', columns: ['id'], where: { tenant_id: 'acme', paid: false } },
    );
    expect(both.data).toEqual([{ id: 2 }, { id: 4 }]);
    for (const where of [{ 'id" or 1=1 --': 1 }, { nothing: 1 }, { 'id ': 1 }, { '': 1 }])
      expect(await ask({ tables }, { table: 'orders', where })).toMatchObject({ error: 'Invalid where key' });
  });

  test('values are bound with their types: text, integers, fractions, booleans and null (001-33)', async () => {
    const idsWhere = async (where: Record<string, unknown>): Promise<unknown[]> => {
      const { data } = await ask({ tables: ['orders'] }, { table: 'orders', columns: ['id'], where });
      return data.map(({ id }) => id);
    };
    expect(await idsWhere({ item: "it's" })).toEqual([4]);
    expect(await idsWhere({ note: 'x" or 1=1 --' })).toEqual([4]);
    expect(await idsWhere({ id: 2 })).toEqual([2]);
    expect(await idsWhere({ price: 12.5 })).toEqual([1]);
    expect(await idsWhere({ paid: true })).toEqual([1, 3]);
    expect(await idsWhere({ note: null })).toEqual([1]);
    expect(await idsWhere({ item: "' or '1'='1" })).toEqual([]);
  });

  test('the limit is bound, with ten as default, and the result says when rows were left out (001-34)', async () => {
    const asked: unknown[] = [];
    const db: SqlDriver = {
      ...world.db,
      query(statement) {
        asked.push(
          statement.sql
            .replace(/[?$]1$/, String(statement.values[0]))
            .split(' ')
            .slice(-2),
        );
        return world.db.query(statement);
      },
    };
    const ten = await ask({ db, tables: ['wide'] }, { table: 'wide', columns: ['id'] });
    expect([ten.row_count, ten.truncated]).toEqual([10, true]);
    expect(asked).toEqual([['limit', '11']]);
    const all = await ask({ tables: ['wide'] }, { table: 'wide', columns: ['id'], limit: 50 });
    expect([all.row_count, all.truncated]).toEqual([50, undefined]);
  });

  test('rows that are too large together are cut, and the result says so', async () => {
    const cut = await ask({ tables: ['wide'], maxBytes: 35_000 }, { table: 'wide', limit: 50 });
    expect([cut.row_count, cut.truncated]).toEqual([3, true]);
    const none = await ask({ tables: ['wide'], maxBytes: 1_024 }, { table: 'wide' });
    expect([none.row_count, none.truncated]).toEqual([0, true]);
  });

  test('the result has the table, the count, the rows and the time (001-35)', async () => {
    const clock = createFakeClock();
    expect(await ask({ tables: ['accounts'], clock }, { table: 'accounts', where: { id: 1 } })).toEqual({
      table: 'accounts',
      row_count: 1,
      data: [{ id: 1, tenant_no: 1, owner: 'one' }],
      query_timestamp: '2026-01-01T00:00:00.000Z',
    });
  });

  test('values are plain JSON: large and exact numbers as text, bytes as base64, times in ISO 8601', async () => {
    const { data } = await ask({ tables: ['kinds'] }, { table: 'kinds' });
    expect(data).toEqual([
      {
        id: 1,
        large: '9007199254740993',
        exact: '1.10',
        part: 1.5,
        bytes: 'AP8=',
        flag: kind === 'postgres' ? true : 1,
        moment: '2024-01-02T03:04:05Z',
      },
    ]);
  });

  test("an error says what to do, and the database's own text goes to the log (001-36)", async () => {
    const heard: unknown[] = [];
    const options = { tables: '*' as const, onFailure: (error: unknown) => heard.push(error) };
    expect(await ask(options, { table: 'not_there' })).toEqual({
      error: 'Database query failed',
      message: 'There is no such table.',
    });
    const broken: SqlDriver = {
      ...world.db,
      query: () => Promise.reject(new Error('password authentication failed for postgres://root:hunter2@db')),
    };
    expect(await ask({ ...options, db: broken }, { table: 'orders' })).toEqual({
      error: 'Database query failed',
      message: 'The database could not run the query.',
    });
    expect(String(heard[1])).toContain('hunter2');
  });

  test('an unavailable or busy database has another error code than a failed query, so that stages can react (001-36)', async () => {
    const heard: unknown[] = [];
    const onFailure = (error: unknown): number => heard.push(error);
    const away = {
      sqlite: () => openSqlite('/nowhere/at/all.db'),
      postgres: () => openPostgres('postgres://127.0.0.1:1/x'),
      mysql: () => openMysql('mysql://127.0.0.1:1/x'),
    }[kind]();
    onTestFinished(() => away.close());
    await expect(ask({ db: away, tables: ['orders'], onFailure }, { table: 'orders' })).rejects.toMatchObject(
      {
        code: 'upstream_unavailable',
        message: 'Database query failed: The database cannot be reached; try again later.',
      },
    );
    expect(heard).toHaveLength(1);
    const narrow = {
      sqlite: () => openSqlite(world.url.slice('sqlite:'.length), { maxProcesses: 1 }),
      postgres: () => openPostgres(world.url, { maxConnections: 1 }),
      mysql: () => openMysql(world.url, { maxConnections: 1 }),
    }[kind]();
    const stop = new AbortController();
    const patience = { timeoutMs: 60_000, signal: stop.signal };
    const statement = { sql: 'select * from slow', values: [], maxRows: 1, maxBytes: 1_024, ...patience };
    const long = narrow.query(statement).catch(String);
    const short = { db: narrow, tables: ['orders'], timeoutSeconds: 0.2 };
    await expect(ask(short, { table: 'orders' })).rejects.toMatchObject({
      code: 'busy',
      message: 'Database query failed: The database is busy; try again in a moment.',
    });
    stop.abort(new Error('enough'));
    expect(await long).toBe('Error: enough');
    await narrow.close();
  });

  test('the retry stage repeats a call when the database was unavailable', async () => {
    const columns = vi.fn(world.db.columns);
    columns.mockRejectedValueOnce(sqlError('unavailable'));
    const tool = databaseQueryTool({ db: { ...world.db, columns }, tables: ['accounts'] });
    const source = withStages(new ToolRegistry().registerTool(tool), [retry({ delayMs: 1 })]);
    const call = createTestCall(tool, {
      arguments: { table: 'accounts', columns: ['*'], where: {}, limit: 1 },
    });
    expect(await source.call(call)).toMatchObject({ kind: 'done', data: { row_count: 1 } });
    expect(columns).toHaveBeenCalledTimes(2);
  });

  test('a client gets a failure with isError (001-36)', async () => {
    const server = createServer({
      name: 'test',
      version: '1',
      source: new ToolRegistry().registerTool(databaseQueryTool({ db: world.db, tables: ['orders'] })),
    });
    const client = createTestClient(server);
    const refused = await client.callTool('query_database', { table: 'secrets' });
    expect([refused.isError, JSON.parse(refused.text)]).toEqual([
      true,
      { error: 'Table not allowed', message: 'secrets is not among the tables that can be read: orders.' },
    ]);
    const good = await client.callTool('query_database', { table: 'orders', where: { id: 1 } });
    expect(good.structuredContent).toMatchObject({ table: 'orders', row_count: 1 });
  });

  test('a caller gets only rows of its own tenant', async () => {
    const tables = { orders: { tenantColumn: 'tenant_id' } };
    const query = { table: 'orders', columns: ['id'] };
    expect((await ask({ tables }, query, acme)).data).toEqual([{ id: 1 }, { id: 2 }, { id: 4 }]);
    expect((await ask({ tables }, query, globex)).data).toEqual([{ id: 3 }]);
    expect((await ask({ tables: ['orders'] }, query, globex)).row_count).toBe(4);
  });

  test('a query that takes too long is ended, and the next one works', async () => {
    const options = { tables: ['slow', 'accounts'], timeoutSeconds: 0.5 };
    await expect(ask(options, { table: 'slow' })).rejects.toMatchObject({
      code: 'timed_out',
      message: 'Database query failed: The query took too long; ask for less, or filter by more.',
    });
    await expect.poll(() => world.running()).toBe(0);
    expect((await ask(options, { table: 'accounts' })).row_count).toBe(2);
  });

  test('D5 a query whose call is cancelled is ended in the database', async () => {
    const stop = new AbortController();
    const query = vi.fn(world.db.query);
    const tool = databaseQueryTool({ db: { ...world.db, query }, tables: ['slow'], timeoutSeconds: 60 });
    const registry = new ToolRegistry().registerTool(tool);
    const called = registry.execute('query_database', { table: 'slow' }, { signal: stop.signal });
    const ended = called.catch(String);
    await expect.poll(() => query.mock.calls.length).toBe(1);
    await expect.poll(() => world.running(), { timeout: 5_000 }).toBe(1);
    stop.abort(new Error('gone away'));
    expect(await ended).toBe('Error: gone away');
    await expect.poll(() => world.running(), { timeout: 2_000 }).toBe(0);
  });

  test('calls share a pool through the services of their registry (001-56)', async () => {
    const own = openSql(world.url);
    const query = vi.spyOn(own, 'query');
    const tool = databaseQueryTool({
      db: ({ services }) => services['db'] as SqlDriver,
      tables: ['accounts'],
    });
    const registry = new ToolRegistry({ services: { db: own } }).registerTool(tool);
    const all = await Promise.all(
      Array.from({ length: 10 }, () => registry.execute('query_database', { table: 'accounts' })),
    );
    expect(all.map((answer) => (answer as Answer).row_count)).toEqual(Array(10).fill(2));
    expect(query.mock.calls.length).toBeGreaterThanOrEqual(10);
    await own.close();
  });

  // Those of earlier tests go a little after these have closed them.
  async function settledSessions(): Promise<number> {
    let last = await world.sessions();
    const isSettled = async (): Promise<boolean> => last === (last = await world.sessions());
    await expect.poll(isSettled, { interval: 200, timeout: 10_000 }).toBe(true);
    return last;
  }

  test('a gateway offers the tool from its configuration, and closes the database when it closes', async () => {
    const before = await settledSessions();
    const crib = await openCrib({
      config: {
        access: [everythingForStaff],
        tools: {
          ready: {
            query_database: {
              url: '${DATABASE}',
              tables: { orders: { tenantColumn: 'tenant_id' } },
              name: 'find_rows',
            },
          },
        },
      },
      env: { DATABASE: world.url },
    });
    const peer = await crib.connect('ada');
    expect((await peer.call('find_rows', { table: 'orders' })).structuredContent).toMatchObject({
      row_count: 0,
    });
    expect((await peer.call('find_rows', { table: 'secrets' })).isError).toBe(true);
    expect(await world.sessions()).toBe(before + 1);
    await crib.gateway.close();
    await expect.poll(() => world.sessions()).toBe(before);
  });
});
