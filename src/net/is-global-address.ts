import { isIP } from 'node:net';

/** Whether an address is on the public internet; `false` for any text that is no address. */
export function isGlobalAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !isWithin(fromIpv4(address), notGlobal4);
    case 6:
      // A zone names a network interface of this machine.
      if (address.includes('%')) return false;
      return isWithin(fromIpv6(address), unicast6) && !isWithin(fromIpv6(address), notGlobal6);
    default:
      return false;
  }
}

interface Range {
  readonly first: bigint;
  readonly last: bigint;
}

const notGlobal4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // A metadata service inside one cloud that returns the machine's secrets.
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map((range) => readRange(range, { width: 32, read: fromIpv4 }));

// Everything else is local, mapped to IPv4, multicast or unassigned.
const unicast6 = ['2000::/3'].map((range) => readRange(range, { width: 128, read: fromIpv6 }));

// Teredo and other protocol assignments, documentation, 6to4.
const notGlobal6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) =>
  readRange(range, { width: 128, read: fromIpv6 }),
);

function readRange(range: string, { width, read }: { width: number; read: (text: string) => bigint }): Range {
  const [start = '', length = ''] = range.split('/');
  const first = read(start);
  return { first, last: first + (1n << BigInt(width - Number(length))) - 1n };
}

function isWithin(value: bigint, ranges: readonly Range[]): boolean {
  return ranges.some(({ first, last }) => value >= first && value <= last);
}

function fromIpv4(address: string): bigint {
  return address.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function fromIpv6(address: string): bigint {
  const [head = '', tail] = toHex(address).split('::');
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':');
}

// The last two groups may be written as an IPv4 address.
function toHex(address: string): string {
  const start = address.lastIndexOf(':') + 1;
  const end = address.slice(start);
  if (!end.includes('.')) return address;
  const value = fromIpv4(end);
  return `${address.slice(0, start)}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
}

/** Whether a parsed URL's host is an address rather than a name. */
export function isIpHost(hostname: string): boolean {
  return hostname.startsWith('[') || isIP(hostname) !== 0;
}
