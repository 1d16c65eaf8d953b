import { systemClock, type Clock } from '../../base/clock.ts';

/**
 * The error for the model when an API cannot answer now; returned from a handler, it makes the result a failed one.
 */
export interface UpstreamFailure {
  readonly error: string;
  /** The status of the answer. */
  readonly code: number;
  /** When to try again. */
  readonly message: string;
  readonly retry_after_seconds?: number;
}

/**
 * Reads an answer that says *not now* (429 and 5xx) into a result a model can act on; `undefined` for every other
 * answer.
 */
export function upstreamFailure(
  { status, headers }: { readonly status: number; readonly headers: Pick<Headers, 'get'> },
  clock: Pick<Clock, 'now'> = systemClock,
): UpstreamFailure | undefined {
  if (status !== 429 && !(status >= 500 && status <= 599)) return undefined;
  const seconds = retryAfter(headers.get('retry-after'), clock);
  return {
    error: status === 429 ? 'API rate limit exceeded' : 'API is not available now',
    code: status,
    message: seconds === undefined ? 'Try again later.' : `Try again after ${count(seconds)}.`,
    ...(seconds !== undefined && { retry_after_seconds: seconds }),
  };
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

// The header holds seconds or a date; anything else is as good as nothing.
function retryAfter(header: string | null, clock: Pick<Clock, 'now'>): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const date = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - clock.now()) / 1000));
}

function count(seconds: number): string {
  return seconds === 1 ? '1 second' : `${seconds} seconds`;
}
