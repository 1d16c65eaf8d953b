import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { escapeUnseen } from './escape-unseen.ts';
import { readJson } from './parse-json.ts';

test('E2 invisible characters become escapes, and read back unchanged', () => {
  const text = 'a\u001b[2J\u009b31m\u202e\u{e0041}\u2028\u00a0\ufeff\ud800z';
  const json = escapeUnseen(JSON.stringify(text));
  expect(json).toBe('"a\\u001b[2J\\u009b31m\\u202e\\udb40\\udc41\\u2028\\u00a0\\ufeff\\ud800z"');
  expect(JSON.parse(json)).toBe(text);
  // JSON alone lets most of it through.
  expect(JSON.stringify(text)).toMatch(/[\u009b\u202e\u{e0041}]/u);
});

test('letters of any script are not escaped', () => {
  const json = JSON.stringify({ text: 'Grüße, 世界 😀' });
  expect(escapeUnseen(json)).toBe(json);
});

test('E2 any value reads back unchanged, and the text has no invisible characters', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), fc.string({ unit: 'binary' }), (value, text) => {
      const whole = [value, text];
      const json = escapeUnseen(JSON.stringify(whole));
      expect(readJson(json)).toEqual(readJson(JSON.stringify(whole)));
      expect(json).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
    }),
    { numRuns: propertyRuns() },
  );
});
