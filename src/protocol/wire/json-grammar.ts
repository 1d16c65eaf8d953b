import { LongText } from './long-text.ts';

const QUOTE = 0x22;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const COMMA = 0x2c;
const COLON = 0x3a;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LOWER_E = 0x65;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word));

/** Tells whether a part of a scanned message is JSON, in a third of the time that parsing takes. */
export class JsonGrammar {
  readonly #text = new LongText();
  #bytes: Uint8Array = new Uint8Array();
  #at = 0;

  /** Whether these bytes are one value, as far as can be told without decoding UTF-8. The scan limited its depth. */
  isValue(bytes: Uint8Array, start: number, end: number): boolean {
    this.#bytes = bytes;
    this.#at = start;
    return this.#isValue() && this.#at === end;
  }

  #isValue(): boolean {
    switch (this.#bytes[this.#at]) {
      case QUOTE:
        return this.#isText();
      case OPEN_BRACE:
        return this.#isList(CLOSE_BRACE, true);
      case OPEN_BRACKET:
        return this.#isList(CLOSE_BRACKET, false);
      default:
        return this.#isNumber() || WORDS.some((word) => this.#isWord(word));
    }
  }

  #isList(close: number, isObject: boolean): boolean {
    this.#at++;
    this.#skipSpaces();
    if (this.#takes(close)) return true;
    for (;;) {
      if (isObject && !this.#isName()) return false;
      if (!this.#isValue()) return false;
      this.#skipSpaces();
      if (this.#takes(close)) return true;
      if (!this.#takes(COMMA)) return false;
      this.#skipSpaces();
    }
  }

  #isName(): boolean {
    if (this.#bytes[this.#at] !== QUOTE || !this.#isText()) return false;
    this.#skipSpaces();
    if (!this.#takes(COLON)) return false;
    this.#skipSpaces();
    return true;
  }

  #isText(): boolean {
    const text = this.#text;
    text.read(this.#bytes, this.#at + 1);
    this.#at = text.end + 1;
    return !text.isBroken && text.end < this.#bytes.length;
  }

  #isNumber(): boolean {
    const start = this.#at;
    this.#takes(MINUS);
    const hasWhole = this.#takes(DIGIT_0) || this.#takesDigits();
    if (hasWhole && (!this.#takes(DOT) || this.#takesDigits()) && this.#isExponent()) return true;
    this.#at = start;
    return false;
  }

  #isExponent(): boolean {
    if ((this.#bytes[this.#at]! | 0x20) !== LOWER_E) return true;
    this.#at++;
    if (!this.#takes(MINUS)) this.#takes(PLUS);
    return this.#takesDigits();
  }

  #isWord(word: Uint8Array): boolean {
    for (let index = 0; index < word.length; index++)
      if (this.#bytes[this.#at + index] !== word[index]) return false;
    this.#at += word.length;
    return true;
  }

  #takesDigits(): boolean {
    const start = this.#at;
    while (this.#bytes[this.#at]! >= DIGIT_0 && this.#bytes[this.#at]! <= DIGIT_9) this.#at++;
    return this.#at > start;
  }

  #takes(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) return false;
    this.#at++;
    return true;
  }

  #skipSpaces(): void {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.#at++;
    }
  }
}
