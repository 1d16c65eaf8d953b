/** Runs large pieces of work one at a time, so that other requests are answered in between. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isUnderWay = false;

  /** Whether work is running or waiting. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Resolves when it is the caller's turn. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isUnderWay) this.#take();
    });
  }

  #take(): void {
    this.#isUnderWay = this.#waiting.length > 0;
    if (!this.#isUnderWay) return;
    // Two turns of the event loop: new connections are accepted in the first and answered in the second.
    setImmediate(() =>
      setImmediate(() => {
        this.#waiting.shift()!();
        // The resumed work runs as soon as this returns; the next one waits until after it.
        this.#take();
      }),
    );
  }
}
