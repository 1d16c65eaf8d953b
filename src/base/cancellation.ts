/** One call's way to be stopped; the signal is made only when somebody asks, because most calls never do. */
export class Cancellation {
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #isWithdrawn = false;
  #listeners: ((reason: Error) => void)[] | undefined;

  /** Why the call was stopped, once it was. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Whether it was the client that stopped the call, and so wants to hear nothing more of it. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn;
  }

  /** The standard signal, for handlers and what they call. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason && !this.#controller.signal.aborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Stops the call; the first reason stays. */
  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners ?? []) listener(reason);
  }

  /** Stops the call for a client that cancelled or left. */
  withdraw(reason: Error): void {
    if (this.#reason) return;
    this.#isWithdrawn = true;
    this.abort(reason);
  }

  /** Settles as `work` does, or fails with the reason as soon as the call is stopped. */
  race<T>(work: Promise<T>): Promise<T> {
    if (this.#reason) {
      // The work's own failure has nobody left to hear it.
      work.catch(() => {});
      return Promise.reject(this.#reason);
    }
    return new Promise<T>((resolve, reject) => {
      (this.#listeners ??= []).push(reject);
      work.then(resolve, reject);
    });
  }
}
