import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { lookFor, renderMarkdown } from './render-markdown.ts';

const plain = (text: string): string => stripVTControlCharacters(renderMarkdown(text));

test('headings, emphasis and code are shown without their marks', () => {
  expect(plain('# Title\nSome **bold** and `code`\n```js\nlet **x**;\n```')).toBe(
    'Title\nSome bold and code\n  let **x**;',
  );
  expect(renderMarkdown('## Title')).toBe('\u001B[1mTitle\u001B[0m');
});

test('tables are aligned', () => {
  expect(plain('| a | long |\n| --- | :-: |\n| **one** | x \\| y |\n| 2 |')).toBe('a    long\none  x | y\n2');
});

test('without colours only tables are laid out, and every mark stays', () => {
  const text = '# Title\nSome **bold** and `code`\n> quoted\n```js\nlet x;\n```';
  expect(renderMarkdown(text, 'plain')).toBe(text);
  expect(renderMarkdown('| a | long |\n|-|-|\n| one | x |', 'plain')).toBe('a    long\none  x');
});

test('colours are shown only at a terminal whose user wants them', () => {
  const screen = { isTTY: true, write: () => true };
  expect(lookFor(screen, { TERM: 'xterm' })).toBe('coloured');
  expect(lookFor(screen, { TERM: 'xterm', NO_COLOR: '' })).toBe('coloured');
  expect(lookFor(screen, { TERM: 'xterm', NO_COLOR: '1' })).toBe('plain');
  expect(lookFor(screen, { TERM: 'dumb' })).toBe('plain');
  expect(lookFor({ ...screen, isTTY: false }, { TERM: 'xterm' })).toBe('raw');
});

test.each([
  ['a long cell', `|${'x'.repeat(20_000)}|y|\n|-|-|\n${'|a|b|\n'.repeat(2_000)}`],
  ['many rows', `|a|b|\n|-|-|\n${'|a|b|\n'.repeat(150_000)}`],
])('a table with %s does not become too wide', (_, text) => {
  expect(plain(text).length).toBeLessThan(text.length * 20);
});

test('a table with very many columns is shown as text', () => {
  const text = `${'|x'.repeat(51)}|\n|-|\n|a|`;
  expect(renderMarkdown(text)).toBe(text);
});

test('other text is not changed', () => {
  const text = 'a | b\n* item\n  indented 2 * 3 ** 4\n|not a table|\n';
  expect(renderMarkdown(text)).toBe(text);
});
