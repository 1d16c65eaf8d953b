import { bytesAsBuffer, hashOfMemberName, KeyMemory, keyText } from './key-memory.ts';
import { LongText } from './long-text.ts';

/** Limits for the size and shape of a message. */
export interface JsonLimits {
  readonly depth: number;
  readonly values: number;
  readonly keys: number;
  readonly items: number;
  readonly stringBytes: number;
  readonly numberBytes: number;
}

/** The default limits: far above any sensible call, far below any harm. */
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
// Integers of up to this many digits are exact.
const MAX_EXACT_DIGITS = 15;
// With a two-digit exponent, a number of this many characters is always finite.
const MAX_FINITE_LENGTH = 200;
const MAX_FINITE_EXPONENT = 'e99'.length;
// Most strings end within these.
const NEAR_BYTES = 64;
// Shorter texts are parsed faster than they are left out.
const LONG_TEXT_BYTES = 1_024;

/**
 * Scans the bytes of a JSON text before parsing and refuses what parsing would hide or choke on: repeated keys,
 * `__proto__`, deep nesting, too many values. The parser checks the grammar.
 */
export class JsonScanner {
  readonly #limits: JsonLimits;
  #bytes: Uint8Array = new Uint8Array();
  #position = 0;
  #values = 0;
  #escaped = false;

  // Per open container: whether it is an object, and its number of members.
  #depth = 0;
  readonly #isObject: Uint8Array;
  readonly #counts: Int32Array;
  readonly #keys = new KeyMemory();
  readonly #longText = new LongText();

  /** The position of the text of the top-level `id`; both -1 if there is none. */
  idStart = -1;
  idEnd = -1;
  /** Where the top-level `result` begins and ends; both -1 unless it is an object. */
  resultStart = -1;
  resultEnd = -1;
  /** Where each member of that object begins. */
  resultMembers: number[] = [];
  /** Where the long texts in it begin and end, in turn, without their quotes. */
  longTexts: number[] = [];
  /** Whether a long text is written as no parser takes it. */
  brokenText = false;
  #inResult = false;
  /** Whether every byte is ASCII, which makes decoding cheap. */
  ascii = true;
  /** Whether a key is written with an escape, which some engines misread. */
  escapedKeys = false;
  /** Whether a number has more digits than parsing keeps for sure. */
  longNumbers = false;

  constructor(limits: JsonLimits = jsonLimits) {
    this.#limits = limits;
    this.#isObject = new Uint8Array(limits.depth + 1);
    this.#counts = new Int32Array(limits.depth + 1);
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
    this.#keys.begin(bytes);
    this.idStart = -1;
    this.idEnd = -1;
    this.resultStart = -1;
    this.resultEnd = -1;
    this.#inResult = false;
    this.brokenText = false;
    this.ascii = true;
    this.escapedKeys = false;
    this.longNumbers = false;
  }

  #open(isObject: boolean): string | undefined {
    const problem = this.#countValue();
    if (problem !== undefined) return problem;
    if (this.#depth >= this.#limits.depth) return `is nested deeper than ${this.#limits.depth} levels`;
    const depth = ++this.#depth;
    this.#isObject[depth] = isObject ? 1 : 0;
    this.#counts[depth] = 0;
    if (isObject) this.#keys.open();
    if (depth === 2 && this.#inResult) this.#beginResult(isObject);
    this.#position++;
    return undefined;
  }

  #close(): void {
    this.#position++;
    // The parser refuses a stray closing bracket.
    if (this.#depth === 0) return;
    if (this.#isObject[this.#depth--] === 1) this.#keys.close();
    if (this.#depth === 1 && this.#inResult) this.#endResult();
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
    if (first !== QUOTE) return this.#readBare();
    const start = this.#position + 1;
    const broken = this.#readString();
    const end = this.#position - 1;
    if (end - start >= LONG_TEXT_BYTES && this.#inResult) this.longTexts.push(start, end);
    return broken;
  }

  // Numbers, true, false, null, and anything the parser will refuse.
  #readBare(): string | undefined {
    const bytes = this.#bytes;
    const start = this.#position;
    let position = start + 1;
    let exponent = 0;
    for (; position < bytes.length; position++) {
      const byte = bytes[position]!;
      if (byte <= COMMA || byte >= OPEN_BRACKET) {
        if (byte <= 0x20 || STOPS.has(byte)) break;
        if (byte === LOWER_E) exponent = position;
        if (byte >= 0x80) this.ascii = false;
      } else if (byte === COLON) break;
      else if (byte === UPPER_E) exponent = position;
    }
    if (bytes[start]! >= 0x80) this.ascii = false;
    this.#position = position;
    const length = position - start;
    if (length > MAX_EXACT_DIGITS) this.longNumbers = true;
    if (length > this.#limits.numberBytes) return `has a number of over ${this.#limits.numberBytes} digits`;
    const isFinite =
      length <= MAX_FINITE_LENGTH && (exponent === 0 || position - exponent <= MAX_FINITE_EXPONENT);
    if (!isFinite && this.#overflows(start, position)) return 'has a number beyond the range of a double';
    return undefined;
  }

  // Such a number would reach a tool as Infinity and be passed on as null.
  #overflows(start: number, end: number): boolean {
    return (
      this.#bytes[start]! <= DIGIT_9 &&
      Math.abs(Number(bytesAsBuffer(this.#bytes).toString('latin1', start, end))) === Infinity
    );
  }

  #readString(): string | undefined {
    const bytes = this.#bytes;
    const start = this.#position + 1;
    const near = Math.min(bytes.length, start + NEAR_BYTES);
    let position = start;
    let highest = 0;
    this.#escaped = false;
    for (; position < near; position++) {
      const byte = bytes[position]!;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        this.#escaped = true;
        position++;
      }
      highest |= byte;
    }
    if (highest >= 0x80) this.ascii = false;
    if (position >= near) position = this.#endOfLongText(start);
    this.#position = position + 1;
    return position - start > this.#limits.stringBytes
      ? `has a string of over ${this.#limits.stringBytes} bytes`
      : undefined;
  }

  #endOfLongText(start: number): number {
    const text = this.#longText;
    text.read(this.#bytes, start);
    if (!text.isAscii) this.ascii = false;
    if (text.isEscaped) this.#escaped = true;
    if (text.isBroken) this.brokenText = true;
    return text.end;
  }

  #readKey(): string | undefined {
    const start = this.#position + 1;
    const problem = this.#readString();
    if (problem !== undefined) return problem;
    if (++this.#counts[this.#depth]! > this.#limits.keys)
      return `has an object of over ${this.#limits.keys} keys`;
    if (this.#depth <= 2) this.#noteMember(start);
    return this.#rememberKey(start, this.#position - 1);
  }

  #noteMember(start: number): void {
    if (this.#depth === 1) this.#inResult = this.resultStart < 0 && this.#isResult(start);
    else if (this.#inResult) this.resultMembers.push(start - 1);
  }

  #isResult(start: number): boolean {
    if (this.#position - start !== RESULT.length + 1) return false;
    for (let at = 0; at < RESULT.length; at++) if (this.#bytes[start + at] !== RESULT[at]) return false;
    return true;
  }

  #beginResult(isObject: boolean): void {
    if (!isObject) {
      this.#inResult = false;
      return;
    }
    this.resultStart = this.#position;
    this.resultMembers = [];
    this.longTexts = [];
  }

  #endResult(): void {
    this.#inResult = false;
    this.resultEnd = this.#position;
  }

  #rememberKey(start: number, end: number): string | undefined {
    if (this.#escaped) this.escapedKeys = true;
    const hash = hashOfMemberName(this.#bytes, start, end);
    if (this.#isForbidden(hash, start, end)) return 'uses a forbidden key (__proto__ or similar)';
    return this.#keys.add(hash, start, end) ? undefined : 'repeats a key within one object';
  }

  #isForbidden(hash: number, start: number, end: number): boolean {
    if (hash !== PROTO && hash !== PROTOTYPE && hash !== CONSTRUCTOR) return false;
    const key = keyText(this.#bytes, start, end);
    if (key === '__proto__') return true;
    // In arguments these two may be legitimate names; in the protocol's own objects they never are.
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
}

const RESULT = Buffer.from('result');
const [PROTO, PROTOTYPE, CONSTRUCTOR] = ['__proto__', 'prototype', 'constructor'].map((name) =>
  hashOfMemberName(Buffer.from(name), 0, name.length),
);
const STOPS = new Set([COMMA, QUOTE, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET]);
