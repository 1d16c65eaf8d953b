/** A value now or later: local sources answer at once, connected ones cannot. */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value, at once if it is there: a promise for what is there already would cost more than the step it is for. */
export function andThen<T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Does something that may fail at once or later, and recovers from either. */
export function orElse<T>(work: () => Awaitable<T>, recover: (error: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (error) {
    return recover(error);
  }
}

/** Whether a value is a promise of any make: handlers and hooks may bring their own. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
