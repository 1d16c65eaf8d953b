import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, onTestFinished, test } from 'vitest';
import type { ConfigInput } from '../../src/gateway/settings/config.ts';
import { openCrib } from '../gateway.ts';

function shopFor(tenant: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-query-sql-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const db = new Database(join(folder, 'shop.db'));
  db.exec(`create table orders (id integer primary key, note text); insert into orders values (1, 'of ${tenant}');
    create table secret (v text); insert into secret values ('canary')`);
  db.close();
  return `sqlite:${join(folder, 'shop.db')}`;
}

function offering(urlByTenant: Record<string, string>): ConfigInput {
  return { tools: { ready: { query_sql: { urlByTenant, tables: ['orders'] } } } };
}

test('a configuration offers query_sql, and each tenant reaches its own database only (003-03)', async () => {
  const crib = await openCrib({ config: offering({ north: shopFor('north'), south: shopFor('south') }) });
  const query = 'SELECT note FROM orders WHERE id = ?';
  for (const [who, note] of [
    ['ada', 'of north'],
    ['cyn', 'of south'],
    ['bob', 'of north'],
  ] as const) {
    const peer = await crib.connect(who);
    const answer = await peer.call('query_sql', { query, parameters: [1] });
    expect(answer.structuredContent).toMatchObject({ rows: [{ note }], rowCount: 1 });
    expect(answer.content[0]!.text).toContain(`| ${note} |`);
  }
}, 60_000);

test('a tenant without a database, and a query beyond the list, get an error result (003-03)', async () => {
  const crib = await openCrib({ config: offering({ north: shopFor('north') }) });
  const cyn = await crib.connect('cyn');
  const none = await cyn.call('query_sql', { query: 'SELECT 1' });
  expect(none.isError).toBe(true);
  expect(none.content[0]!.text).toContain('No database');
  const ada = await crib.connect('ada');
  const refused = await ada.call('query_sql', { query: 'SELECT * FROM secret' });
  expect(refused.isError).toBe(true);
  expect(refused.content[0]!.text).toBe("Error: Table 'secret' not found");
}, 60_000);

test('an invalid configuration is refused with the place of the mistake', async () => {
  const config = offering({ north: 'sqlite:./absent.db' });
  await expect(openCrib({ config })).rejects.toThrow(/tools\.ready\.query_sql[^]*does not exist/);
}, 60_000);
