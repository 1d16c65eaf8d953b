/** A value now or later: local sources answer at once, remote ones cannot. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Calls `use` with a value, synchronously if the value is already there: a promise would cost more than the step
 * itself.
 */
export function andThen<T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** All of several values, synchronously if every one of them is already there. */
export function allOf<T>(values: readonly Awaitable<T>[]): Awaitable<readonly T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[]);
}

/** Runs work that may fail now or later, and recovers from both. */
export function orElse<T>(work: () => Awaitable<T>, recover: (error: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (error) {
    return recover(error);
  }
}

/** Settles as `work` does, after `end`; `finally` makes several promises more, too many for every call. */
export function whenOver<T>(work: Promise<T>, end: () => void): Promise<T> {
  return work.then(
    (value) => {
      end();
      return value;
    },
    (error: unknown) => {
      end();
      throw error;
    },
  );
}

/** Whether a value is any kind of promise: handlers and hooks may use their own. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Does nothing: for promises whose failure is handled elsewhere, and for hooks that are not set. */
export function nothing(): void {}
