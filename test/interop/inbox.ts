/** Keeps what arrives until the test asks for it. */
export class Inbox<T> {
  readonly #arrived: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];
  /** How many have arrived. */
  count = 0;

  put(item: T): void {
    this.count++;
    const taker = this.#waiting.shift();
    if (taker) taker(item);
    else this.#arrived.push(item);
  }

  /** The next one that arrived or will. */
  async next(): Promise<T> {
    if (this.#arrived.length > 0) return this.#arrived.shift()!;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
