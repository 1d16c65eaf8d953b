import { BlockList, isIPv6 } from 'node:net';
import { assert, bigInt, constantFrom, property, tuple, type Arbitrary } from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { isGlobalAddress } from './is-global-address.ts';

// Written as first and last address, so that the ranges are not read by what is tested.
const nonGlobal4: readonly (readonly [first: bigint, last: bigint])[] = [
  [0x00000000n, 0x00ffffffn],
  [0x0a000000n, 0x0affffffn],
  [0x64400000n, 0x647fffffn],
  [0x7f000000n, 0x7fffffffn],
  [0xa9fe0000n, 0xa9feffffn],
  [0xac100000n, 0xac1fffffn],
  [0xc0000000n, 0xc00000ffn],
  [0xc0000200n, 0xc00002ffn],
  [0xc0586300n, 0xc05863ffn],
  [0xc0a80000n, 0xc0a8ffffn],
  [0xc6120000n, 0xc613ffffn],
  [0xc6336400n, 0xc63364ffn],
  [0xcb007100n, 0xcb0071ffn],
  [0xe0000000n, 0xefffffffn],
  [0xf0000000n, 0xffffffffn],
  [0xa83f8110n, 0xa83f8110n],
];

const nonGlobal6: readonly (readonly [name: string, prefix: bigint, bits: bigint])[] = [
  ['unspecified, loopback and IPv4-compatible', 0n, 96n],
  ['IPv4-mapped', 0xffffn, 96n],
  ['NAT64', 0x0064ff9b0000000000000000n, 96n],
  ['local NAT64', 0x0064ff9b0001n, 48n],
  ['discard only', 0x0100000000000000n, 64n],
  ['Teredo', 0x20010000n, 32n],
  ['benchmark', 0x200100020000n, 48n],
  ['ORCHID', 0x2001001n, 28n],
  ['documentation', 0x20010db8n, 32n],
  ['more documentation', 0x3fff0n, 20n],
  ['6to4', 0x2002n, 16n],
  ['segment routing', 0x5f00n, 16n],
  ['unique local', 0b1111110n, 7n],
  ['link-local', 0b1111111010n, 10n],
  ['site-local', 0b1111111011n, 10n],
  ['multicast', 0xffn, 8n],
];

type Spell = (groups: readonly number[]) => string;

const hex = (groups: readonly number[], width: number): string[] =>
  groups.map((group) => group.toString(16).padStart(width, '0'));
const dotted = ([a = 0, b = 0]: readonly number[]): string => [a >> 8, a & 255, b >> 8, b & 255].join('.');
const squeeze = (text: string): string => new URL(`http://[${text}]/`).hostname.slice(1, -1);

const spellings: readonly Spell[] = [
  (groups) => hex(groups, 1).join(':'),
  (groups) => hex(groups, 4).join(':'),
  (groups) => hex(groups, 4).join(':').toUpperCase(),
  (groups) => squeeze(hex(groups, 1).join(':')),
  (groups) => squeeze(hex(groups, 1).join(':')).toUpperCase(),
  (groups) => `${hex(groups.slice(0, 6), 1).join(':')}:${dotted(groups.slice(6))}`,
];

const groupsOf = (value: bigint): number[] =>
  Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - 16 * index)) & 0xffffn));
const toIpv4 = (value: bigint): string => dotted([Number(value >> 16n), Number(value & 0xffffn)]);
const ipv6 = (value: Arbitrary<bigint>): Arbitrary<string> =>
  tuple(value, constantFrom(...spellings)).map(([number, spell]) => spell(groupsOf(number)));
const within = (prefix: bigint, bits: bigint): Arbitrary<bigint> =>
  bigInt(0n, (1n << (128n - bits)) - 1n).map((rest) => (prefix << (128n - bits)) | rest);

test.each(nonGlobal4)('D3 no IPv4 address from %i to %i is global', (first, last) => {
  for (const edge of [first, last])
    expect([toIpv4(edge), isGlobalAddress(toIpv4(edge))]).toEqual([toIpv4(edge), false]);
  assert(
    property(bigInt(first, last).map(toIpv4), (address) => !isGlobalAddress(address)),
    { numRuns: propertyRuns() },
  );
});

test.each(nonGlobal6)('D3 no %s IPv6 address is global, however it is written', (_name, prefix, bits) => {
  const edges = [prefix << (128n - bits), ((prefix + 1n) << (128n - bits)) - 1n];
  for (const spell of spellings)
    for (const edge of edges) expect(isGlobalAddress(spell(groupsOf(edge)))).toBe(false);
  assert(
    property(ipv6(within(prefix, bits)), (address) => isIPv6(address) && !isGlobalAddress(address)),
    { numRuns: propertyRuns() },
  );
});

test('D3 a private IPv4 address is not global inside any IPv6 address that leads to it', () => {
  const wrappers: readonly ((value: bigint) => bigint)[] = [
    (value) => value,
    (value) => (0xffffn << 32n) | value,
    (value) => (0x0064ff9bn << 96n) | value,
    (value) => (0x2002n << 112n) | (value << 80n),
    (value) => (0x20010000n << 96n) | (value << 64n) | (value ^ 0xffffffffn),
  ];
  const inner = constantFrom(...nonGlobal4).chain(([first, last]) => bigInt(first, last));
  const wrapped = tuple(inner, constantFrom(...wrappers)).map(([value, wrap]) => wrap(value));
  assert(
    property(ipv6(wrapped), (address) => !isGlobalAddress(address)),
    { numRuns: propertyRuns() },
  );
});

test('an IPv4 address outside of these ranges is global', () => {
  const list = new BlockList();
  for (const [first, last] of nonGlobal4) list.addRange(toIpv4(first), toIpv4(last));
  assert(
    property(
      bigInt(0n, 0xffffffffn).map(toIpv4),
      (address) => isGlobalAddress(address) !== list.check(address),
    ),
    { numRuns: propertyRuns() },
  );
});

test.each([
  '1.1.1.1',
  '93.184.216.34',
  '2606:4700:4700::1111',
  '2A00:1450:4001:829::200e',
  '2001:200::1',
  '2400:cb00::9.9.9.9',
])('%s is global', (address) => {
  expect(isGlobalAddress(address)).toBe(true);
});

test.each([
  '',
  ' ',
  '1',
  '0x7f000001',
  '2130706433',
  '127.1',
  '0177.0.0.1',
  '1.1.1.1 ',
  '1.1.1.1/32',
  '[2606:4700::1]',
  '2606:4700::1%eth0',
  '::g',
  'localhost',
  '1.1.1.1:443',
])('%j is not an address, so it is not global', (address) => {
  expect(isGlobalAddress(address)).toBe(false);
});

test('control: the list that comes with Node misses private addresses inside IPv6 ones', () => {
  const list = new BlockList();
  for (const [first, last] of nonGlobal4) list.addRange(toIpv4(first), toIpv4(last));
  const missed = ['::7f00:1', '64:ff9b::7f00:1', '2002:7f00:1::'].filter(
    (address) => !list.check(address, 'ipv6'),
  );
  expect(missed).toEqual(['::7f00:1', '64:ff9b::7f00:1', '2002:7f00:1::']);
  expect(missed.some(isGlobalAddress)).toBe(false);
});
