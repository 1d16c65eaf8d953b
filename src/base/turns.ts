// After long work there is a pause for others: a small call needs several turns of the event loop, and a sync.
const LONG_MS = 4;
const MAX_PAUSE_MS = 8;

/** Runs large pieces of work one at a time and by turns of tenants, so that other requests are answered in between. */
export class Turns {
  // The first tenant is next.
  readonly #waiting = new Map<string, (() => void)[]>();
  #isUnderWay = false;

  /** Whether work is running or waiting. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Resolves when it is the turn of the tenant, and of this piece of its work. */
  next(tenant: string): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(tenant);
      if (own) own.push(resolve);
      else this.#waiting.set(tenant, [resolve]);
      if (!this.#isUnderWay) this.#take();
    });
  }

  // Two turns of the event loop: new connections are accepted in the first and answered in the second.
  #take(): void {
    this.#isUnderWay = this.#waiting.size > 0;
    if (this.#isUnderWay) setImmediate(() => setImmediate(() => this.#start()));
  }

  // The resumed work runs as soon as this returns; the next piece waits until after it.
  #start(): void {
    const startedAt = performance.now();
    const [tenant, own] = this.#waiting.entries().next().value!;
    const resume = own.shift()!;
    this.#waiting.delete(tenant);
    if (own.length > 0) this.#waiting.set(tenant, own);
    resume();
    setImmediate(() => {
      const took = performance.now() - startedAt;
      if (took < LONG_MS) this.#takeSoon();
      else setTimeout(() => this.#take(), Math.min(took / 2, MAX_PAUSE_MS));
    });
  }

  #takeSoon(): void {
    this.#isUnderWay = this.#waiting.size > 0;
    if (this.#isUnderWay) setImmediate(() => this.#start());
  }
}
