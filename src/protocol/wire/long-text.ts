const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LOWER_U = 0x75;
const [END, ESCAPE, NON_ASCII, CONTROL] = [1, 2, 4, 8] as const;
// What ends a text, or is more in it than a printable character of ASCII.
const MARKS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === QUOTE) return END;
  if (byte === BACKSLASH) return ESCAPE;
  if (byte >= 0x80) return NON_ASCII;
  return byte < 0x20 ? CONTROL : 0;
});

const IS_ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) IS_ESCAPED[byte] = 1;

/** Finds the end of a long string of JSON and holds it to the grammar: it may be parsed later, or never. */
export class LongText {
  /** Where its closing quote is, or the end of the bytes if it has none. */
  end = 0;
  isAscii = true;
  isEscaped = false;
  /** Whether it has a bare control character, or an escape that JSON does not know. */
  isBroken = false;

  /** Reads the string whose first byte behind the quote is at `start`. */
  read(bytes: Uint8Array, start: number): void {
    const last = bytes.length - 2;
    let at = start;
    let seen = 0;
    while (at < bytes.length) {
      // Two at a time: one takes almost twice as long, and four do where there are many escapes.
      while (at < last && (MARKS[bytes[at]!]! | MARKS[bytes[at + 1]!]!) === 0) at += 2;
      const mark = MARKS[bytes[at]!]!;
      if (mark === END) break;
      seen |= mark;
      if (mark === ESCAPE && !isEscape(bytes, ++at)) seen |= CONTROL;
      at++;
    }
    // A backslash at the very end escapes nothing.
    this.end = Math.min(at, bytes.length);
    this.isAscii = (seen & NON_ASCII) === 0;
    this.isEscaped = (seen & ESCAPE) !== 0;
    this.isBroken = (seen & CONTROL) !== 0;
  }
}

// Whether these bytes, behind a backslash, are an escape that JSON knows.
function isEscape(bytes: Uint8Array, start: number): boolean {
  if (start >= bytes.length) return false;
  if (bytes[start] !== LOWER_U) return IS_ESCAPED[bytes[start]!] === 1;
  for (let at = start + 1; at <= start + 4; at++) if (!isHex(bytes[at] ?? 0)) return false;
  return true;
}

function isHex(byte: number): boolean {
  const letter = byte | 0x20;
  return (byte >= DIGIT_0 && byte <= DIGIT_9) || (letter >= 0x61 && letter <= 0x66);
}
