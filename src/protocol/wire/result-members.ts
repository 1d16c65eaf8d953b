import type { RelayedJson } from '../../core/result.ts';
import { bytesAsBuffer } from './key-memory.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;

/** A member of a result, and where it is in the message. */
export interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** The members of a result; `undefined` if the name of one has an escape, which only the parser reads. */
export function readMembers({ message, members, end }: RelayedJson): readonly Member[] | undefined {
  const bytes = bytesAsBuffer(message);
  const read: Member[] = [];
  for (let index = 0; index < members.length; index++) {
    const start = members[index]!;
    const name = bytes.toString('latin1', start + 1, bytes.indexOf(QUOTE, start + 1));
    if (name.includes('\\')) return undefined;
    const next = members[index + 1] ?? end - 1;
    read.push({ name, start, end: endOfMember(bytes, next) });
  }
  return read;
}

/** Where the value of a member begins. */
export function valueStart(bytes: Uint8Array, { name, start }: Member): number {
  let at = start + name.length + 2;
  while (at < bytes.length && (bytes[at]! <= 0x20 || bytes[at] === COLON)) at++;
  return at;
}

// Before the next member there are a comma and spaces.
function endOfMember(bytes: Buffer, next: number): number {
  let end = next;
  while (bytes[end - 1]! <= 0x20) end--;
  if (bytes[end - 1] !== COMMA) return end;
  end--;
  while (bytes[end - 1]! <= 0x20) end--;
  return end;
}
