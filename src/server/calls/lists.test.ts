import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { revisionOf } from '../../protocol/revisions/revisions.ts';
import { Lists, type ListKind } from './lists.ts';

interface Item {
  readonly name: string;
}

const kind: ListKind<Item> = { member: 'items', keyOf: ({ name }) => name, encode: ({ name }) => ({ name }) };
const modern = revisionOf('2026-07-28')!;
const legacy = revisionOf('2025-11-25')!;
const items = (...names: string[]): readonly Item[] => names.map((name) => ({ name }));
const open = (pageSize: number) => new Lists({ pageSize, info: { name: 'test', version: '1' } });

function read(bytes: Buffer): JsonObject & { items: readonly Item[]; nextCursor?: string } {
  return JSON.parse(bytes.toString()) as JsonObject & { items: readonly Item[]; nextCursor?: string };
}

function namesOf(lists: Lists, list: readonly Item[]): string[] {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = read(lists.page(list, kind, { revision: modern, cursor }));
    names.push(...page.items.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names;
}

test('a list that fits is one page; a longer list has several', () => {
  const list = items('a', 'b', 'c');
  expect(read(open(3).page(list, kind, { revision: legacy, cursor: undefined }))).toEqual({ items: list });
  const lists = open(2);
  const first = read(lists.page(list, kind, { revision: legacy, cursor: undefined }));
  expect(first.items).toEqual(items('a', 'b'));
  const second = read(lists.page(list, kind, { revision: legacy, cursor: first.nextCursor }));
  expect(second).toEqual({ items: items('c') });
});

test('every entry is on exactly one page, for any names and page size', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ unit: 'grapheme' })),
      fc.integer({ min: 1, max: 7 }),
      (names, size) => {
        expect(namesOf(open(size), items(...names))).toEqual(names);
      },
    ),
  );
});

test('pages have the form of their revision', () => {
  const lists = open(10);
  const list = items('a');
  const framed = read(lists.page(list, kind, { revision: modern, cursor: undefined }));
  expect(framed).toMatchObject({ resultType: 'complete', cacheScope: 'private', items: list });
  expect(Object.keys(read(lists.page(list, kind, { revision: legacy, cursor: undefined })))).toEqual([
    'items',
  ]);
});

test('a page is encoded once, as long as the list is the same', () => {
  let encoded = 0;
  const counting: ListKind<Item> = {
    ...kind,
    encode: ({ name }) => {
      encoded++;
      return { name };
    },
  };
  const lists = open(10);
  const list = items('a', 'b');
  const at = { revision: modern, cursor: undefined };
  expect(lists.page(list, counting, at)).toBe(lists.page(list, counting, at));
  expect(encoded).toBe(2);
  lists.page(items('a', 'b'), counting, at);
  expect(encoded).toBe(4);
});

test('a cursor stays valid while other entries change, and is refused once its entry is removed', () => {
  const lists = open(2);
  const { nextCursor } = read(
    lists.page(items('a', 'b', 'c'), kind, { revision: modern, cursor: undefined }),
  );
  const grown = read(lists.page(items('aa', 'b', 'bb', 'c'), kind, { revision: modern, cursor: nextCursor }));
  expect(grown.items).toEqual(items('bb', 'c'));
  expect(() => lists.page(items('a', 'c'), kind, { revision: modern, cursor: nextCursor })).toThrow(
    expect.objectContaining({ code: 'invalid_params' }),
  );
});

test.each(['', 'nonsense', '!!', 'Yg==', 'Yg\n', 'YQ ', 'Y'])('the cursor %j is refused', (cursor) => {
  expect(() => open(1).page(items('a', 'b'), kind, { revision: modern, cursor })).toThrow(
    expect.objectContaining({ code: 'invalid_params' }),
  );
});
