/** How large and how tangled a message may be. */
export interface JsonLimits {
  readonly depth: number;
  readonly values: number;
  readonly keys: number;
  readonly items: number;
  readonly stringBytes: number;
  readonly numberBytes: number;
}

/** What the standard limits allow; far beyond any sensible call, far below what could hurt. */
export const jsonLimits: JsonLimits = {
  depth: 64,
  values: 50_000,
  keys: 1_000,
  items: 10_000,
  stringBytes: 1_048_576,
  numberBytes: 400,
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const DIGIT_9 = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
const MAX_FINITE_DIGITS = 308;

// Odd and drawn anew for every process, so that nobody can send a thousand keys that all hash alike.
const MULTIPLIER = crypto.getRandomValues(new Int32Array(1))[0]! | 1;

/**
 * Walks the bytes of a JSON text once, before they are parsed, and refuses what parsing would hide or choke on: repeated keys,
 * `__proto__`, bottomless nesting, floods of values. Grammar is left to the parser.
 */
export class JsonScanner {
  readonly #limits: JsonLimits;
  #bytes: Uint8Array = new Uint8Array();
  #position = 0;
  #values = 0;
  #hash = 0;
  #escaped = false;

  // Per open container: is it an object, how many members, where its keys start on the key stack.
  #depth = 0;
  readonly #isObject: Uint8Array;
  readonly #counts: Int32Array;
  readonly #keyBases: Int32Array;
  // Per key of an open object: a hash, and where its text stands.
  #keyTop = 0;
  readonly #keyHashes: number[] = [];
  readonly #keyStarts: number[] = [];
  readonly #keyEnds: number[] = [];

  /** Where the text of the top-level `id` stands; both -1 when there is none. */
  idStart = -1;
  idEnd = -1;
  /** Whether every byte is ASCII, which makes decoding cheap. */
  ascii = true;

  constructor(limits: JsonLimits = jsonLimits) {
    this.#limits = limits;
    this.#isObject = new Uint8Array(limits.depth + 1);
    this.#counts = new Int32Array(limits.depth + 1);
    this.#keyBases = new Int32Array(limits.depth + 1);
  }

  /** Returns what is wrong, or `undefined`. */
  scan(bytes: Uint8Array): string | undefined {
    this.#reset(bytes);
    let expectKey = false;
    let readingId = false;
    while (this.#position < bytes.length) {
      const byte = bytes[this.#position]!;
      let problem: string | undefined;
      if (byte === QUOTE) {
        const start = this.#position;
        problem = expectKey ? this.#readKey() : this.#readValue(byte);
        if (expectKey) readingId = this.#isTopLevelId(start);
        else if (readingId) readingId = this.#noteId(start);
        expectKey = false;
      } else if (byte === COMMA) {
        expectKey = this.#isObject[this.#depth] === 1;
        this.#position++;
      } else if (byte === COLON || byte <= 0x20) {
        this.#position++;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        problem = this.#open(byte === OPEN_BRACE);
        expectKey = byte === OPEN_BRACE;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#close();
        expectKey = false;
      } else {
        const start = this.#position;
        problem = this.#readValue(byte);
        if (readingId) readingId = this.#noteId(start);
      }
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #reset(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#position = 0;
    this.#values = 0;
    this.#depth = 0;
    this.#isObject[0] = 0;
    this.#counts[0] = 0;
    this.#keyTop = 0;
    this.idStart = -1;
    this.idEnd = -1;
    this.ascii = true;
  }

  #open(isObject: boolean): string | undefined {
    const problem = this.#countValue();
    if (problem !== undefined) return problem;
    if (this.#depth >= this.#limits.depth) return `is nested deeper than ${this.#limits.depth} levels`;
    const depth = ++this.#depth;
    this.#isObject[depth] = isObject ? 1 : 0;
    this.#counts[depth] = 0;
    this.#keyBases[depth] = this.#keyTop;
    this.#position++;
    return undefined;
  }

  #close(): void {
    this.#position++;
    // A stray closing bracket is the parser's to refuse.
    if (this.#depth === 0) return;
    this.#keyTop = this.#keyBases[this.#depth]!;
    this.#depth--;
  }

  #countValue(): string | undefined {
    if (++this.#values > this.#limits.values) return `holds over ${this.#limits.values} values`;
    if (this.#depth === 0 || this.#isObject[this.#depth] === 1) return undefined;
    return ++this.#counts[this.#depth]! > this.#limits.items
      ? `has a list of over ${this.#limits.items} items`
      : undefined;
  }

  #readValue(first: number): string | undefined {
    const problem = this.#countValue();
    if (problem !== undefined) return problem;
    return first === QUOTE ? this.#readString() : this.#readBare();
  }

  // Numbers, true, false, null, and whatever else the parser will refuse.
  #readBare(): string | undefined {
    const bytes = this.#bytes;
    const start = this.#position;
    let position = start + 1;
    let hasExponent = false;
    for (; position < bytes.length; position++) {
      const byte = bytes[position]!;
      if (byte <= COMMA || byte >= OPEN_BRACKET) {
        if (byte <= 0x20 || STOPS.has(byte)) break;
        if (byte === LOWER_E) hasExponent = true;
        if (byte >= 0x80) this.ascii = false;
      } else if (byte === COLON) break;
      else if (byte === UPPER_E) hasExponent = true;
    }
    if (bytes[start]! >= 0x80) this.ascii = false;
    this.#position = position;
    const length = position - start;
    if (length > this.#limits.numberBytes) return `has a number of over ${this.#limits.numberBytes} digits`;
    if ((hasExponent || length > MAX_FINITE_DIGITS) && this.#overflows(start, position))
      return 'has a number beyond the range of a double';
    return undefined;
  }

  // Such a number would reach a tool as Infinity and be passed on as null.
  #overflows(start: number, end: number): boolean {
    return this.#bytes[start]! <= DIGIT_9 && Math.abs(Number(this.#text(start, end))) === Infinity;
  }

  #readString(): string | undefined {
    const bytes = this.#bytes;
    const start = this.#position + 1;
    let position = start;
    let hash = 0;
    let highest = 0;
    this.#escaped = false;
    for (; position < bytes.length; position++) {
      const byte = bytes[position]!;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        this.#escaped = true;
        position++;
      }
      highest |= byte;
      hash = Math.imul(hash ^ byte, MULTIPLIER);
    }
    // A backslash at the very end escapes nothing: the string still ends with the text.
    if (position > bytes.length) position = bytes.length;
    if (highest >= 0x80) this.ascii = false;
    this.#hash = hash;
    this.#position = position + 1;
    return position - start > this.#limits.stringBytes
      ? `has a string of over ${this.#limits.stringBytes} bytes`
      : undefined;
  }

  #readKey(): string | undefined {
    const start = this.#position + 1;
    const problem = this.#readString();
    if (problem !== undefined) return problem;
    if (++this.#counts[this.#depth]! > this.#limits.keys)
      return `has an object of over ${this.#limits.keys} keys`;
    return this.#rememberKey(start, this.#position - 1);
  }

  #rememberKey(start: number, end: number): string | undefined {
    const plain = this.#escaped ? this.#unescape(start, end) : undefined;
    const hash = plain === undefined ? this.#hash : hashOf(plain);
    if (this.#isForbidden(start, end, plain))
      return 'uses a key that no message needs (__proto__ and its like)';
    for (let index = this.#keyBases[this.#depth]!; index < this.#keyTop; index++) {
      if (this.#keyHashes[index] !== hash) continue;
      if (
        this.#unescape(this.#keyStarts[index]!, this.#keyEnds[index]!) ===
        (plain ?? this.#unescape(start, end))
      ) {
        return 'repeats a key within one object';
      }
    }
    this.#keyHashes[this.#keyTop] = hash;
    this.#keyStarts[this.#keyTop] = start;
    this.#keyEnds[this.#keyTop++] = end;
    return undefined;
  }

  #isForbidden(start: number, end: number, plain: string | undefined): boolean {
    const length = plain?.length ?? end - start;
    if (plain === undefined && !FORBIDDEN_STARTS.has(this.#bytes[start]!)) return false;
    if (length !== 9 && length !== 11) return false;
    const key = plain ?? this.#text(start, end);
    if (key === '__proto__') return true;
    // In arguments these two may be honest names; in the protocol's own objects they never are.
    const protocolDepth = this.#isObject[1] === 1 ? 2 : 3;
    return this.#depth <= protocolDepth && (key === 'prototype' || key === 'constructor');
  }

  #isTopLevelId(start: number): boolean {
    return (
      this.#depth === 1 &&
      this.#position - start === 4 &&
      this.#bytes[start + 1] === 0x69 &&
      this.#bytes[start + 2] === 0x64
    );
  }

  #noteId(start: number): false {
    this.idStart = start;
    this.idEnd = this.#position;
    return false;
  }

  #text(start: number, end: number): string {
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, end - start).toString('utf8');
  }

  #unescape(start: number, end: number): string {
    const text = this.#text(start, end);
    if (!text.includes('\\')) return text;
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      return text;
    }
  }
}

// The first letters of __proto__, prototype and constructor.
const FORBIDDEN_STARTS = new Set([0x5f, 0x70, 0x63]);
const STOPS = new Set([COMMA, QUOTE, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET]);

function hashOf(text: string): number {
  let hash = 0;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, MULTIPLIER);
  return hash;
}
