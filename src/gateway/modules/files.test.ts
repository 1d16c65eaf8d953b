import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filePattern } from './files.ts';

test.each([
  ['./tools/*.ts', 'tools/a.ts', true],
  ['./tools/*.ts', 'tools/a.js', false],
  ['./tools/*.ts', 'tools/deep/a.ts', false],
  ['tools/**/*.ts', 'tools/a.ts', true],
  ['tools/**/*.ts', 'tools/deep/down/a.ts', true],
  ['tools/more/**/*.ts', 'tools/lib/a.ts', false],
  ['tools/**', 'tools/deep/a.mjs', true],
  ['tools/{a,b}.{ts,js}', 'tools/b.js', true],
  ['tools/{a,b}.{ts,js}', 'tools/c.js', false],
  ['tools/a.b.ts', 'tools/axb.ts', false],
  ['one.ts', 'one.ts', true],
  ['*.ts', 'one.ts', true],
  ['*.ts', 'one.test.ts', false],
  ['*.ts', 'one.d.ts', false],
  ['../*.ts', '../one.ts', true],
  ['*/tools/*.ts', 'a/tools/one.ts', true],
])('%s matches %s: %s', (pattern, file, expected) => {
  const base = '/srv/app';
  expect(filePattern(pattern, base).matches(join(base, file))).toBe(expected);
});

test.each([
  ['tools/*.ts', [], true],
  ['tools/*.ts', ['deep'], false],
  ['tools/*/*.ts', ['deep'], true],
  ['tools/*/*.ts', ['deep', 'down'], false],
  ['tools/a*/*.ts', ['b'], false],
  ['tools/a*/*.ts', [undefined], true],
  ['tools/**/*.ts', ['deep', undefined, 'down'], true],
  ['tools/**', ['deep'], true],
  ['tools/one.ts', [], true],
  ['tools/one.ts', [undefined], false],
  ['{tools,lib}/*.ts', ['up'], false],
])('the pattern %s reads the folder %j: %s', (pattern, names, expected) => {
  expect(filePattern(pattern, '/srv/app').looksInto(names)).toBe(expected);
});
