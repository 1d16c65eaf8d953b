import { GatheredBytes } from '../../base/gathered-bytes.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Splits bytes into lines; bytes and not text, because a chunk may end in the middle of a character. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #onLine: (line: Buffer) => void;
  readonly #onTooLong: () => void;
  readonly #held = new GatheredBytes();
  #skipping = false;

  constructor(maxBytes: number, onLine: (line: Buffer) => void, onTooLong: () => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  /** Reads the next bytes and reports every line they complete. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#complete(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  /** Reports a last line without a line feed. */
  end(): void {
    this.#complete(Buffer.alloc(0));
  }

  #hold(bytes: Buffer): void {
    if (this.#skipping) return;
    this.#held.add(bytes);
    if (this.#held.length <= this.#maxBytes) return;
    this.#skipping = true;
    this.#held.drop();
    this.#onTooLong();
  }

  #complete(tail: Buffer): void {
    if (this.#held.length > 0 || tail.length > this.#maxBytes) this.#hold(tail);
    const skipped = this.#skipping;
    const line = this.#held.length > 0 ? this.#held.take() : tail;
    this.#skipping = false;
    if (skipped) return;
    const trimmed = line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
    if (trimmed.length > 0) this.#onLine(trimmed);
  }
}
