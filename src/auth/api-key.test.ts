import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { createApiKey, hashKey, isWellFormedKey } from './api-key.ts';

test('a key consists of a prefix, thirty random characters and a checksum', () => {
  expect(createApiKey()).toMatch(/^tck_[0-9A-Za-z]{36}$/);
});

test('a thousand keys are all different and well formed', () => {
  const keys = Array.from({ length: 1_000 }, createApiKey);
  expect(new Set(keys).size).toBe(1_000);
  expect(keys.filter((key) => !isWellFormedKey(key))).toEqual([]);
});

test('a key that was made by another program has the same checksum here', () => {
  // CRC-32 of the first 34 characters, in base 62.
  expect(isWellFormedKey(`tck_${'0'.repeat(30)}${base62(crcOf(`tck_${'0'.repeat(30)}`))}`)).toBe(true);
});

test('B8 a key with one character changed is not well formed', () => {
  fc.assert(
    fc.property(fc.nat(39), fc.constantFrom('0', 'a', 'Z', '_'), (index, character) => {
      const key = createApiKey();
      const changed = key.slice(0, index) + character + key.slice(index + 1);
      return changed === key || !isWellFormedKey(changed);
    }),
    { numRuns: propertyRuns() },
  );
});

test('B8 text of any other form is not well formed', () => {
  fc.assert(
    fc.property(fc.string(), (text) => !isWellFormedKey(text) && !isWellFormedKey(`tck_${text}`)),
    { numRuns: propertyRuns() },
  );
});

test('a key has a different hash with a different pepper', () => {
  const key = createApiKey();
  expect(hashKey(key, 'one')).toBe(hashKey(key, 'one'));
  expect(hashKey(key, 'one')).not.toBe(hashKey(key, 'two'));
  expect(hashKey(key, 'one')).not.toContain(key.slice(4));
});

// Bit by bit, so that it shares nothing with the table it checks.
function crcOf(text: string): number {
  let crc = 0xff_ff_ff_ff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xed_b8_83_20 : 0);
  }
  return ~crc >>> 0;
}

function base62(value: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  return Array.from({ length: 6 }, (_, index) => digits[Math.floor(value / 62 ** (5 - index)) % 62]).join('');
}
