import { expect, test } from 'vitest';
import { createFakeClock } from '../../testing.ts';
import { RefusalCounts } from './refusal-counts.ts';

test('equal refusals within a second are one row, and the next second begins a new one', () => {
  const { counts, clock, written } = setUp();
  for (let n = 0; n < 3; n++) counts.count('kind', 'acme', () => `{"n":${n}}`);
  counts.count('other', 'acme', () => '{"other":true}');
  clock.advance(999);
  expect(written).toEqual([]);
  clock.advance(1);
  expect(written).toEqual(['acme {"n":0,"count":3}', 'acme {"other":true,"count":1}']);
  counts.count('kind', 'acme', () => '{"n":9}');
  clock.advance(1_000);
  expect(written.at(-1)).toBe('acme {"n":9,"count":1}');
});

test('the text of a row is made only for the first refusal of its kind', () => {
  const { counts } = setUp();
  let made = 0;
  for (let n = 0; n < 100; n++) counts.count('kind', 'acme', () => `{"made":${++made}}`);
  expect(made).toBe(1);
});

test('E3 beyond a limit of kinds, refusals are counted by chain, so that memory and rows are limited', () => {
  const { counts, clock, written } = setUp();
  for (let n = 0; n < 50_000; n++) counts.count(`kind ${n}`, 'acme', () => `{"n":${n}}`);
  clock.advance(1_000);
  expect(written).toHaveLength(10_001);
  expect(written.at(-1)).toBe('acme {"n":10000,"count":40000}');
}, 60_000);

test('a flush writes the open counts once', () => {
  const { counts, clock, written } = setUp();
  counts.count('kind', 'acme', () => '{"n":1}');
  counts.flush();
  clock.advance(1_000);
  expect(written).toEqual(['acme {"n":1,"count":1}']);
});

test('refusals after a flush have a row and a second of their own', () => {
  const { counts, clock, written } = setUp();
  counts.count('kind', 'acme', () => '{"n":1}');
  clock.advance(500);
  counts.flush();
  for (const n of [2, 3]) counts.count('kind', 'acme', () => `{"n":${n}}`);
  clock.advance(500);
  expect(written).toEqual(['acme {"n":1,"count":1}']);
  clock.advance(500);
  expect(written).toEqual(['acme {"n":1,"count":1}', 'acme {"n":2,"count":2}']);
});

function setUp() {
  const clock = createFakeClock();
  const written: string[] = [];
  return {
    clock,
    written,
    counts: new RefusalCounts(clock, (chain, body) => written.push(`${chain} ${body}`)),
  };
}
