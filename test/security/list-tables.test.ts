import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, onTestFinished, test } from 'vitest';
import { ToolRegistry } from '../../src/index.ts';
import { databaseQueryTool, listTablesTool, openSql, sqlQueryTool } from '../../src/tools.ts';
import { openCrib } from '../gateway.ts';

function shop(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-list-tables-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const db = new Database(join(folder, 'shop.db'));
  db.exec(`create table orders (id integer primary key, note text, pin text);
    create table people (id integer primary key, name text); create table secret (hidden text);
    create view recent as select id from orders`);
  db.close();
  return `sqlite:${join(folder, 'shop.db')}`;
}

test('list_tables lists the tables and columns that can be read, and no others', async () => {
  const db = openSql(shop());
  onTestFinished(() => db.close());
  const tables = { orders: { columns: ['id', 'note'] }, people: {} };
  const rows = databaseQueryTool({ db, tables });
  const sql = sqlQueryTool({ url: shop(), tables: ['orders'] });
  onTestFinished(() => sql.close());
  const registry = new ToolRegistry().registerTool(listTablesTool({ readers: [rows, sql] }));
  const answer = await registry.execute('list_tables');
  expect(answer).toEqual({
    tables: [
      { tool: 'query_database', table: 'orders', columns: ['id', 'note'] },
      { tool: 'query_database', table: 'people', columns: ['id', 'name'] },
      { tool: 'query_sql', table: 'orders', columns: ['id', 'note', 'pin'] },
    ],
  });
  expect(JSON.stringify(answer)).not.toContain('secret');
  expect(await registry.execute('list_tables', { table: 'people' })).toMatchObject({
    tables: [{ table: 'people' }],
  });
}, 30_000);

test('where every table can be read, all tables of the schema are listed', async () => {
  const db = openSql(shop());
  onTestFinished(() => db.close());
  const registry = new ToolRegistry().registerTool(
    listTablesTool({ readers: [databaseQueryTool({ db, tables: '*' })] }),
  );
  const { tables } = (await registry.execute('list_tables')) as { tables: { table: string }[] };
  expect(tables.map(({ table }) => table)).toEqual(['orders', 'people', 'recent', 'secret']);
}, 30_000);

test('a caller gets the tables of the tools that it can see, and no others', async () => {
  const url = shop();
  const crib = await openCrib({
    config: {
      tools: {
        ready: {
          query_sql: [
            { name: 'query_orders', url, tables: ['orders'] },
            { name: 'query_people', url, tables: ['people'] },
          ],
        },
      },
      access: [
        { roles: ['lead'], tools: ['query_people'] },
        { roles: ['staff'], tools: ['query_orders', 'list_tables'] },
      ],
    },
  });
  const seenBy = async (who: 'ada' | 'bob'): Promise<unknown> => {
    const { structuredContent } = await (await crib.connect(who)).call('list_tables');
    return (structuredContent as { tables: { table: string }[] }).tables.map(({ table }) => table);
  };
  expect(await seenBy('ada')).toEqual(['orders', 'people']);
  expect(await seenBy('bob')).toEqual(['orders']);
  const guest = await (await crib.connect('guest')).error('tools/call', { name: 'list_tables' });
  expect(guest.message).toContain('list_tables');
}, 60_000);

test('list_tables can be left out, and is refused where there is nothing to list', async () => {
  const ready = { query_sql: { url: shop(), tables: ['orders'] }, list_tables: false as const };
  const crib = await openCrib({ open: true, config: { tools: { ready } } });
  const { tools } = await (await crib.connect('ada')).list();
  expect(tools.map(({ name }) => name)).toEqual(['query_sql']);
  await expect(openCrib({ config: { tools: { ready: { list_tables: {} } } } })).rejects.toThrow(
    /tools\.ready\.list_tables has no tables to list; add query_database or query_sql/,
  );
}, 60_000);
