import { expect, onTestFinished, test } from 'vitest';
import { forgetEra, knownEra, noteEra } from './eras.ts';

const HOUR = 3_600_000;

// What is remembered is shared by all clients of this process.
function addressOf(name: string): string {
  const address = `http://${name}.example/mcp`;
  onTestFinished(() => forgetEra(address));
  return address;
}

test('what a server speaks is good for an hour from when it was found out, and not renewed by being used', () => {
  const address = addressOf('kept');
  expect(knownEra(address, 0)).toBeUndefined();
  noteEra(address, 'legacy', 1_000);
  expect(knownEra(address, 1_000)).toBe('legacy');
  expect(knownEra(address, 1_000 + HOUR - 1)).toBe('legacy');
  expect(knownEra(address, 1_000 + HOUR)).toBeUndefined();
});

test('what was found out last counts, and what turned out to be wrong is forgotten for that address alone', () => {
  const [one, other] = [addressOf('one'), addressOf('other')];
  for (const address of [one, other]) noteEra(address, 'legacy', 0);
  noteEra(one, 'modern', 1);
  expect(knownEra(one, 2)).toBe('modern');
  forgetEra(one);
  expect([knownEra(one, 2), knownEra(other, 2)]).toEqual([undefined, 'legacy']);
});

test('of more servers than are remembered, those found out last are', () => {
  const addresses = Array.from({ length: 1_001 }, (_, at) => addressOf(`server-${at}`));
  // Nothing is left of other tests.
  for (const address of addresses) noteEra(address, 'modern', 0);
  for (const address of addresses) forgetEra(address);
  for (const address of addresses.slice(0, 999)) noteEra(address, 'legacy', 0);
  noteEra(addresses[0]!, 'modern', 0);
  for (const address of addresses.slice(999)) noteEra(address, 'legacy', 0);
  expect(addresses.filter((address) => knownEra(address, 0) === undefined)).toEqual([addresses[1]]);
});
