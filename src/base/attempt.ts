/** How an attempt ended: with a value, or with a failure that was expected. */
export type Attempt<T> =
  | { readonly success: true; readonly data: T }
  | { readonly success: false; readonly error: string; readonly code: string | number };

/** A class of errors, to tell expected failures from accidents. */
export type ErrorClass = abstract new (...args: never[]) => Error;

/** Which failures are expected. */
export interface AttemptOptions {
  /** The classes whose messages were written for a model to read; whatever else is thrown passes on. */
  readonly catch: ErrorClass | readonly ErrorClass[];
}

/** Does something that may fail in a known way and tells how it ended; what a handler returns of a failure is marked as an error by itself. */
export async function attempt<T>(
  work: () => T | Promise<T>,
  { catch: expected }: AttemptOptions,
): Promise<Attempt<T>> {
  const classes = [expected].flat();
  try {
    return { success: true, data: await work() };
  } catch (error) {
    if (!(error instanceof Error) || !classes.some((known) => error instanceof known)) throw error;
    return { success: false, error: error.message, code: codeOf(error) };
  }
}

// Errors of APIs carry a code or the status of the answer; the name of the class says something too.
function codeOf(error: Error & { readonly code?: unknown; readonly status?: unknown }): string | number {
  const { code, status, name } = error;
  const isTold = (value: unknown): value is string | number =>
    typeof value === 'string' || typeof value === 'number';
  return isTold(code) ? code : isTold(status) ? status : name;
}
