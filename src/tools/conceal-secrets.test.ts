import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { concealSecrets } from './conceal-secrets.ts';

const secret = 'tok/ "é" +1234567890';
const bytes = Buffer.from(secret);

test.each<[spelling: string, text: string]>([
  ['as it is', secret],
  ['JSON', JSON.stringify({ a: secret })],
  ['JSON with careful slashes', JSON.stringify(secret).replaceAll('/', '\\/')],
  ['an address', encodeURIComponent(secret)],
  ['an address in small letters', encodeURIComponent(secret).toLowerCase()],
  ['a form', encodeURIComponent(secret).replaceAll('%20', '+')],
  ['hexadecimal digits', bytes.toString('hex')],
  ['hexadecimal digits in capitals', bytes.toString('hex').toUpperCase()],
  ['base64', bytes.toString('base64')],
  ['base64 after one letter', Buffer.from(`a${secret}b`).toString('base64')],
  ['base64 after two letters', Buffer.from(`ab${secret}c`).toString('base64')],
  ['base64 for addresses', Buffer.from(`ab${secret}c`).toString('base64url')],
])('D4 a secret is removed from a text that writes it as %s', (_spelling, text) => {
  const shown = concealSecrets([secret])(`before ${text} after`);
  expect(shown).toContain('[hidden]');
  // What is left of base64 is the few bits it shares with its neighbours.
  expect(shown.length).toBeLessThan('before [hidden] after'.length + 12);
  // Control: all of it is there when something else is secret.
  expect(concealSecrets(['another one'])(text)).toBe(text);
});

test.each([
  ['12345678901', 12_345_678_901],
  ['000012345678', 12_345_678],
  ['12345678901234567890', Number('12345678901234567890')],
])('D4 the secret %s is removed when it comes as a number', (digits, number) => {
  expect(concealSecrets([digits])(JSON.stringify({ n: number }))).toBe('{"n":[hidden]}');
});

test('D4 a text that was cut inside a secret keeps nothing of the secret', () => {
  const letters = fc.constantFrom('a', 'b', 'B', '1', '/', '"', 'é', '-', '_', '+');
  const someSecret = fc.string({ unit: letters, minLength: 4, maxLength: 24 });
  fc.assert(
    fc.property(someSecret, fc.nat(), fc.nat(), (one, place, way) => {
      const spellings = [
        one,
        JSON.stringify(one).slice(1, -1),
        encodeURIComponent(one),
        Buffer.from(one).toString('hex'),
      ];
      const spelling = spellings[way % spellings.length]!;
      const cut = `xxxx ${spelling.slice(0, 1 + (place % (spelling.length - 1)))}`;
      expect(concealSecrets([one])(cut, { isCut: true })).toBe('xxxx ');
    }),
    { numRuns: propertyRuns() },
  );
});

test('a text that was not cut keeps its end, and short secrets are not removed', () => {
  const conceal = concealSecrets(['tok-1234', 'abc']);
  expect(conceal('ends with tok')).toBe('ends with tok');
  expect(conceal('ends with tok', { isCut: true })).toBe('ends with ');
  expect(conceal('abc abc', { isCut: true })).toBe('abc abc');
  expect(concealSecrets([])('as it is', { isCut: true })).toBe('as it is');
});
