/** Told once that a call was stopped. */
export interface StopListener {
  onStop(reason: Error): void;
}

/** Ends each of several things, whatever ending one of them does; throws the first failure after the last of them. */
export function endEach<T>(things: Iterable<T>, end: (thing: T) => void): void {
  const failures: unknown[] = [];
  for (const thing of things) {
    try {
      end(thing);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Stops one call. The signal is created on first use, because most calls never need one. */
export class Cancellation {
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #isWithdrawn = false;
  #listeners: ((reason: Error) => void)[] | undefined;
  #watchers: StopListener[] | undefined;

  /** Why the call was stopped; `undefined` while it runs. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Whether the client stopped the call, and so expects no response. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn;
  }

  /** The standard signal, for handlers and the functions they call. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason && !this.#controller.signal.aborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Stops the call; the first reason is kept. */
  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners ?? []) listener(reason);
    if (this.#watchers) endEach(this.#watchers.splice(0), (watcher) => watcher.onStop(reason));
  }

  /** Stops the call because its client cancelled or disconnected. */
  withdraw(reason: Error): void {
    if (this.#reason) return;
    this.#isWithdrawn = true;
    this.abort(reason);
  }

  /** Tells a listener when the call is stopped, unless `unwatch` comes first; for less than a signal costs. */
  watch(listener: StopListener): void {
    (this.#watchers ??= []).push(listener);
  }

  /** Forgets a listener. */
  unwatch(listener: StopListener): void {
    const at = this.#watchers?.indexOf(listener) ?? -1;
    if (at >= 0) this.#watchers!.splice(at, 1);
  }

  /** Settles as `work` does, or fails with the reason as soon as the call is stopped. */
  race<T>(work: Promise<T>): Promise<T> {
    if (this.#reason) {
      // Avoids an unhandled rejection: `work` is no longer awaited.
      work.catch(() => {});
      return Promise.reject(this.#reason);
    }
    return new Promise<T>((resolve, reject) => {
      (this.#listeners ??= []).push(reject);
      work.then(resolve, reject);
    });
  }
}
