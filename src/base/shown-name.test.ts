import { expect, test } from 'vitest';
import { shownName } from './shown-name.ts';

test('a long name is cut in messages, and never within a character', () => {
  expect(shownName('add_note')).toBe('add_note');
  expect(shownName('x'.repeat(1_000_000))).toBe(`${'x'.repeat(1_000)}…`);
  expect(shownName(`${'x'.repeat(999)}😀${'x'.repeat(10)}`)).toBe(`${'x'.repeat(999)}…`);
});
