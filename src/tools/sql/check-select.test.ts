import { describe, expect, test } from 'vitest';
import { postgresFunctions } from './query-functions.ts';
import { SqlRefusal, type SqlRules } from './query-rules.ts';
import { checkSelect } from './check-select.ts';

const rules: SqlRules = {
  tables: [
    { schema: 'public', table: 'orders' },
    { schema: 'public', table: 'people', columns: ['id', 'full name'] },
    { schema: 'sales', table: 'items' },
  ],
  functions: new Set([...postgresFunctions, 'public.net_price']),
};

async function refusalOf(sql: string): Promise<string | undefined> {
  try {
    await checkSelect(sql, rules);
    return undefined;
  } catch (error) {
    if (error instanceof SqlRefusal) return error.error;
    throw error;
  }
}

describe('the checked query names every table in full', () => {
  test.each([
    ['select 1', 'select 1'],
    ['select * from orders', 'select * from "public".orders'],
    ['select o.id from Orders as o', 'select o.id from "public".Orders as o'],
    ['select é.a from public.orders é, items', 'select é.a from public.orders é, "sales".items'],
    ['select * from only orders', 'select * from only "public".orders'],
    ['table orders', 'table "public".orders'],
    [
      'select * from people p -- all of it',
      'select * from (SELECT "id", "full name" FROM "public"."people") p -- all of it',
    ],
    [
      'select people.id from public /* x */ . people',
      'select people.id from (SELECT "id", "full name" FROM "public"."people") AS "people"',
    ],
    [
      'with o as (select * from orders) select * from o join orders on true',
      'with o as (select * from "public".orders) select * from o join "public".orders on true',
    ],
    [
      'with orders as (select * from orders) select * from orders',
      'with orders as (select * from "public".orders) select * from orders',
    ],
    ['values (1), (2)', 'values (1), (2)'],
    ['select public.net_price(id) from orders;', 'select public.net_price(id) from "public".orders;'],
  ])('%s', async (sql, written) => {
    expect((await checkSelect(sql, rules)).sql).toBe(written);
  });
});

test('ordinary queries are accepted', async () => {
  for (const sql of [
    `select date_trunc('month', created) as month, count(*) filter (where total > $1), sum(total)::numeric(10,2)
     from orders where status in ('paid', 'sent') and note ilike '%x%' and created >= current_date - interval '30 days'
     group by 1 having count(*) > 2 order by 2 desc nulls last limit 10 offset 5`,
    `select o.*, row_number() over (partition by customer order by created desc rows between 1 preceding and current row) from orders o`,
    `with recursive tree(id, depth) as (select id, 0 from items where parent is null union all
     select i.id, t.depth + 1 from items i join tree t on i.parent = t.id) select * from tree`,
    `select extract(year from created), trim(both from note), substring(note from 1 for 3), position('a' in note), note similar to 'a%',
     created at time zone 'UTC', coalesce(a, b), greatest(a, b), nullif(a, b), case when a then 1 else 2 end, array[1,2], tags[1], row(1, 2) from orders`,
    `select distinct on (customer) * from orders where exists (select 1 from people where people.id = orders.customer) order by customer`,
    `select a, b, grouping(a) from orders group by grouping sets ((a), rollup (b))`,
    `select e.key, e.value from orders, jsonb_each(data) e`,
    `select t.tag, t.n from orders, unnest(tags) with ordinality as t(tag, n)`,
    `select percentile_cont(0.5) within group (order by total) from orders union all select 1 intersect select 2`,
    `select data->>'a', data @> '{"a":1}', (data #>> '{a,b}')::int from orders where (a, b) = any (select a, b from items)`,
  ])
    expect([sql, await refusalOf(sql)]).toEqual([sql, undefined]);
});

const one = 'Only one SELECT is allowed';
const table = 'Table not allowed';
const called = 'Function not allowed';
const query = 'Query not allowed';

test.each([
  ['select 1; drop table orders', one],
  ['select 1; commit; drop table orders', one],
  ['', 'Syntax error'],
  [';', one],
  ['-- nothing', one],
  ['drop table orders', one],
  ['explain analyze select 1', one],
  ['show all', one],
  ['set role postgres', one],
  ['copy orders to program $$id$$', one],
  ['do $$begin end$$', one],
  ['prepare p as select 1', one],
  ['execute p', one],
  ['declare c cursor for select 1', one],
  ['listen x', one],
  ['with x as (insert into orders values (1) returning *) select * from x', query],
  ['with x as (delete from orders returning *) select * from x', query],
  ['with x as (update orders set id = 1 returning *) select * from x', query],
  ['select * into stolen from orders', query],
  ['select * from orders for update', query],
  ['select * from (select * from orders for share) o', query],
  ['select * from orders tablesample system (1)', query],
  ['select * from secret', table],
  ['table secret', table],
  ['select * from "Orders"', table],
  ['select * from public.secret, orders', table],
  ['select * from sales.orders', table],
  ['select * from postgres.public.orders', query],
  ['select * from pg_class', table],
  ['select * from pg_catalog.pg_authid', table],
  ['select * from information_schema.tables', table],
  ['select * from pg_temp.orders', table],
  ['select * from U&"\\0073ecret"', query],
  ['select * from "secret"', table],
  ['select * /* /* nested */ from orders */ from secret', table],
  ['with secret as (select * from secret) select * from secret', table],
  ['with recursive a as (select 1), b as (select * from secret) select * from a', table],
  ['select * from (with secret as (select 1) select 1) a, secret', table],
  ['with b as (select * from secret), secret as (select 1) select * from b', table],
  ['with pg_authid as (select 1) select * from pg_authid', query],
  ["select set_config('app.tenant', 'b', false)", called],
  ["select pg_catalog.set_config('role', 'postgres', false)", called],
  ["select query_to_xml('select * from secret', true, true, '')", called],
  ["select table_to_xml('secret', true, true, '')", called],
  ["select * from ts_stat('select to_tsvector(v) from secret')", called],
  ["select * from dblink('dbname=postgres', 'select 1') as t(a int)", called],
  ["select pg_read_file('/etc/passwd')", called],
  ["select lo_import('/etc/passwd')", called],
  ['select lo_create(0)', called],
  ["select pg_notify('a', 'b')", called],
  ['select pg_advisory_lock(1)', called],
  ['select pg_sleep(60)', called],
  ['select count(*) from generate_series(1, 1e9)', called],
  ["select repeat('x', 1000000000)", called],
  ["select lpad('x', 1000000000)", called],
  ["select nextval('s')", called],
  ["select regclass('secret')", called],
  ['select public.upper(note) from orders', called],
  ['select current_user', called],
  ['select session_user', called],
  ['select user', called],
  ['select current_schema', called],
  ["select 'secret'::regclass", 'Type not allowed'],
  ["select cast('pg_sleep' as regproc)", 'Type not allowed'],
  ["select '{}'::public.people", 'Type not allowed'],
  ['select 1 operator(public.+) 2', query],
  ['select a collate public.x from orders', query],
  ['select * from orders order by id using <', query],
  ["select ('/etc/passwd'::text).pg_read_file", query],
  ['select (orders).* from orders', query],
  ["select f.pg_read_file from unnest(array['/etc/passwd']) f", 'Column not allowed'],
  [
    "select pg_read_file.pg_read_file from unnest(array['/etc/passwd']) as pg_read_file(x)",
    'Column not allowed',
  ],
  ['select unnest.pg_sleep from unnest(array[60.0::float8])', 'Column not allowed'],
  ["select \"coalesce\".pg_read_file from coalesce('/etc/passwd', 'x')", query],
  ['select abs.pg_sleep from rows from (abs(60.0::float8))', 'Column not allowed'],
  [
    "select (select f.pg_read_file from unnest(array['/etc/passwd']) f), (select 1 from unnest(array[1]) f(pg_read_file))",
    'Column not allowed',
  ],
  ['select json_array(1, 2)', query],
  ["select * from json_table('[]', '$' columns (a int))", query],
  ['select xmlelement(name a)', query],
  ['select mod(b => 1, a => 2)', query],
  ['select * from only people', query],
  ['table people', query],
  ['select * from people *', query],
  ['select 1\0; drop table orders', query],
  ["select '\ud800' from secret --'", query],
  ['select frm orders where', 'Syntax error'],
  ["select 'open", 'Syntax error'],
])('refused: %s', async (sql, error) => {
  expect(await refusalOf(sql)).toBe(error);
});

test('a table is found wherever a query can hide it', async () => {
  const places = [
    'select (@)',
    'select 1 + (@)',
    'select array(@)',
    'select array[(@)]',
    'select case when (@) > 1 then (@) else 1 end',
    'select coalesce(null, (@))',
    'select count((@))',
    'select count(*) filter (where (@) > 0) from orders',
    'select array_agg(id order by (@)) from orders',
    'select sum(id) over (partition by (@)) from orders',
    'select sum(id) over (order by id rows (@) preceding) from orders',
    'select sum(id) over w from orders window w as (order by (@))',
    'select percentile_cont(0.5) within group (order by (@)) from orders',
    'select distinct on ((@)) id from orders',
    'select id from orders where id = (@)',
    'select id from orders where id in (@)',
    'select id from orders where (id, id) = (select 1, 2 where exists (@))',
    'select id from orders where id between (@) and 5',
    'select id from orders where not (id is distinct from (@))',
    'select id from orders group by (@), id',
    'select id from orders group by grouping sets (((@), id))',
    'select id from orders group by id having (@) > 1',
    'select id from orders order by (@)',
    'select id from orders limit (@)',
    'select id from orders offset (@)',
    'select * from (@) x',
    'select * from orders, lateral (@) x',
    'select * from orders join orders b on (@) > 0',
    'select * from unnest(array[(@)]) x',
    'values ((@))',
    'select 1 union (@)',
    'with x as (@) select 1',
    'with x as materialized (select (@)) select * from x',
    'select tags[(@)] from orders',
    'select (@)::text',
    'select (@) is null',
    'select row((@))',
    'select greatest((@), 1)',
    'select 1 limit all offset (select (select (@)))',
  ];
  for (const place of places) {
    const at = (name: string): string => place.replaceAll('@', `select count(*) from ${name}`);
    expect([place, await refusalOf(at('orders'))]).toEqual([place, undefined]);
    expect([place, await refusalOf(at('secret'))]).toEqual([place, table]);
  }
});

test('text that the parser could hang on is refused before it is parsed', async () => {
  const deep = [
    `select ${'('.repeat(900)}1${')'.repeat(900)}`,
    `select ${'not '.repeat(2_400)}true`,
    `select ${'1+'.repeat(4_900)}1`,
    `select ${'(select '.repeat(900)}1${')'.repeat(900)}`,
  ];
  for (let round = 0; round < 10; round++)
    for (const sql of deep) expect(await refusalOf(sql)).toBe('Query too complex');
  expect(await refusalOf(`select ${'1+'.repeat(450)}1`)).toBe('Query too complex');
  expect(await refusalOf('select 1')).toBeUndefined();
});

test('an error is reported with its place, and with the allowed names', async () => {
  await expect(checkSelect('select *\nfrm orders', rules)).rejects.toThrow('at character 10, near frm.');
  await expect(checkSelect('select * from orders where id = ?', rules)).rejects.toThrow(
    'Parameters are written $1, $2.',
  );
  await expect(checkSelect('select * from secret', rules)).rejects.toThrow(
    '"secret" is not among the tables that can be read: orders, people (id, full name), sales.items.',
  );
});
