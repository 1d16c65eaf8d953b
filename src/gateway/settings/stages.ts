import { z } from 'zod';
import { approveOptions } from '../../stages/approve/approve.ts';
import { auditOptions } from '../../stages/record/audit.ts';
import { cacheOptions } from '../../stages/cache/cache.ts';
import { circuitBreakOptions } from '../../stages/limits/circuit-break.ts';
import { concurrencyOptions } from '../../stages/limits/concurrency.ts';
import { idempotencyOptions } from '../../stages/idempotency.ts';
import { metricsOptions } from '../../stages/metrics.ts';
import { pinOptions } from '../../stages/pin/pin.ts';
import { rateLimitOptions } from '../../stages/limits/rate-limit.ts';
import { retryOptions } from '../../stages/retry.ts';
import { sanitizeInputOptions } from '../../stages/cleaning/sanitize-input.ts';
import { sanitizeOptions } from '../../stages/cleaning/sanitize.ts';
import { timeoutOptions } from '../../stages/timeout.ts';
import { traceOptions } from '../../stages/trace-options.ts';

/**
 * `stages`: what is done to every call; `false` switches a stage off, and a stage that is left out has its defaults.
 */
export const stagesSection = z.strictObject({
  trace: off(traceOptions, 'Makes a span of each call for OpenTelemetry.'),
  metrics: on(metricsOptions, 'Counts calls and measures how long they take.'),
  audit: on(auditOptions, 'Keeps a record of every call; only a server without `auth` may do without.'),
  rateLimit: on(rateLimitOptions, 'Limits how often a caller may call.'),
  sanitizeInput: on(sanitizeInputOptions, 'Cleans arguments before they are checked.'),
  idempotency: on(idempotencyOptions, 'Runs a call that carries a key only once.'),
  approve: off(approveOptions, 'Lets destructive tools run only when somebody agreed to the call.'),
  cache: on(cacheOptions, 'Keeps results of read-only tools that ask for it.'),
  sanitize: on(sanitizeOptions, 'Cleans results, takes secrets out of them and bounds their size.'),
  circuitBreak: on(circuitBreakOptions, 'Refuses calls of a tool that keeps failing, for a while.'),
  concurrency: on(concurrencyOptions, 'Limits how many calls run at once.'),
  retry: on(retryOptions, 'Tries again what failed in passing and changes nothing.'),
  timeout: on(timeoutOptions, 'Ends a call that takes too long.'),
  pin: on(pinOptions, 'Holds tools of other servers whose definition is new or has changed.'),
});

// The options are validated by the stage's own declaration, which has a default for every key.
function on<T extends z.ZodObject>(options: T, description: string) {
  return z
    .union([z.literal(false), options])
    .prefault({} as never)
    .describe(description);
}

function off<T extends z.ZodObject>(options: T, description: string) {
  return z
    .union([z.literal(false), options])
    .default(false)
    .describe(description);
}
