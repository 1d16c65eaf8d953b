import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/gateway/settings/load-config.ts';
import { formatComplaint } from '../../src/config/complaint.ts';
import { openCrib } from '../gateway.ts';

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-several-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function shop(note: string): string {
  const file = join(folderOf(), 'shop.db');
  const db = new Database(file);
  db.exec(
    `create table orders (id integer primary key, note text); insert into orders values (1, '${note}')`,
  );
  db.close();
  return `sqlite:${file}`;
}

function drawer(text: string): string {
  const root = join(folderOf(), 'drawer');
  mkdirSync(root);
  writeFileSync(join(root, 'note.txt'), text);
  return root;
}

async function complaintsOf(yaml: string): Promise<string[]> {
  const file = join(folderOf(), 'toolcrib.yaml');
  writeFileSync(file, yaml);
  const { complaints } = await readConfig(file);
  return complaints.map((one) => formatComplaint(one).slice(file.length + 1));
}

test('a ready-made tool can be offered several times, each with its own name and options', async () => {
  const tables = ['orders'];
  const crib = await openCrib({
    open: true,
    config: {
      tools: {
        ready: {
          query_sql: [
            { name: 'query_north', url: shop('of the north'), tables },
            { name: 'query_south', url: shop('of the south'), tables, description: 'Orders of the south.' },
          ],
          query_database: [
            { name: 'read_north', url: shop('rows of the north'), tables },
            { name: 'read_south', url: shop('rows of the south'), tables },
          ],
          file_operations: [
            { name: 'use_contracts', root: drawer('a contract') },
            { name: 'use_letters', root: drawer('a letter'), title: 'Letters' },
          ],
          fetch_api_data: [
            { name: 'fetch_prices', hosts: ['prices.example'] },
            { name: 'fetch_rates', hosts: ['rates.example'] },
          ],
        },
      },
    },
  });
  const peer = await crib.connect('ada');
  const { tools: listed } = await peer.list();
  expect(listed.map(({ name }) => name)).toEqual([
    'fetch_prices',
    'fetch_rates',
    'list_tables',
    'query_north',
    'query_south',
    'read_north',
    'read_south',
    'use_contracts',
    'use_letters',
  ]);
  const south = listed.find(({ name }) => name === 'query_south');
  expect(south).toMatchObject({ description: 'Orders of the south.' });
  expect(listed.find(({ name }) => name === 'use_letters')).toMatchObject({ title: 'Letters' });
  const query = 'select note from orders';
  for (const [name, args, said] of [
    ['query_north', { query }, 'of the north'],
    ['query_south', { query }, 'of the south'],
    ['read_north', { table: 'orders' }, 'rows of the north'],
    ['read_south', { table: 'orders' }, 'rows of the south'],
    ['use_contracts', { operation: 'read', path: 'note.txt' }, 'a contract'],
    ['use_letters', { operation: 'read', path: 'note.txt' }, 'a letter'],
  ] as const)
    expect(JSON.stringify(await peer.call(name, args))).toContain(said);
  const refused = await peer.call('fetch_rates', { url: 'https://prices.example/' });
  expect(refused.isError).toBe(true);
}, 60_000);

test('an error in one of several entries is reported at its own line and column', async () => {
  expect(
    await complaintsOf(`tools:
  ready:
    file_operations:
      - { name: a, root: ./a }
      - { name: b, roots: ./b }
    query_sql:
      url: sqlite:./x.db
      tables: [orders]
      maxRow: 5
    fetch_api_data: now
`),
  ).toEqual([
    '5:9: tools.ready.file_operations[1] needs either root or rootsByTenant.',
    '5:20: tools.ready.file_operations[1].roots is not a key here; did you mean "root"?',
    '9:7: tools.ready.query_sql.maxRow is not a key here; did you mean "maxRows"?',
    '10:21: tools.ready.fetch_api_data must be a group of keys or a list, not text.',
  ]);
  expect(await complaintsOf('tools: { ready: { file_operations: { write: true } } }\n')).toEqual([
    '1:36: tools.ready.file_operations needs either root or rootsByTenant.',
  ]);
});

test('two entries of one name are reported at the second entry', async () => {
  const config = {
    tools: { ready: { fetch_api_data: [{ hosts: ['a.example'] }, { hosts: ['b.example'] }] } },
  };
  await expect(openCrib({ config })).rejects.toThrow(
    /tools\.ready\.fetch_api_data\[1\] offers a tool named "fetch_api_data", and so does tools\.ready\.fetch_api_data\[0\]; set another "name" here/,
  );
}, 60_000);

test('each of several folders is refused if it would give callers access to files of the server', async () => {
  expect(
    await complaintsOf(`tools:
  ready:
    file_operations: [{ name: a, root: ./a }, { name: b, root: . }]
    query_sql: [{ name: c, url: "sqlite:./toolcrib.db", tables: [t] }]
`),
  ).toEqual([
    expect.stringMatching(/^3:64: tools\.ready\.file_operations\[1\]\.root would let callers reach/),
    expect.stringMatching(/^4:33: tools\.ready\.query_sql\[0\]\.url names a file that is needed/),
  ]);
});
