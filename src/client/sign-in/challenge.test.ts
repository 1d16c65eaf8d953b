import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { readChallenge } from './challenge.ts';

const nothing = { needsDpop: false, resourceMetadata: undefined, scopes: undefined, error: undefined };

test.each([
  ['Bearer', nothing],
  ['bearer scope="a b"', { ...nothing, scopes: ['a', 'b'] }],
  ['Bearer scope=a', { ...nothing, scopes: ['a'] }],
  ['Bearer scope=""', nothing],
  ['Bearer error="invalid_token" , scope = "a"', { ...nothing, error: 'invalid_token', scopes: ['a'] }],
  [
    'Basic realm="x, Bearer scope=\\"y\\"", Bearer resource_metadata="https://a.example/b?c=d,e"',
    { ...nothing, resourceMetadata: 'https://a.example/b?c=d,e' },
  ],
  ['Negotiate abc==, Bearer error=x', { ...nothing, error: 'x' }],
  ['DPoP algs="ES256", error="use_dpop_nonce"', { ...nothing, needsDpop: true, error: 'use_dpop_nonce' }],
  ['DPoP algs="ES256", Bearer scope="a"', { ...nothing, scopes: ['a'] }],
  ['Basic scope="a"', nothing],
  ['Bearer scope="never closed', nothing],
  ['', nothing],
  [undefined, nothing],
  [`Bearer scope="${'a'.repeat(9_000)}"`, nothing],
])('the challenge %.60s is read correctly', (header, expected) => {
  expect(readChallenge(header)).toEqual(expected);
});

test('any header is parsed without an error, in linear time', () => {
  const piece = fc.constantFrom(
    'Bearer',
    'DPoP',
    ' ',
    ',',
    '=',
    '"',
    '\\',
    'scope',
    'a',
    '\t',
    'é',
    '\u0000',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 400 }), (pieces) => {
      expect(readChallenge(pieces.join(''))).toHaveProperty('needsDpop');
    }),
    { numRuns: propertyRuns() },
  );
});
