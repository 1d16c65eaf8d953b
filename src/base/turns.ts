// Long work leaves others some time before the next: one call takes several turns of the event loop, with a sync.
const LONG_MS = 4;
const MAX_PAUSE_MS = 8;

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

  // Two turns of the event loop: new connections are accepted in the first and answered in the second.
  #take(): void {
    this.#isUnderWay = this.#waiting.length > 0;
    if (this.#isUnderWay) setImmediate(() => setImmediate(() => this.#start()));
  }

  // The resumed work runs as soon as this returns; what is next waits until after it.
  #start(): void {
    const startedAt = performance.now();
    this.#waiting.shift()!();
    setImmediate(() => {
      const took = performance.now() - startedAt;
      if (took < LONG_MS) this.#takeSoon();
      else setTimeout(() => this.#take(), Math.min(took / 2, MAX_PAUSE_MS));
    });
  }

  #takeSoon(): void {
    this.#isUnderWay = this.#waiting.length > 0;
    if (this.#isUnderWay) setImmediate(() => this.#start());
  }
}
