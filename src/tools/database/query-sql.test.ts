import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ToolRegistry } from '../../core/registry.ts';
import { createServer } from '../../index.ts';
import { createTestCall, createTestClient } from '../../testing.ts';
import { databaseQueryTool } from './query-database.ts';
import { sqlQueryTool, type SqlQueryOptions, type SqlQueryParts } from './query-sql.ts';
import { openSql } from '../sql/open.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolcrib-query-sql-'));

beforeAll(() => {
  for (const name of ['north', 'south']) {
    const db = new Database(join(folder, `${name}.db`));
    db.exec(`create table users (id integer primary key, name text, active int, size real, raw blob);
      insert into users values (1, '${name}', 1, 1.5, x'0102'), (2, 'Bob|Bo', 0, null, null), (9007199254740993, 'Cyn', 1, 3, null)`);
    db.close();
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

let shared: ToolRegistry;
let closeShared: () => Promise<void>;

beforeAll(() => {
  const tool = sqlQueryTool({ url: 'sqlite:./north.db', tables: ['users'] }, { folder });
  shared = new ToolRegistry().registerTool(tool);
  closeShared = () => tool.close();
});

afterAll(() => closeShared());

function registryFor(options: Partial<SqlQueryOptions> = {}, parts: SqlQueryParts = {}): ToolRegistry {
  const tool = sqlQueryTool(
    { ...(!options.urlByTenant && { url: 'sqlite:./north.db' }), tables: ['users'], ...options },
    { folder, ...parts },
  );
  onTestFinished(() => tool.close());
  return new ToolRegistry().registerTool(tool);
}

const text = { type: 'string' };

test('query_sql takes a query and parameters that are text, numbers, booleans or null (003-03)', () => {
  const [tool] = shared.getToolsList().tools;
  expect(tool?.inputSchema.required).toEqual(['query']);
  expect(tool?.inputSchema.properties).toMatchObject({
    query: text,
    parameters: {
      type: 'array',
      items: { anyOf: [text, { type: 'number' }, { type: 'boolean' }, { type: 'null' }] },
    },
  });
  expect(tool?.outputSchema?.['required']).toEqual(['columns', 'rows', 'rowCount', 'truncated']);
  expect(tool?.annotations).toEqual({
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  });
});

test('parameters are bound, never written into the query (003-03)', async () => {
  const registry = shared;
  const rowsFor = async (query: string, parameters: unknown[]): Promise<unknown> => {
    const answer = await registry.execute('query_sql', { query, parameters });
    return (answer as { structuredContent: { rows: unknown } }).structuredContent.rows;
  };
  expect(await rowsFor('SELECT name FROM users WHERE active = ? AND id < ?', [true, 5])).toEqual([
    { name: 'north' },
  ]);
  expect(await rowsFor('SELECT name FROM users WHERE name = ?', ["x' OR 1 = 1 --"])).toEqual([]);
  expect(await rowsFor('SELECT ? AS a, ? AS b, ? AS c, ? AS d', ['é', 1.5, null, 7])).toEqual([
    { a: 'é', b: 1.5, c: null, d: 7 },
  ]);
});

test('a parameter of another type is refused (003-03)', async () => {
  const wrong = shared.execute('query_sql', { query: 'SELECT ?', parameters: [{ a: 1 }] });
  await expect(wrong).rejects.toMatchObject({ code: 'invalid_arguments' });
});

test('rows come as objects with a count, and as a Markdown table in text (003-03, 003-07)', async () => {
  const registry = shared;
  const query = 'SELECT id, name, size, raw, id FROM users ORDER BY name DESC';
  const call = createTestCall(registry.find('query_sql')!, { arguments: { query, parameters: [] } });
  expect(await registry.call(call)).toEqual({
    kind: 'done',
    data: {
      columns: ['id', 'name', 'size', 'raw', 'id_2'],
      rows: [
        { id: 1, name: 'north', size: 1.5, raw: 'AQI=', id_2: 1 },
        { id: '9007199254740993', name: 'Cyn', size: 3, raw: null, id_2: '9007199254740993' },
        { id: 2, name: 'Bob|Bo', size: null, raw: null, id_2: 2 },
      ],
      rowCount: 3,
      truncated: false,
    },
    content: [
      {
        type: 'text',
        text: [
          'Query returned 3 rows:',
          '',
          '| id | name | size | raw | id_2 |',
          '| --- | --- | --- | --- | --- |',
          '| 1 | north | 1.5 | AQI= | 1 |',
          '| 9007199254740993 | Cyn | 3 |  | 9007199254740993 |',
          '| 2 | Bob\\|Bo |  |  | 2 |',
        ].join('\n'),
      },
    ],
  });
});

test('a query that finds nothing still names its columns (003-07)', async () => {
  const answer = await shared.execute('query_sql', {
    query: 'SELECT id, name FROM users WHERE id = 0',
  });
  expect(answer).toMatchObject({
    structuredContent: { columns: ['id', 'name'], rows: [], rowCount: 0, truncated: false },
    content: [{ text: 'Query returned 0 rows:\n\n(no rows)' }],
  });
});

test('rows over the limit are cut off, and the result says so', async () => {
  const registry = registryFor({ maxRows: 2 });
  const all = await registry.execute('query_sql', { query: 'SELECT id FROM users ORDER BY id' });
  expect(all).toMatchObject({
    structuredContent: { rowCount: 2, truncated: true },
    content: [{ text: expect.stringContaining('Query returned 2 rows, and there are more:') }],
  });
  const one = await registry.execute('query_sql', { query: 'SELECT id FROM users', limit: 1 });
  expect(one).toMatchObject({ structuredContent: { rowCount: 1, truncated: true } });
  await expect(registry.execute('query_sql', { query: 'SELECT 1', limit: 3 })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
});

test('C10 query_sql and query_database are two tools side by side, and each can be renamed', () => {
  const db = openSql('sqlite:./north.db', folder);
  onTestFinished(() => db.close());
  const namesOf = (registry: ToolRegistry): string[] => registry.getToolsList().tools.map(({ name }) => name);
  expect(namesOf(registryFor().registerTool(databaseQueryTool({ db, tables: ['users'] })))).toEqual([
    'query_database',
    'query_sql',
  ]);
  const renamed = databaseQueryTool({ db, tables: ['users'], name: 'read_shop' });
  expect(namesOf(registryFor({ name: 'ask_shop' }).registerTool(renamed))).toEqual(['ask_shop', 'read_shop']);
});

test('each tenant reads its own file, and a tenant without one is refused', async () => {
  const registry = registryFor({ urlByTenant: { n: 'sqlite:./north.db', s: 'sqlite:./south.db' } });
  const nameFor = (id: string): Promise<unknown> =>
    registry.execute(
      'query_sql',
      { query: 'SELECT name FROM users WHERE id = 1' },
      { tenant: { id, name: id, data: {} } },
    );
  expect(await nameFor('n')).toMatchObject({ structuredContent: { rows: [{ name: 'north' }] } });
  expect(await nameFor('s')).toMatchObject({ structuredContent: { rows: [{ name: 'south' }] } });
  expect(await nameFor('x')).toEqual({
    error: 'No database',
    message: 'Your organisation has no database here.',
  });
});

test('an error tells the model what to change, and the log why', async () => {
  const heard: unknown[] = [];
  const registry = registryFor({}, { onFailure: (error) => heard.push(error) });
  const failureOf = (query: string): Promise<unknown> => registry.execute('query_sql', { query });
  expect(await failureOf('SELECT nme FROM users')).toEqual({
    error: 'Database query failed',
    message: 'There is no such column: look at nme. users has id, name, active, size, raw.',
  });
  expect(heard).toEqual([
    expect.objectContaining({ cause: expect.objectContaining({ message: expect.stringContaining('nme') }) }),
  ]);
  expect(await failureOf('SELECT * FROM orders')).toEqual({
    content: [
      { type: 'text', text: "Error: Table 'orders' not found" },
      { type: 'text', text: expect.stringContaining('Only these tables can be read: users.') },
    ],
    isError: true,
  });
  expect(await failureOf("SELECT readfile('/etc/passwd')")).toMatchObject({
    error: 'Function not allowed',
    message: expect.stringContaining('"readfile"'),
  });
});

test('too few and too many parameters are refused', async () => {
  const errorOf = (query: string, parameters: unknown[]): Promise<unknown> =>
    shared.execute('query_sql', { query, parameters });
  expect(await errorOf('SELECT ?, ?', [1])).toEqual({
    error: 'Wrong number of parameters',
    message: 'The query takes 2 parameters, and 1 was given.',
  });
  expect(await errorOf('SELECT id FROM users WHERE id = ?', [1, 2])).toEqual({
    error: 'Wrong number of parameters',
    message: 'The query takes 1 parameter, and 2 were given.',
  });
  expect(await errorOf("SELECT '?' -- ?", [1])).toMatchObject({ error: 'Wrong number of parameters' });
});

test.each<[string, unknown[]]>([
  ['SELECT id FROM users WHERE 0 AND id = ?', [1]],
  ['SELECT id FROM users WHERE id = ?2 OR id = ?1 OR id = ?2', [1, 2]],
  ['SELECT id FROM users WHERE id = :id OR active = $active OR id = :id', [1, 2]],
  ['SELECT id FROM users WHERE id > ? LIMIT ? OFFSET ?', [0, 5, 0]],
  ['VALUES (?), (?)', [1, 2]],
])('parameters are counted as the database counts them: %s', async (query, parameters) => {
  expect(await shared.execute('query_sql', { query, parameters })).toHaveProperty('structuredContent');
});

test.each([
  'SELECT 1; SELECT 2',
  'SELECT * FROM nothing; DROP TABLE users',
  "SELECT ';' ; -- ;\n DELETE FROM users",
  ';; SELECT 1 /* ; */; ; VALUES (1)',
  'DROP TABLE users',
  '/* SELECT */ pragma user_version',
  'WITH x AS (SELECT 1) DELETE FROM users',
  'WITH x AS (SELECT 1) REPLACE INTO users SELECT * FROM x',
  'EXPLAIN SELECT 1',
  '-- SELECT 1',
])('a statement other than one SELECT is refused as such: %s', async (query) => {
  expect(await shared.execute('query_sql', { query })).toEqual({
    error: 'Only one SELECT is allowed',
    message: 'Send one SELECT (or WITH ... SELECT) and nothing else.',
  });
});

test.each([
  ['SELEC 1', 'near SELEC. Begin with SELECT, WITH or VALUES.'],
  ['  -- first\n selct * from users', 'near selct. Begin with SELECT, WITH or VALUES.'],
  ['SELECT 1 FRM users WHERE', 'look at users'],
])('a mistyped word is reported as such, and not as another statement: %s', async (query, told) => {
  const { message } = (await shared.execute('query_sql', { query })) as { message: string };
  expect(message).toContain(told);
  expect(message).not.toContain('Only one SELECT');
});

test.each([
  "SELECT ';', 'it''s; DROP' AS \"a;b\" FROM users;",
  '\ufeffSELECT 1 -- ; DROP TABLE users',
  'SELECT 1 /* ; */ -- the; end',
  'WITH [insert;] AS (SELECT 1 AS `delete;`) SELECT * FROM [insert;]',
  "SELECT replace(name, 'x', 'y') FROM users",
])('special characters inside of texts, names and comments end no statement: %s', async (query) => {
  expect(await shared.execute('query_sql', { query })).toHaveProperty('structuredContent');
});

test('functions can be added to the allowed ones', async () => {
  const registry = registryFor({ functions: ['zeroblob'] });
  const answer = await registry.execute('query_sql', { query: 'SELECT hex(zeroblob(2)) AS z' });
  expect(answer).toMatchObject({ structuredContent: { rows: [{ z: '0000' }] } });
});

test.each<[string, SqlQueryOptions]>([
  ['Set either url or urlByTenant.', { tables: ['users'] }],
  ['Set either url or urlByTenant.', { url: 'sqlite:./north.db', urlByTenant: {}, tables: ['users'] }],
  ['must name at least one tenant', { urlByTenant: {}, tables: ['users'] }],
  ['must begin with "sqlite:", "postgres://" or "mysql://"', { url: 'oracle://x', tables: ['users'] }],
  ['use query_database', { url: 'mysql://127.0.0.1/x', tables: ['users'] }],
  ['does not exist', { url: 'sqlite:./absent.db', tables: ['users'] }],
  [
    'databases of one kind',
    { urlByTenant: { a: 'sqlite:./north.db', b: 'postgres://127.0.0.1/x' }, tables: ['users'] },
  ],
  ['must name at least one table', { url: 'sqlite:./north.db', tables: {} }],
  ['cannot be kept back in SQLite', { url: 'sqlite:./north.db', tables: { users: { columns: ['id'] } } }],
  ['name it without a schema', { url: 'sqlite:./north.db', tables: ['other.users'] }],
  ['belongs to the database itself', { url: 'sqlite:./north.db', tables: ['sqlite_schema'] }],
  ['belongs to the database itself', { url: 'postgres://127.0.0.1/x', tables: ['pg_catalog.pg_authid'] }],
  [
    'belongs to the database itself',
    { url: 'postgres://127.0.0.1/x', tables: ['information_schema.tables'] },
  ],
])('an invalid setup is refused: %s', (message, options) => {
  expect(() => sqlQueryTool(options, { folder })).toThrow(
    expect.objectContaining({ code: 'invalid_setup', message: expect.stringContaining(message) }),
  );
});

test('an unknown table is reported in the words of the specification (003-08)', async () => {
  const registry = registryFor({ name: 'query_database' });
  const { text: said, isError } = await createTestClient(createServer({ source: registry })).callTool(
    'query_database',
    { query: 'SELECT * FROM customers' },
  );
  expect({ said, isError }).toEqual({
    said: expect.stringMatching(/^Error: Table 'customers' not found/),
    isError: true,
  });
});

test('the tool can have the name, title and description of the specification (003-03)', () => {
  const told = {
    name: 'query_database',
    title: 'Database Query Tool',
    description: 'Execute SQL queries against the connected database',
  };
  const tool = sqlQueryTool({ url: 'sqlite:./north.db', tables: ['users'], ...told }, { folder });
  onTestFinished(() => tool.close());
  expect(tool).toMatchObject(told);
});
