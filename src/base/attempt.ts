/** How an attempt ended: with a value, or with an expected failure. */
export type Attempt<T> =
  | { readonly success: true; readonly data: T }
  | { readonly success: false; readonly error: string; readonly code: string | number };

/** A class of errors, used to tell expected failures from unexpected ones. */
export type ErrorClass = abstract new (...args: never[]) => Error;

/** Which failures are expected. */
export interface AttemptOptions {
  /** Error classes whose messages were written for a model to read; any other error is rethrown. */
  readonly catch: ErrorClass | readonly ErrorClass[];
}

/**
 * Runs work that may fail in a known way and returns how it ended. A failure that a handler returns is marked as
 * an error.
 */
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

// Errors of APIs carry a code or an HTTP status; otherwise the class name is used.
function codeOf(error: Error & { readonly code?: unknown; readonly status?: unknown }): string | number {
  const { code, status, name } = error;
  const isTold = (value: unknown): value is string | number =>
    typeof value === 'string' || typeof value === 'number';
  return isTold(code) ? code : isTold(status) ? status : name;
}
