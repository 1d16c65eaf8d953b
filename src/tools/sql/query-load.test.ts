import { expect, test } from 'vitest';
import { postgresFunctions } from './query-functions.ts';
import type { SqlRules } from './query-rules.ts';
import { checkSelect } from './check-select.ts';

const rules: SqlRules = { tables: [{ schema: 'public', table: 'orders' }], functions: postgresFunctions };

const called = 'Function not allowed';
const operator = 'Operator not allowed';
const query = 'Query not allowed';
const complex = 'Query too complex';

test.each([
  ["select translate(note, 'a', 'b') from orders", called],
  ["select string_to_array(note, ',') from orders", called],
  ["select jsonb_path_exists(data, '$.a[*] == $.b[*]') from orders", called],
  ['select btrim(note, note) from orders', query],
  ['select trim(note from note) from orders', query],
  ["select ltrim(note, 'abcdefghijk') from orders", query],
  ['select rtrim(note, $1) from orders', query],
  ['select strpos(note, note) from orders', query],
  ['select position(note in note) from orders', query],
  ["select replace(note, 'a' || note, '') from orders", query],
  ['select split_part(note, lower(note), 1) from orders', query],
  [`select strpos(note, '${'a'.repeat(201)}') from orders`, query],
  ['select position(x in note::varbit) from (select $1::varbit x) q, orders', query],
  [`select position(b'${'1'.repeat(300)}' in note::varbit) from orders`, query],
  ['select note like note from orders', query],
  ["select note ilike '%' || note from orders", query],
  ["select note not like concat('%', note) from orders", query],
  ["select note like note escape '!' from orders", query],
  ['select note ~~ note from orders', query],
  ['select note like any (array[note]) from orders', query],
  ["select note like '%' || 1e131071 from orders", query],
  ["select note like '%' || '1e131071'::numeric from orders", query],
  ["select note like '%' || '1e131071'::jsonb from orders", query],
  ["select note like '%' || '1e131071'::numeric::text from orders", query],
  [`select note like ${Array.from({ length: 3 }, () => '$1').join(' || ')} from orders`, query],
  ['select note like any (select note from orders) from orders', operator],
  ['select tags && tags from orders', operator],
  ['select data @> data from orders', operator],
  ['select tags <@ array_agg(note) from orders group by tags', operator],
  ['select data ?| tags from orders', operator],
  ['select data ?& array(select note from orders) from orders', operator],
  ["select data @@ '$.a[*] == $.b[*]' from orders", operator],
  ["select data @? '$.a' from orders", operator],
  ['select data #- tags from orders', operator],
  ['select jsonb_agg(note) - array_agg(note) from orders', operator],
  ['select a - b from (select jsonb_agg(note) a, array(select note from orders) b from orders) q', operator],
  ["select a - b from (select note::jsonb a, ('{' || note || '}')::text[] b from orders) q", operator],
  ['select jsonb_agg(note) - coalesce(array_agg(note), tags) from orders', operator],
  ['select max(data) - max(tags), jsonb_agg(note), array_agg(note) from orders', operator],
  ['select to_tsvector($1, note) from orders', called],
  ["select to_tsvector('public.mine', note) from orders", called],
  ['select to_tsquery(note, $1) from orders', called],
  ["select plainto_tsquery('simple', note) from orders", query],
  ['select websearch_to_tsquery(note) from orders', query],
  ['select note::tsvector from orders', 'Type not allowed'],
  ['select note::tsquery from orders', 'Type not allowed'],
  [`select ${Array.from({ length: 61 }, () => 'mod(a, b)').join(' + ')} from orders`, complex],
])('D5 a query is refused because PostgreSQL could not interrupt it: %s', async (sql, error) => {
  await expect(checkSelect(sql, rules)).rejects.toMatchObject({ error });
});

test.each([
  "select trim(note), trim(both from note), trim(' .' from note), rtrim(note, ';') from orders",
  "select strpos(note, $1), position('a' in note), replace(note, $2, other), split_part(note, ',', 2) from orders",
  "select 1 from orders where note like '%' || $1 || '%' or note ilike lower($2) or note like any (array['a%', $3])",
  "select 1 from orders where note not like 'a!%' escape '!' or note similar to other or note ~ other",
  "select 1 from orders where tags && array['a', $1] and tags @> '{a,b}' and '{a}'::text[] <@ tags and data @> '{\"a\":1.5}'::jsonb",
  "select 1 from orders where data @> jsonb_build_object('a', $1) and period @> now() and data ?| array['a'] and data ? other",
  "select data -> 'a' ->> 'b', data #> '{a}', data #>> '{b}', a + b - c * d / e % f ^ 2, -a, @ b, a || b, a & b | c # d << 1 >> 2 from orders",
  'select jsonb_agg(total - 1), array_agg(now() - created), sum(total - (a * b)), sum(a - b::numeric) from orders',
  'select array_agg(note), sum(total - discount) from orders',
  'select jsonb_agg(note), sum(total - discount) from orders',
  "select ts_rank(to_tsvector('english', note), q) from orders, plainto_tsquery('english', $1) q where to_tsvector('english', note) @@ q",
  "select 1 from orders where search @@ websearch_to_tsquery('german', $1) and a = any (select b from orders) and c in (1, 2)",
  'select 1 from orders where a between 1 and 2 and b not between symmetric 1 and 2 and nullif(a, b) is distinct from c',
])('D5 a query is accepted because it is short or can be interrupted: %s', async (sql) => {
  expect(await checkSelect(sql, rules)).toHaveProperty('sql');
});

test('D5 the check names the parameters that must be short', async () => {
  const sql = 'select note = $1, note like $2, strpos(note, $4), tags && $3 from orders';
  expect((await checkSelect(sql, rules)).shortParameters).toEqual(new Set([2, 4, 3]));
});

test('D5 long runs of special characters and many comments are refused before they are scanned', async () => {
  await expect(checkSelect(`select 1 ${'+-'.repeat(4_900)}1`, rules)).rejects.toMatchObject({
    error: complex,
  });
  await expect(checkSelect(`select '${'='.repeat(65)}'`, rules)).rejects.toMatchObject({ error: complex });
  await expect(
    checkSelect(`select ${'/*'.repeat(2_000)}${'*/'.repeat(2_000)}1`, rules),
  ).rejects.toMatchObject({
    error: complex,
  });
  await expect(checkSelect(`select ${'/**/'.repeat(51)}1`, rules)).rejects.toMatchObject({ error: complex });
  expect(
    await checkSelect(`select ${'/* '.repeat(50)}${'*/ '.repeat(50)}'${'='.repeat(64)}'`, rules),
  ).toHaveProperty('sql');
});
