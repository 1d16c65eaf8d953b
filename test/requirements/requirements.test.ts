import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { requirementsPage } from './page.ts';

const { text, problems } = requirementsPage();

test('every requirement has a test or is marked as open, and every id in a title is a requirement', () => {
  expect(problems).toEqual([]);
});

test('docs/requirements.md is up to date; if it is not, run: npm run requirements', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/requirements.md'), 'utf8');
  expect(page === text).toBe(true);
});
