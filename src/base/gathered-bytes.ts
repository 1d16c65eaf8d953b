// A piece of one byte takes a hundred bytes of memory.
const MOST_PIECES = 1_024;

/** Bytes that come in pieces, until all are there; however small these are, they take little more than their length. */
export class GatheredBytes {
  #pieces: Buffer[] = [];
  #joined = 0;
  length = 0;

  /** Keeps a piece; its bytes must not change later. */
  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.length += piece.length;
    if (this.#pieces.length - this.#joined < MOST_PIECES) return;
    this.#pieces.push(Buffer.concat(this.#pieces.splice(this.#joined)));
    this.#joined++;
  }

  /** Returns all bytes in one piece, and keeps none. */
  take(): Buffer {
    const [pieces, length] = [this.#pieces, this.length];
    this.drop();
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length);
  }

  /** Drops all bytes. */
  drop(): void {
    this.#pieces = [];
    this.#joined = 0;
    this.length = 0;
  }
}
