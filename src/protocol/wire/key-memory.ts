import { hashStart, mixHash } from '../../base/seeded-hash.ts';

/** Stores the keys of all open objects while a JSON text is scanned; a key is equal however it is escaped. */
export class KeyMemory {
  #bytes: Uint8Array = new Uint8Array();
  #depth = 0;
  #top = 0;
  // Per open object: the index of its first key, and a hash table if it has many.
  readonly #bases: number[] = [0];
  readonly #tables: (Map<number, number> | undefined)[] = [undefined];
  // Per key of an open object: its hash, and the position of its text.
  readonly #hashes: number[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** Starts a new text. */
  begin(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#depth = 0;
    this.#top = 0;
  }

  /** Opens an object. */
  open(): void {
    this.#bases[++this.#depth] = this.#top;
    this.#tables[this.#depth] = undefined;
  }

  /** Closes the innermost object. */
  close(): void {
    this.#top = this.#bases[this.#depth]!;
    this.#tables[this.#depth--] = undefined;
  }

  /** Adds a key with its hash to the innermost object; `false` if it is there already. */
  add(hash: number, start: number, end: number): boolean {
    const at = this.#top;
    this.#hashes[at] = hash;
    this.#starts[at] = start;
    this.#ends[at] = end;
    const base = this.#bases[this.#depth]!;
    if (at - base >= MANY) {
      if (!this.#addToTable(at)) return false;
    } else {
      for (let index = base; index < at; index++)
        if (this.#hashes[index] === hash && this.#isSame(index, at)) return false;
    }
    this.#top = at + 1;
    return true;
  }

  #addToTable(at: number): boolean {
    let table = this.#tables[this.#depth];
    if (!table) {
      table = this.#tables[this.#depth] = new Map();
      for (let index = this.#bases[this.#depth]!; index < at; index++) this.#enter(table, index);
    }
    return this.#enter(table, at);
  }

  // Keys with the same hash are stored next to each other.
  #enter(table: Map<number, number>, at: number): boolean {
    let place = this.#hashes[at]!;
    for (let known = table.get(place); known !== undefined; known = table.get(++place))
      if (this.#isSame(known, at)) return false;
    table.set(place, at);
    return true;
  }

  #isSame(one: number, other: number): boolean {
    return (
      keyText(this.#bytes, this.#starts[one]!, this.#ends[one]!) ===
      keyText(this.#bytes, this.#starts[other]!, this.#ends[other]!)
    );
  }
}

/**
 * The hash of the key between two quotes, equal however it is escaped; collisions cannot be predicted from
 * outside.
 */
export function hashOfMemberName(bytes: Uint8Array, start: number, end: number): number {
  let hash = hashStart;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === BACKSLASH) return hashEscaped(bytes, start, end);
    hash = mixHash(hash, byte);
  }
  return hash;
}

/** The key between two quotes, unescaped. */
export function keyText(bytes: Uint8Array, start: number, end: number): string {
  const text = bytesAsBuffer(bytes).toString('utf8', start, end);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

/** The same bytes as a buffer. */
export function bytesAsBuffer(bytes: Uint8Array): Buffer {
  const { buffer, byteOffset, byteLength } = bytes;
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(buffer, byteOffset, byteLength);
}

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const SHORT_ESCAPES: Readonly<Record<number, number>> = { 0x62: 8, 0x66: 12, 0x6e: 10, 0x72: 13, 0x74: 9 };
// From this many keys on, a table is faster than comparing with each.
const MANY = 16;

function hashEscaped(bytes: Uint8Array, start: number, end: number): number {
  let hash = hashStart;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte !== BACKSLASH) {
      hash = mixHash(hash, byte);
      continue;
    }
    let code = escapedCode(bytes, at);
    at += bytes[at + 1] === LOWER_U ? 5 : 1;
    if (isFirstHalf(code) && bytes[at + 1] === BACKSLASH && isSecondHalf(escapedCode(bytes, at + 1))) {
      code = 0x1_0000 + ((code - 0xd800) << 10) + (escapedCode(bytes, at + 1) - 0xdc00);
      at += 6;
    }
    hash = mixCode(hash, code);
  }
  return hash;
}

// The parser refuses an invalid escape, so its value here does not matter.
function escapedCode(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1]!;
  if (letter !== LOWER_U) return SHORT_ESCAPES[letter] ?? letter;
  let code = 0;
  for (let digit = at + 2; digit < at + 6; digit++) code = code * 16 + hexValue(bytes[digit]!);
  return code;
}

function hexValue(byte: number): number {
  // Letters differ from digits in this bit; in both cases of a letter the low bits are 1 to 6.
  return byte & 0x40 ? (byte & 7) + 9 : byte & 15;
}

// Hashes a character as its UTF-8 bytes, so that escaped and plain text hash alike; a lone surrogate as UTF-8
// would encode it.
function mixCode(hash: number, code: number): number {
  if (code < 0x80) return mixHash(hash, code);
  if (code < 0x800) return mixHash(mixHash(hash, 0xc0 | (code >> 6)), 0x80 | (code & 63));
  const before =
    code < 0x1_0000
      ? mixHash(hash, 0xe0 | (code >> 12))
      : mixHash(mixHash(hash, 0xf0 | (code >> 18)), 0x80 | ((code >> 12) & 63));
  return mixHash(mixHash(before, 0x80 | ((code >> 6) & 63)), 0x80 | (code & 63));
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

function isSecondHalf(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}
