import { expect, test } from 'vitest';
import { filterTools } from './filter-tools.ts';

test('name patterns grant exactly the tools they match, and a denial wins (003-30)', () => {
  const tools = ['read', 'read_all', 'write'].map((name) => ({ name }));
  const granted = (allow: string[], deny: string[] = []): string[] =>
    filterTools(tools, { allow, deny }).map(({ name }) => name);
  expect(granted([])).toEqual([]);
  expect(granted(['*'])).toEqual(['read', 'read_all', 'write']);
  expect(granted(['read'])).toEqual(['read']);
  expect(granted(['read*'], ['read_all'])).toEqual(['read']);
  expect(granted(['write'], ['*'])).toEqual([]);
  expect(granted(['READ', 'writ'])).toEqual([]);
});
