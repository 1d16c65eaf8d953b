import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { withoutComments } from './json-with-comments.ts';

test.each([
  ['{"a": 1, // one\n"b": 2}', { a: 1, b: 2 }],
  ['{"a": /* "b": 2, */ 1}', { a: 1 }],
  ['{"a": [1, 2, /* last */ ], // end\n}', { a: [1, 2] }],
  [
    '{"url": "https://a.example/*x*/", "b": "\\"// no comment"}',
    { url: 'https://a.example/*x*/', b: '"// no comment' },
  ],
  ['// a file\r\n{"a": ",}"}\n/* that stops here', { a: ',}' }],
])('the text %j is read without its comments', (text, value) => {
  expect(JSON.parse(withoutComments(text))).toEqual(value);
});

test.each(['{"a": 1,, }', '{"a" / 1}', '{"a": "1, // }'])('the text %j is still no JSON', (text) => {
  expect(() => void JSON.parse(withoutComments(text))).toThrow(SyntaxError);
});

test('JSON stays as it is, whatever its texts look like', () => {
  const text = fc
    .array(fc.constantFrom('"', '\\', '//', '/*', '*/', ',', '}', ']', '\n', 'a'))
    .map((all) => all.join(''));
  const value = fc.oneof(text, fc.dictionary(text, fc.oneof(text, fc.array(text))));
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2), (made, indent) => {
      const json = JSON.stringify(made, undefined, indent);
      expect(withoutComments(json)).toBe(json);
    }),
    { numRuns: propertyRuns(2_000) },
  );
});

test('everything else stays on its line and in its column, so that complaints name the right place', () => {
  const piece = fc.constantFrom('"a"', '"', '//', '/*', '*/', ',', '}', ']', '\r\n', '\n', ' ', 'ä', '😀');
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = pieces.join('');
      const left = withoutComments(text);
      expect(left).toHaveLength(text.length);
      expect(left.split(/\r?\n/).length).toBe(text.split(/\r?\n/).length);
      const moved = left.split('').filter((sign, at) => sign !== ' ' && sign !== text[at]);
      expect(moved).toEqual([]);
    }),
    { numRuns: propertyRuns(1_000) },
  );
});
