import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineReader } from './line-reader.ts';

function read(chunks: readonly Buffer[], maxBytes = 100): string[] {
  const seen: string[] = [];
  const reader = new LineReader(
    maxBytes,
    (line) => seen.push(line.toString()),
    () => seen.push('(too long)'),
  );
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return seen;
}

test.each<[string, string[], string[]]>([
  ['one line', ['one\n'], ['one']],
  ['several lines in one chunk', ['one\ntwo\nthree\n'], ['one', 'two', 'three']],
  ['one line in several chunks', ['o', 'n', 'e\n'], ['one']],
  ['a last line without a line feed', ['one\ntwo'], ['one', 'two']],
  ['carriage returns', ['one\r\ntwo\r', '\n'], ['one', 'two']],
  ['blank lines', ['\n\r\n\none\n\n'], ['one']],
  ['nothing', [], []],
])('the reader gives the right lines for %s', (_what, chunks, lines) => {
  expect(read(chunks.map((chunk) => Buffer.from(chunk)))).toEqual(lines);
});

test('lines are the same for any split of the bytes, also within characters (004-06)', () => {
  const line = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 20 })
    .map((text) => text.replaceAll(/[\r\n]/g, '°'));
  const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), cuts, (lines, sizes) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
      const chunks: Buffer[] = [];
      for (let start = 0, turn = 0; start < bytes.length; turn++) {
        const size = sizes[turn % sizes.length]!;
        chunks.push(bytes.subarray(start, start + size));
        start += size;
      }
      expect(read(chunks, 10_000)).toEqual(lines.map((text) => Buffer.from(text).toString()));
    }),
  );
});

test.each<[string, string[]]>([
  ['in one chunk', [`${'x'.repeat(11)}\nnext\n`]],
  ['in many chunks', ['xxxx', 'xxxx', 'xxxx', 'xxxx', 'x\nnext\n']],
  ['and never ends', ['xxxxxxxx', 'xxxxxxxx', 'xxxxxxxx']],
])('a line that is too long %s is reported once and skipped', (_what, chunks) => {
  const lines = read(
    chunks.map((chunk) => Buffer.from(chunk)),
    10,
  );
  expect(lines[0]).toBe('(too long)');
  expect(lines.slice(1)).toEqual(chunks.join('').includes('next') ? ['next'] : []);
});

test('a line of exactly the limit is read', () => {
  expect(read([Buffer.from(`${'x'.repeat(10)}\n`)], 10)).toEqual(['x'.repeat(10)]);
  expect(read([Buffer.from('xxxxx'), Buffer.from('xxxxx\n')], 10)).toEqual(['x'.repeat(10)]);
});
