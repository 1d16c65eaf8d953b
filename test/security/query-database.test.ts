import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ToolRegistry, type Caller } from '../../src/index.ts';
import { databaseQueryTool, type DatabaseQueryConfig } from '../../src/tools.ts';
import { CANARY, databases, openWorld, type World } from '../databases.ts';
import { propertyRuns } from '../property-runs.ts';

type Query = {
  readonly table: string;
  readonly columns?: readonly string[];
  readonly where?: Readonly<Record<string, string>>;
};

function callerOf(tenant: string): Caller {
  return { id: 'ada', tenant: { id: tenant, name: tenant, data: {} }, scopes: [], roles: [] };
}

/** How a careless tool does it: everything is put between quotes as it comes. */
function build({ table, columns = ['item'], where = {} }: Query): string {
  const list = columns.map((column) => `"${column}"`).join(', ');
  const conditions = Object.entries(where).map(([key, value]) => `"${key}" = '${value}'`);
  const filter = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
  return `select ${list} from "${table}"${filter}`;
}

const injections: Readonly<Record<string, Query>> = {
  'a table': { table: 'orders" union all select k from secrets --' },
  'a table with a comment in it': {
    table: 'orders"/**/union/**/all/**/select/**/k/**/from/**/secrets/**/--',
  },
  'a column': { table: 'orders', columns: ['item" from orders union all select k from secrets --'] },
  'the key of a filter': {
    table: 'orders',
    where: { 'item" is null union all select k from secrets --': 'x' },
  },
  'the value of a filter': { table: 'orders', where: { item: "x' union all select k from secrets --" } },
};

const strangeNames = [
  '',
  ' ',
  ' orders',
  'orders ',
  'orders\n',
  'orders\0',
  'orders\0secrets',
  'ORDERS',
  'a"b',
  '"orders"',
  'secrets"--',
  '`secrets`',
  '[secrets]',
  "'secrets'",
  'U&"\\0073ecrets"',
  'U&secrets',
  'main.secrets',
  'public.secrets',
  'public"."secrets',
  'sеcrets',
  'ｓｅｃｒｅｔｓ',
  'ſecrets',
  'secrets;',
  'secrets)',
  '(select k from secrets)',
  'secrets s',
  '*',
  '1',
  '$1',
  '?1',
  'x'.repeat(63),
  'x'.repeat(64),
  `orders${' '.repeat(60)}`,
  'select',
  'null',
  'sqlite_schema',
  'sqlite_master',
  'pragma_table_list',
  'dbstat',
  'pg_class',
  'pg_shadow',
  'information_schema',
  'constructor',
  'toString',
  '__proto__',
];

describe.each(databases)('D1 query_database on %s', (kind) => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld(kind);
  }, 60_000);
  afterAll(() => world.close());

  const ask = (
    options: Partial<DatabaseQueryConfig>,
    query: Query | Record<string, unknown>,
    tenant = 'acme',
  ): Promise<unknown> =>
    new ToolRegistry()
      .registerTool(databaseQueryTool({ db: world.db, ...options }))
      .execute('query_database', { ...query }, { caller: callerOf(tenant) });

  test.each(Object.entries(injections))(
    'SQL in %s is refused or harmless, but works when the query is concatenated',
    async (_where, written) => {
      // MySQL takes "--" for a comment only before a blank.
      const query =
        kind === 'mysql' ? (JSON.parse(JSON.stringify(written).replaceAll('--', '-- ')) as Query) : written;
      expect(JSON.stringify(await world.select(build(query)))).toContain(CANARY);
      const answer = await ask({ tables: ['orders'] }, query);
      expect(JSON.stringify(answer)).not.toContain(CANARY);
      if (query.where?.['item'] === undefined) expect(answer).toHaveProperty('error');
      else expect(answer).toMatchObject({ row_count: 0 });
    },
  );

  test('an unknown name is refused as a table, a column and the key of a filter', async () => {
    for (const name of strangeNames) {
      const answers = [
        await ask({ tables: ['orders'] }, { table: name }),
        await ask({ tables: ['orders'] }, { table: 'orders', where: { [name]: CANARY } }),
        ...(name === '*' ? [] : [await ask({ tables: ['orders'] }, { table: 'orders', columns: [name] })]),
      ];
      for (const answer of answers)
        expect([name, answer]).toEqual([name, expect.objectContaining({ error: expect.any(String) })]);
    }
  });

  test('with "*", the database’s own tables are not included', async () => {
    const own = [
      'sqlite_schema',
      'sqlite_master',
      'pragma_table_list',
      'pragma_function_list',
      'dbstat',
      'sqlite_dbpage',
      'fsdir',
    ];
    for (const table of [...own, 'pg_class', 'pg_authid', 'pg_stat_activity', 'tables'])
      expect(await ask({ tables: '*' }, { table })).toEqual({
        error: 'Database query failed',
        message: 'There is no such table.',
      });
    const catalogue = {
      sqlite: 'main.sqlite_schema',
      postgres: 'pg_catalog.pg_class',
      mysql: 'information_schema.tables',
    }[kind];
    expect((await world.select(`select * from ${catalogue}`)).rows.length).toBeGreaterThan(5);
  });

  test('a name that the database reads as a function, a whole row or a row number is not accepted as a column', async () => {
    const tables = { customers: { redact: ['password', 'id'] } };
    const names = {
      sqlite: ['rowid', '_rowid_', 'oid'],
      postgres: ['row_to_json', 'to_jsonb', 'ctid', 'xmin', 't', 'customers'],
      mysql: ['_rowid', 'user', 'version', 't', 'customers'],
    }[kind];
    for (const name of names) {
      const answer = await ask({ tables }, { table: 'customers', columns: [name] });
      expect([name, answer]).toEqual([name, expect.objectContaining({ error: 'Invalid column name' })]);
      expect(await ask({ tables }, { table: 'customers', where: { [name]: '7' } })).toMatchObject({
        error: 'Invalid where key',
      });
    }
    // Quoting alone does not stop them.
    const quoted = await world.select(`select "t"."${names[0]}" from "customers" as "t"`);
    expect(JSON.stringify(quoted)).toContain(kind === 'postgres' ? CANARY : '7');
  });

  test('B1 no filter, column or name of a tenant reads rows of another tenant', async () => {
    const tables = { orders: { tenantColumn: 'tenant_id' }, nocase: { tenantColumn: 'tenant_id' } };
    for (const key of ['tenant_id', 'TENANT_ID', 'Tenant_Id'])
      expect(await ask({ tables }, { table: 'orders', where: { [key]: 'globex' } })).toMatchObject({
        error: 'Invalid where key',
      });
    for (const tenant of [
      "acme' or '1'='1",
      'acme" or 1=1 --',
      '%',
      '*',
      'ACME',
      'acme ',
      ' acme',
      'acme\u200b',
      'null',
      'tenant_id',
    ])
      for (const table of ['orders', 'nocase'])
        expect([tenant, await ask({ tables }, { table }, tenant)]).toEqual([
          tenant,
          expect.objectContaining({ row_count: 0 }),
        ]);
    expect(await ask({ tables }, { table: 'nocase' }, 'acme')).toMatchObject({ row_count: 1 });
    // Equality alone would let the namesake in.
    const mark = { sqlite: '?1', postgres: '$1', mysql: '?' }[kind];
    const naive = await world.select(`select id from nocase where tenant_id = ${mark}`, ['ACME']);
    expect(naive.rows).toHaveLength(1);
  });

  test('B1 a tenant whose id is numerically equal is still another tenant', async () => {
    const tables = { accounts: { tenantColumn: 'tenant_no' } };
    expect(await ask({ tables }, { table: 'accounts' }, '1')).toMatchObject({ data: [{ owner: 'one' }] });
    for (const tenant of ['01', ' 1', '+1'])
      expect(await ask({ tables }, { table: 'accounts' }, tenant)).toMatchObject({ row_count: 0 });
    const mark = { sqlite: '?1', postgres: '$1', mysql: '?' }[kind];
    const naive = await world.select(`select owner from accounts where tenant_no = ${mark}`, ['01']);
    expect(naive.rows).toEqual([['one']]);
  });

  test('B1 a table that should be filtered by tenant but cannot be is not read at all', async () => {
    const broken = { orders: { tenantColumn: 'tenant' } };
    expect(await ask({ tables: broken }, { table: 'orders' })).toMatchObject({
      error: 'Database query failed',
    });
    const right = { orders: { tenantColumn: 'tenant_id' } };
    expect(await ask({ tables: right }, { table: 'orders' }, '')).toMatchObject({
      error: 'Database query failed',
    });
  });

  test('any text in place of a name is refused, unless it names a table that may be read', async () => {
    const known = 'orders customers secrets item password k id * tenant_id __proto__'.split(' ');
    const piece = fc.constantFrom(
      ...known,
      '"',
      "'",
      ';',
      '--',
      '.',
      ' ',
      '\0',
      '/*',
      '$1',
      '?',
      'union select k from secrets',
    );
    const word = fc.oneof(
      fc.constantFrom(...known),
      fc.string({ unit: 'binary' }),
      fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join('')),
    );
    const value = fc.oneof(
      word,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    );
    const filter = fc.array(fc.tuple(word, value), { maxLength: 2 });
    // Half of the tables can be read, so that many of the queries are answered.
    const tableName = fc.oneof(fc.constantFrom('orders', 'customers'), word);
    const tables = { orders: { tenantColumn: 'tenant_id' }, customers: { redact: ['password'] } };
    const registry = new ToolRegistry().registerTool(databaseQueryTool({ db: world.db, tables }));
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(tableName, fc.array(word, { maxLength: 2 }), filter, async (table, columns, where) => {
        const query = { table, columns, where: Object.fromEntries(where) };
        const answer = await registry.execute('query_database', query, { caller: callerOf('acme') });
        expect(JSON.stringify(answer)).not.toContain(CANARY);
        if (answer !== null && typeof answer === 'object' && 'error' in answer) return;
        answered++;
        expect(['orders', 'customers']).toContain(table);
        expect(JSON.stringify(answer)).not.toContain('laser');
      }),
      { numRuns: propertyRuns(1_000, 250) },
    );
    expect(answered).toBeGreaterThan(5);
  });

  test('a hundred calls of two tenants on one pool each see only their own rows', async () => {
    const tool = databaseQueryTool({ db: world.db, tables: { orders: { tenantColumn: 'tenant_id' } } });
    const registry = new ToolRegistry().registerTool(tool);
    const counts = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const caller = callerOf(index % 2 === 0 ? 'acme' : 'globex');
        const answer = await registry.execute('query_database', { table: 'orders' }, { caller });
        return (answer as { row_count: number }).row_count;
      }),
    );
    expect(counts).toEqual(Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? 3 : 1)));
  });
});
