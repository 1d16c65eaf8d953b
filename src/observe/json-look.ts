const QUOTE = 0x22;
const PLUS = 0x2b;
const SLASH = 0x2f;
const DIGIT_9 = 0x39;
const BACKSLASH = 0x5c;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const MARK = 1;
const WORD = 2;
// As short as a line of wrapped base64 can be.
const MIN_LINE = 16;

/** Looks once at the bytes of a JSON text for anything that may have to be cleaned; many searches would cost more. */
export class JsonLook {
  /** Whether something may be found where these two bytes follow each other. */
  readonly #pairs = new Uint8Array(0x1_0000);
  readonly #words = new Map<number, Placed[]>();
  readonly #hasEscaped: boolean;

  /** Every word must have at least two characters. */
  constructor(words: readonly string[]) {
    for (let first = 0; first < 256; first++)
      for (let second = 0; second < 256; second++)
        if (isMark(first) || isMark(second)) this.#pairs[pairOf(first, second)] = MARK;
    for (const word of words) this.#place(Buffer.from(word));
    // oxlint-disable-next-line no-control-regex -- They are what JSON escapes.
    this.#hasEscaped = words.some((word) => /["\u0000-\u001f]/.test(word));
  }

  /**
   * Whether there is a word, something that is not printable ASCII, or an escape behind which either may hide. `true`
   * may be wrong; `false` is not, where the range begins and ends with a bracket.
   */
  finds(bytes: Uint8Array, start: number, end: number): boolean {
    // Two bytes at a time, four times in a turn: a loop over single bytes takes four times as long.
    const skipped = (bytes.byteOffset + start) & 1;
    const first = start + skipped;
    const view = new Uint16Array(bytes.buffer, bytes.byteOffset + first, (end - first) >> 1);
    const pairs = this.#pairs;
    const last = view.length - 3;
    let at = 0;
    while (at < last) {
      const found = pairs[view[at]!]! | pairs[view[at + 1]!]! | pairs[view[at + 2]!]! | pairs[view[at + 3]!]!;
      if (found !== 0 && this.#isAmong(bytes, first + 2 * at, 4)) return true;
      at += 4;
    }
    return this.#isAmong(bytes, first + 2 * at, view.length - at);
  }

  #isAmong(bytes: Uint8Array, start: number, count: number): boolean {
    for (let at = start; at < start + 2 * count; at += 2) {
      const first = bytes[at]!;
      const second = bytes[at + 1]!;
      const kind = this.#pairs[pairOf(first, second)]!;
      if (kind === 0) continue;
      if (isUnseen(first) || isUnseen(second)) return true;
      if (first === BACKSLASH && this.#mayHide(bytes, at + 1)) return true;
      if (second === BACKSLASH && this.#mayHide(bytes, at + 2)) return true;
      if (kind === WORD && this.#isWordAt(bytes, at)) return true;
    }
    return false;
  }

  // Quotes, tabs and newlines hide nothing, unless a word has some.
  #mayHide(bytes: Uint8Array, at: number): boolean {
    const byte = bytes[at];
    if (byte === LOWER_N && endsBase64(bytes, at - 1)) return true;
    return this.#hasEscaped || (byte !== QUOTE && byte !== LOWER_N && byte !== LOWER_T);
  }

  #isWordAt(bytes: Uint8Array, at: number): boolean {
    for (const { bytes: word, place } of this.#words.get(pairOf(bytes[at]!, bytes[at + 1]!)) ?? [])
      if (isAt(bytes, at - place, word)) return true;
    return false;
  }

  // Of two neighbouring pairs one is looked at, wherever the word begins.
  #place(word: Uint8Array): void {
    let place = 0;
    for (let at = 1; at + 2 < word.length; at++) if (rarity(word, at) > rarity(word, place)) place = at;
    this.#note(pairOf(word[place]!, word[place + 1]!), { bytes: word, place });
    const third = word[place + 2];
    if (third !== undefined) this.#note(pairOf(word[place + 1]!, third), { bytes: word, place: place + 1 });
    // A word of two characters may begin with the second of any pair.
    else
      for (let first = 0; first < 256; first++)
        this.#note(pairOf(first, word[0]!), { bytes: word, place: -1 });
  }

  #note(pair: number, placed: Placed): void {
    if (this.#pairs[pair] === 0) this.#pairs[pair] = WORD;
    this.#words.set(pair, [...(this.#words.get(pair) ?? []), placed]);
  }
}

/** A word, and where in it a pair of its bytes begins. */
interface Placed {
  readonly bytes: Uint8Array;
  readonly place: number;
}

const isLittleEndian = new Uint16Array(Uint8Array.of(1, 0).buffer)[0] === 1;

// Two bytes as a view of sixteen bits shows them.
function pairOf(first: number, second: number): number {
  return isLittleEndian ? first | (second << 8) : (first << 8) | second;
}

function isMark(byte: number): boolean {
  return byte === BACKSLASH || isUnseen(byte);
}

function isAt(bytes: Uint8Array, start: number, word: Uint8Array): boolean {
  for (let index = 0; index < word.length; index++) if (bytes[start + index] !== word[index]) return false;
  return true;
}

// Spaces between the values are seen; tabs and line breaks there are rare, and may be in what is looked for.
function isUnseen(byte: number): boolean {
  return byte < 0x20 || byte >= 0x7f;
}

function endsBase64(bytes: Uint8Array, end: number): boolean {
  for (let at = end - 1; at >= end - MIN_LINE; at--) if (!isBase64(bytes[at])) return false;
  return true;
}

function isBase64(byte = 0): boolean {
  const isLetter = (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
  return isLetter || (byte >= SLASH && byte <= DIGIT_9) || byte === PLUS;
}

// Letters from frequent to rare; JSON itself is made of what is not rare at all.
const FREQUENT = Buffer.from(' ":,{}[]etaoinsrhldcumfpgwybvk');

// How rare the three bytes from here are together.
function rarity(bytes: Uint8Array, start: number): number {
  let sum = 0;
  for (let at = start; at < start + 3; at++) {
    const rank = FREQUENT.indexOf(bytes[at] ?? 0x20);
    sum += rank < 0 ? FREQUENT.length : rank;
  }
  return sum;
}
