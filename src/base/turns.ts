/** Lets large pieces of work go one at a time, so that others are answered in between. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isUnderWay = false;

  /** Whether any work waits for its turn. */
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
    // Two turns of the loop: in the first others connect, in the second they are answered.
    setImmediate(() =>
      setImmediate(() => {
        this.#waiting.shift()!();
        // What was waited for goes on as soon as this returns, and the next waits until after that.
        this.#take();
      }),
    );
  }
}
