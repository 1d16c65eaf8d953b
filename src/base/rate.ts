import { ToolcribError } from './errors.ts';

/** A rate limit. */
export interface Rate {
  /** Time between calls at an even rate. */
  readonly everyMs: number;
  /** How much time calls may use in advance: the length of a burst. */
  readonly aheadMs: number;
}

/** A limit per minute, with a burst that is allowed after a pause. */
export function rateOf(perMinute: number, burst = perMinute): Rate {
  const everyMs = 60_000 / perMinute;
  return { everyMs, aheadMs: everyMs * burst };
}

// Rounding errors of fractional milliseconds must not refuse the last call of a burst.
const SLACK = 1e-5;

/** How long to wait before the next call, or 0, if time is used up until `used`. */
export function excess({ everyMs, aheadMs }: Rate, used: number, now: number): number {
  const ms = used + everyMs - now - aheadMs;
  return ms > everyMs * SLACK ? ms : 0;
}

/** The error for something that came too often. */
export function tooMany(what: string, waitMs: number): ToolcribError {
  const retryAfterMs = Math.ceil(waitMs);
  const text = `Too many ${what}; try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  return new ToolcribError('rate_limited', text, { data: { retryAfterMs } });
}
