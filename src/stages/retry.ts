import { z } from 'zod';
import { absentTools } from '../core/absent-tool.ts';
import type { Call, ToolCall } from '../core/call.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { Deadlines } from '../base/deadlines.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Result } from '../core/result.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { Next, Stage } from '../core/stage.ts';
import { isDeclaredIdempotent, isDeclaredReadOnly } from '../core/tool.ts';

/** How often and how soon a call is retried. */
export const retryOptions = z.strictObject({
  attempts: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe('How often a call is made at most, the first time included.'),
  delayMs: z
    .number()
    .positive()
    .default(100)
    .describe(
      'How long to wait before the second attempt, in milliseconds; twice as long before each one after it.',
    ),
  maxDelayMs: z
    .number()
    .positive()
    .max(60_000)
    .default(2_000)
    .describe('The longest wait between two attempts, in milliseconds.'),
});

/** What the stage needs. */
export interface RetryParts {
  readonly clock?: Clock;
  /** Spreads the retries of many calls: a number from 0 to 1. */
  readonly random?: () => number;
}

/** Retries a call when a service it depends on does not answer; only if running it twice does no harm. */
export function retry(options: z.input<typeof retryOptions> = {}, parts: RetryParts = {}): Stage {
  const limits = retryOptions.parse(options, { jitless: true });
  const { clock = systemClock, random = Math.random } = parts;
  const pace: Pace = { ...limits, random, deadlines: new Deadlines(clock) };
  return {
    name: 'retry',
    wrap(tool, next) {
      const mayRunTwice = isDeclaredReadOnly(tool) || isDeclaredIdempotent(tool);
      if (!mayRunTwice || absentTools.has(tool) || limits.attempts === 1) return next;
      return (call) => {
        let work: Awaitable<Result>;
        try {
          work = next(call);
        } catch (error) {
          return again(call, next, { error, pace });
        }
        return work instanceof Promise
          ? work.catch((error: unknown) => again(call, next, { error, pace }))
          : work;
      };
    },
  };
}

interface Pace {
  readonly attempts: number;
  readonly delayMs: number;
  readonly maxDelayMs: number;
  readonly random: () => number;
  readonly deadlines: Deadlines;
}

interface Failure {
  readonly error: unknown;
  readonly pace: Pace;
}

async function again(call: ToolCall, next: Next, { error, pace }: Failure): Promise<Result> {
  let last = error;
  for (let attempt = 1; attempt < pace.attempts; attempt++) {
    const waitMs = isOutage(last) && mayGoOn(call) ? waitBefore(attempt, last, pace) : undefined;
    if (waitMs === undefined) throw last;
    await wait(waitMs, call, pace.deadlines);
    try {
      return await next(call);
    } catch (failure) {
      last = failure;
    }
  }
  throw last;
}

function isOutage(error: unknown): error is ToolcribError {
  return error instanceof ToolcribError && error.code === 'upstream_unavailable';
}

// Questions are counted within one run: a retry would ask them again.
function mayGoOn({ cancellation, interview }: Call): boolean {
  return !cancellation.reason && interview.asked === 0;
}

/** How long to wait before the next attempt; `undefined` if the failure asks for longer than the limit. */
function waitBefore(attempt: number, { data }: ToolcribError, pace: Pace): number | undefined {
  const longest = Math.min(pace.maxDelayMs, pace.delayMs * 2 ** (attempt - 1));
  const ownMs = longest * (0.5 + pace.random() / 2);
  const askedMs = data?.['retryAfterMs'];
  // A tool may pass any number, and NaN would be waited for without end.
  if (typeof askedMs !== 'number' || Number.isNaN(askedMs)) return ownMs;
  return askedMs > pace.maxDelayMs ? undefined : Math.max(ownMs, askedMs);
}

async function wait(ms: number, { cancellation }: Call, deadlines: Deadlines): Promise<void> {
  let stop!: () => void;
  const over = new Promise<void>((resolve) => {
    stop = deadlines.start(ms, resolve);
  });
  try {
    await cancellation.race(over);
  } finally {
    stop();
  }
}
