import { expect, test } from 'vitest';
import { MergedLists } from './merged-lists.ts';

const put = (lists: readonly (readonly string[])[]): readonly string[] => lists.flat().toSorted();

test('lists are put together once for all callers who get the same ones, and anew where one is another', () => {
  const lists = new MergedLists<string>();
  const [own, theirs] = [['b'], ['a', 'c']];
  const merged = lists.of([own, theirs], put);
  expect(merged).toEqual(['a', 'b', 'c']);
  expect(lists.of([own, theirs], put)).toBe(merged);
  expect(lists.of([own, ['a', 'c']], put)).not.toBe(merged);
  expect(lists.of([own, ['z']], put)).toEqual(['b', 'z']);
  expect(lists.of([own, theirs], put)).toBe(merged);
});

test('which list is whose counts, not only which lists there are', () => {
  const lists = new MergedLists<string>();
  const [one, other] = [['a'], ['b']];
  const inOrder = (both: readonly (readonly string[])[]): readonly string[] => both.flat();
  expect(lists.of([one, other], inOrder)).toEqual(['a', 'b']);
  expect(lists.of([other, one], inOrder)).toEqual(['b', 'a']);
});

test('nobody can change a list that others get, too', () => {
  expect(Object.isFrozen(new MergedLists<string>().of([['a']], put))).toBe(true);
});
