import { ToolcribError } from './errors.ts';

/** How fast something may go. */
export interface Rate {
  /** How far apart calls are when they come evenly. */
  readonly everyMs: number;
  /** How much time calls may use up in advance: the length of a burst. */
  readonly aheadMs: number;
}

/** So many a minute, and so many of them at once after a pause. */
export function rateOf(perMinute: number, burst = perMinute): Rate {
  const everyMs = 60_000 / perMinute;
  return { everyMs, aheadMs: everyMs * burst };
}

// Adding up fractions of a millisecond must not cost the last call of a burst.
const SLACK = 1e-5;

/** How long to wait for the next one, 0 for not at all, where time is used up until some moment. */
export function excess({ everyMs, aheadMs }: Rate, used: number, now: number): number {
  const ms = used + everyMs - now - aheadMs;
  return ms > everyMs * SLACK ? ms : 0;
}

/** The refusal of something that came too often. */
export function tooMany(what: string, waitMs: number): ToolcribError {
  const retryAfterMs = Math.ceil(waitMs);
  const text = `Too many ${what}; try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  return new ToolcribError('rate_limited', text, { data: { retryAfterMs } });
}
