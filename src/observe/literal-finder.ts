const MAX_WINDOW = 8;
const TABLE_SIZE = 0x4000;

/**
 * Finds any of many words in one pass over a text. It looks at two characters at a time and skips as far as no
 * word can start, so that many words cost little more than one.
 */
export class LiteralFinder {
  readonly #window: number;
  readonly #skips: Uint8Array;
  /** Words by the last two characters of their window, longest first. */
  readonly #words = new Map<number, string[]>();

  /** Every word must have at least two characters. */
  constructor(words: readonly string[]) {
    const window = words.reduce((least, { length }) => Math.min(least, length), MAX_WINDOW);
    this.#window = window;
    this.#skips = new Uint8Array(TABLE_SIZE).fill(window - 1);
    for (const word of words) {
      for (let at = 1; at < window; at++) {
        const pair = pairAt(word, at);
        this.#skips[pair] = Math.min(this.#skips[pair]!, window - 1 - at);
      }
      const last = pairAt(word, window - 1);
      const alike = [...(this.#words.get(last) ?? []), word];
      this.#words.set(
        last,
        alike.toSorted((a, b) => b.length - a.length),
      );
    }
  }

  /** The index of the next word, or -1. */
  find(text: string, from = 0): number {
    const skips = this.#skips;
    const reach = this.#window - 1;
    for (let end = from + reach; end < text.length;) {
      const skip = skips[pairAt(text, end)]!;
      if (skip > 0) end += skip;
      else if (this.wordAt(text, end - reach) !== undefined) return end - reach;
      else end++;
    }
    return -1;
  }

  /** The longest word that starts at this index. */
  wordAt(text: string, at: number): string | undefined {
    return this.#words.get(pairAt(text, at + this.#window - 1))?.find((word) => text.startsWith(word, at));
  }
}

// Exact for ASCII; other characters may collide, which costs a comparison.
function pairAt(text: string, end: number): number {
  return ((text.charCodeAt(end - 1) << 7) ^ text.charCodeAt(end)) & (TABLE_SIZE - 1);
}
