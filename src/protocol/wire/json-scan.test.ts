import * as fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { JsonScanner, jsonLimits } from './json-scan.ts';

const scan = (text: string): string | undefined => new JsonScanner().scan(Buffer.from(text));
const list = (items: number, item = '0'): string => `[${Array(items).fill(item).join(',')}]`;
const object = (keys: number, prefix = 'k'): string =>
  `{${Array.from({ length: keys }, (_, index) => `"${prefix}${index}":0`).join(',')}}`;
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

afterEach(() => {
  vi.restoreAllMocks();
});

describe('limits', () => {
  test.each<[name: string, largest: string, tooLarge: string]>([
    ['nesting', nested(64), nested(65)],
    [
      'nesting of objects',
      '{"a":'.repeat(64) + '0' + '}'.repeat(64),
      '{"a":'.repeat(65) + '0' + '}'.repeat(65),
    ],
    ['keys in an object', object(1_000), object(1_001)],
    ['items in a list', list(10_000), list(10_001)],
    ['bytes in a string', `"${'x'.repeat(1_048_576)}"`, `"${'x'.repeat(1_048_577)}"`],
    ['bytes in a key', `{"${'x'.repeat(1_048_576)}":0}`, `{"${'x'.repeat(1_048_577)}":0}`],
    ['digits in a number', '1'.repeat(300), '1'.repeat(401)],
  ])(
    'A6 a text over the limit for %s is refused, and one within the limit is accepted',
    (_name, largest, tooLarge) => {
      expect(scan(largest)).toBeUndefined();
      expect(scan(tooLarge)).toMatch(/\d/);
    },
  );

  test('A6 exactly fifty thousand values are accepted, and one more is refused', () => {
    // Five lists of 9,998 and the six containers around and within come to 49,996.
    const fiveLists = Array(5).fill(list(9_998)).join(',');
    expect(scan(`[${fiveLists},0,0,0,0]`)).toBeUndefined();
    expect(scan(`[${fiveLists},0,0,0,0,0]`)).toBe('holds over 50000 values');
  });

  test('A6 a long run of opening brackets is refused at the sixty-fifth', () => {
    expect(scan('['.repeat(2_000_000))).toBe('is nested deeper than 64 levels');
  });

  test('A6 control: a scanner with higher limits accepts the same texts', () => {
    const generous = new JsonScanner({
      ...jsonLimits,
      depth: 100,
      keys: 2_000,
      items: 60_000,
      values: 100_000,
    });
    for (const text of [nested(65), object(1_001), list(50_001)])
      expect(generous.scan(Buffer.from(text))).toBeUndefined();
  });

  test('A6 a refused text does not affect the scan of the next one', () => {
    const scanner = new JsonScanner();
    scanner.scan(Buffer.from('{"a":{"b":[{"c":1,"c":2}]}}'));
    scanner.scan(Buffer.from('{"id":7,"a":"é'));
    expect(scanner.scan(Buffer.from('{"a":1,"c":2}'))).toBeUndefined();
    expect([scanner.idStart, scanner.idEnd, scanner.ascii]).toEqual([-1, -1, true]);
  });
});

describe('repeated keys', () => {
  test.each([
    '{"a":1,"a":1}',
    String.raw`{"a":1,"\u0061":2}`,
    String.raw`{"\u0061":1,"a":2}`,
    String.raw`{"\u00e9":1,"é":2}`,
    String.raw`{"\/":1,"/":2}`,
    String.raw`{"\ud83d\ude00":1,"😀":2}`,
    '{"":1,"":2}',
    '[{"b":{"a":1,"c":{"x":1},"a":2}}]',
    '{ "a" : 1 , "b" : {"a":1} , "a" : 2 }',
  ])('A4 %s is refused for a repeated key', (text) => {
    expect(scan(text)).toBe('repeats a key within one object');
  });

  test.each([
    '{"a":1,"A":1}',
    '{"a":{"a":{"a":1}},"b":{"a":1}}',
    '[{"a":1},{"a":1}]',
    '{"a":["a","a",{"a":"a"}],"b":"a"}',
    String.raw`{"é":1,"e\u0301":2}`,
    String.raw`{"\ud800":1,"\ud801":2,"\ufffd":3}`,
    '{"AaAa":1,"BBBB":2,"AaBB":3,"BBAa":4}',
  ])('A4 %s has no repeated key', (text) => {
    expect(scan(text)).toBeUndefined();
  });

  const bit = (index: number, at: number): string => ((index >> at) & 1 ? 'Aa' : 'BB');
  const escaped = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;
  test.each<[kind: string, key: (index: number) => string]>([
    ['made for a fixed hash', (index) => Array.from({ length: 10 }, (_, at) => bit(index, at)).join('')],
    ['that begin with more and more zeros', (index) => '\0'.repeat(index)],
    ['that begin with more and more escaped zeros', (index) => escaped(0).repeat(index)],
    ['that are halves of characters', (index) => escaped(0xd800 + index)],
    ['that differ in their first letters alone', (index) => `${escaped(0x4e00 + index)}${'a'.repeat(100)}`],
  ])('A15 a thousand keys %s are compared without decoding them one by one', (_kind, key) => {
    const keys = Array.from({ length: 1_000 }, (__, index) => `"${key(index)}":0`);
    const text = Buffer.from(`{${keys.join(',')}}`);
    const read = vi.spyOn(Buffer.prototype, 'toString');
    expect(new JsonScanner().scan(text)).toBeUndefined();
    expect(read.mock.calls.length).toBeLessThan(10);
  });

  test('A4 a repeated key is found among a thousand, in any spelling', () => {
    const keys = Array.from({ length: 999 }, (_, index) => `"k${index}":0`);
    const repeated = ['k0', 'k998', '\\u006b500', 'k\\u00311', 'k\\u003117'];
    expect(repeated.filter((key) => scan(`{${keys.join(',')},"${key}":0}`) === undefined)).toEqual([]);
    expect(scan(`{${keys.join(',')},"k":{${keys.join(',')}}}`)).toBeUndefined();
  });

  test('A4 a repeated key is reported exactly when a model of the text has one', () => {
    fc.assert(
      fc.property(treeWithRepeats, (tree) => {
        expect(scan(write(tree)) === 'repeats a key within one object').toBe(repeats(tree));
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });
});

describe('forbidden keys', () => {
  test.each([
    '{"__proto__":1}',
    String.raw`{"\u005f_proto__":1}`,
    String.raw`{"__proto_\u005F":1}`,
    '{"params":{"arguments":{"deep":[{"__proto__":{}}]}}}',
    '{"constructor":1}',
    '{"params":{"prototype":1}}',
    String.raw`{"params":{"\u0063onstructor":1}}`,
  ])('A14 %s is refused for a forbidden key', (text) => {
    expect(scan(text)).toBe('uses a forbidden key (__proto__ or similar)');
  });

  test.each([
    '{"params":{"arguments":{"constructor":"Acme","prototype":1}}}',
    '{"params":{"name":"__proto__","arguments":{"a":"constructor"}}}',
    '{"__proto":1,"proto__":2,"__PROTO__":3,"toString":4,"hasOwnProperty":5}',
  ])('A14 %s is accepted, with no forbidden key', (text) => {
    expect(scan(text)).toBeUndefined();
  });
});

describe('the place of the id', () => {
  test.each<[text: string, id: string | undefined]>([
    ['{"id":1}', '1'],
    ['{ "id" : "a\\"b" , "x":1}', '"a\\"b"'],
    ['{"params":{"id":9},"id":10}', '10'],
    ['{"id":11,"params":{"id":9}}', '11'],
    ['{"x":"id","y":1}', undefined],
    ['[{"id":1}]', undefined],
    ['{"ID":1}', undefined],
    ['{"id":{"id":1}}', undefined],
    ['"id"', undefined],
  ])('the id in %s is read as %s', (text, id) => {
    const scanner = new JsonScanner();
    scanner.scan(Buffer.from(text));
    expect(scanner.idStart < 0 ? undefined : text.slice(scanner.idStart, scanner.idEnd)).toBe(id);
  });
});

test('the scan reports an escape in a key, and none for an escape in a value', () => {
  const scanner = new JsonScanner();
  const seen = (text: string): boolean =>
    scanner.scan(Buffer.from(text)) === undefined && scanner.escapedKeys;
  expect(['{"\\u0041":1}', '[{"a":[{"b\\n":1}]}]'].map(seen)).toEqual([true, true]);
  expect(['{"a":"\\n"}', '["\\n"]', '"\\n"', '{"a":["\\\\"]}'].map(seen)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test('A4 no bytes make the scanner throw or stop early', () => {
  const scanner = new JsonScanner();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(typeof scanner.scan(bytes)).toMatch(/^(undefined|string)$/);
      if (scanner.ascii && scanner.scan(bytes) === undefined)
        expect(bytes.every((byte, index) => byte < 0x80 || bytes[index - 1] === 0x5c)).toBe(true);
    }),
    { numRuns: propertyRuns(5_000) },
  );
});

test('A4 no combination of JSON tokens makes the scanner throw', () => {
  const scanner = new JsonScanner();
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '"id"',
    '1',
    'true',
    ' ',
    'é',
    '"__proto__"',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
      expect(typeof scanner.scan(Buffer.from(parts.join('')))).toMatch(/^(undefined|string)$/);
    }),
    { numRuns: propertyRuns(5_000) },
  );
});

type Tree =
  | { readonly leaf: string }
  | { readonly items: readonly Tree[] }
  | { readonly pairs: readonly Pair[] };
interface Pair {
  readonly key: string;
  readonly isEscaped: boolean;
  readonly value: Tree;
}

const treeWithRepeats: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ leaf: fc.constantFrom('0', '"a"', 'null', '"{\\"a\\":1,"', '[]', '{}') }),
    fc.record({ items: fc.array(tie('tree'), { maxLength: 4 }) }),
    fc.record({
      pairs: fc.array(
        fc.record({
          key: fc.constantFrom('a', 'b', 'c', 'é', '😀', '\u{ffff}', '\n\\/"', 'AaAa', 'BBBB', 'id', ''),
          isEscaped: fc.boolean(),
          value: tie('tree'),
        }),
        { maxLength: 5 },
      ),
    }),
  ),
})).tree;

function write(tree: Tree): string {
  if ('leaf' in tree) return tree.leaf;
  if ('items' in tree) return `[${tree.items.map(write).join(',')}]`;
  return `{${tree.pairs.map(({ key, isEscaped, value }) => `${isEscaped ? `"${escape(key)}"` : JSON.stringify(key)}:${write(value)}`).join(' , ')}}`;
}

function escape(key: string): string {
  return Array.from(
    { length: key.length },
    (_, at) => `\\u${key.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}

function repeats(tree: Tree): boolean {
  if ('leaf' in tree) return false;
  if ('items' in tree) return tree.items.some(repeats);
  const keys = tree.pairs.map(({ key }) => key);
  return new Set(keys).size < keys.length || tree.pairs.some(({ value }) => repeats(value));
}
