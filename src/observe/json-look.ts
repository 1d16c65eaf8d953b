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
    for (let pair = 0; pair < this.#pairs.length; pair++)
      if (pair >> 8 === BACKSLASH || isUnseen(pair & 0xff)) this.#pairs[pair] = MARK;
    for (const word of words) this.#place(Buffer.from(word));
    // oxlint-disable-next-line no-control-regex -- They are what JSON escapes.
    this.#hasEscaped = words.some((word) => /["\u0000-\u001f]/.test(word));
  }

  /**
   * Whether there is a word, something that is not printable ASCII, or an escape behind which either may hide. A yes
   * may be wrong, a no is not.
   */
  finds(bytes: Uint8Array, start: number, end: number): boolean {
    const pairs = this.#pairs;
    let before = 0;
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      const kind = pairs[(before << 8) | byte]!;
      if (kind !== 0) {
        if (isUnseen(byte) || (before === BACKSLASH && this.#mayHide(bytes, at))) return true;
        if (kind === WORD && this.#isWordAt(bytes, at)) return true;
      }
      before = byte;
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
    for (const word of this.#words.get((bytes[at - 1]! << 8) | bytes[at]!) ?? [])
      if (isAt(bytes, at, word)) return true;
    return false;
  }

  #place(bytes: Uint8Array): void {
    let end = 1;
    for (let at = 2; at < bytes.length; at++) if (rarity(bytes, at) > rarity(bytes, end)) end = at;
    const pair = (bytes[end - 1]! << 8) | bytes[end]!;
    this.#pairs[pair] = WORD;
    this.#words.set(pair, [...(this.#words.get(pair) ?? []), { bytes, end }]);
  }
}

/** A word, and where in it its rarest two bytes end. */
interface Placed {
  readonly bytes: Uint8Array;
  readonly end: number;
}

function isAt(bytes: Uint8Array, at: number, { bytes: word, end }: Placed): boolean {
  const start = at - end;
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

function rarity(bytes: Uint8Array, end: number): number {
  const [first, second] = [FREQUENT.indexOf(bytes[end - 1]!), FREQUENT.indexOf(bytes[end]!)];
  return (first < 0 ? FREQUENT.length : first) + (second < 0 ? FREQUENT.length : second);
}
