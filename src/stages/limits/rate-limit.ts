import { z } from 'zod';
import type { Caller } from '../../core/caller.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { absentTools } from '../../core/absent-tool.ts';
import { ToolcribError } from '../../base/errors.ts';
import { compileGlobTable } from '../../base/glob.ts';
import { rateOf, tooMany } from '../../base/rate.ts';
import { andThen, orElse, type Awaitable } from '../../base/awaitable.ts';
import type { Stage } from '../../core/stage.ts';
import { governedName, isDeclaredReadOnly } from '../../core/tool.ts';
import type { Quotas } from '../../store/store.ts';
import { Buckets, type Rates } from './buckets.ts';
import { DayQuotas } from './day-quotas.ts';

const count = z.int().min(1);

/** Rate limits. */
export const rateLimitOptions = z.strictObject({
  perMinute: count.default(600).describe('How many calls a minute each caller may make.'),
  perTenant: count
    .optional()
    .describe('How many calls a minute all callers of a tenant may make together; no limit unless set.'),
  perTool: z
    .record(z.string().min(1), count)
    .default({})
    .describe(
      'How many calls a minute each caller may make of a tool, by name or pattern such as "github.*".',
    ),
  burst: count
    .optional()
    .describe(
      'How many of its calls a caller may make at once, after a pause; as many as perMinute unless set.',
    ),
  perDay: count.optional().describe('How many calls a day, in UTC, each caller may make; needs a store.'),
  perTenantPerDay: count
    .optional()
    .describe('How many calls a day, in UTC, all callers of a tenant may make together; needs a store.'),
});

/** What the stage needs; the given buckets survive a reload. */
export interface RateLimitParts {
  readonly clock?: Clock;
  readonly buckets?: Buckets;
  /** Where daily counts are stored. */
  readonly quotas?: Quotas;
}

/** Refuses calls that come too often: per caller, per tenant, per tool and per day. */
export function rateLimit(options: z.input<typeof rateLimitOptions> = {}, parts: RateLimitParts = {}): Stage {
  const limits = rateLimitOptions.parse(options, { jitless: true });
  const { clock = systemClock, buckets = new Buckets() } = parts;
  const rateOfTool = compileGlobTable(limits.perTool);
  const everywhere: Rates = {
    caller: rateOf(limits.perMinute, limits.burst),
    tenant: limits.perTenant === undefined ? undefined : rateOf(limits.perTenant),
    tool: undefined,
  };
  const quotas = dayQuotas(limits, { clock, quotas: parts.quotas });
  const admit = (caller: Caller, rates: Rates, target: Target): Awaitable<void> => {
    const waitMs = buckets.take(caller, rates, clock);
    if (waitMs > 0)
      throw tooMany(buckets.isToolAlone(caller, rates, clock) ? target.own : target.all, waitMs);
    if (quotas) return takeFromDay(quotas, caller, { target, buckets });
  };
  return {
    name: 'rateLimit',
    wrap(tool, next) {
      const name = governedName(tool);
      const perTool = absentTools.has(tool) ? undefined : rateOfTool(name);
      const rates: Rates =
        perTool === undefined
          ? everywhere
          : {
              ...everywhere,
              tool: { name, ...rateOf(perTool, Math.min(perTool, limits.burst ?? perTool)) },
            };
      const changesNothing = isDeclaredReadOnly(tool);
      const target: Target = { own: `calls of ${tool.name}`, all: 'calls', changesNothing };
      return (call) => {
        // A resumed call was counted when it started; but a read-only one may be resumed from the same state many
        // times.
        if (call.record.isResumed && !target.changesNothing) return next(call);
        const admitted = admit(call.caller, rates, target);
        return admitted instanceof Promise ? admitted.then(() => next(call)) : next(call);
      };
    },
    wrapReading: (next) => (call) => {
      const admitted = admit(call.caller, everywhere, READING);
      return admitted instanceof Promise ? admitted.then(() => next(call)) : next(call);
    },
  };
}

interface Target {
  /** Names for a refusal: of the target alone, and of all calls of the caller. */
  readonly own: string;
  readonly all: string;
  readonly changesNothing: boolean;
}

const READING: Target = { own: 'requests', all: 'requests', changesNothing: true };

function dayQuotas(
  { perDay, perTenantPerDay }: z.output<typeof rateLimitOptions>,
  { clock, quotas }: { readonly clock: Clock; readonly quotas: Quotas | undefined },
): DayQuotas | undefined {
  if (perDay === undefined && perTenantPerDay === undefined) return undefined;
  if (quotas) return new DayQuotas({ perDay, perTenantPerDay }, { clock, quotas });
  throw new ToolcribError(
    'invalid_setup',
    'rateLimit: perDay and perTenantPerDay are counted in a store; pass quotas, or leave them out.',
  );
}

// If the store of the quota fails, read-only calls pass and are counted as unmetered; all others are refused.
function takeFromDay(
  quotas: DayQuotas,
  caller: Caller,
  { target, buckets }: { readonly target: Target; readonly buckets: Buckets },
): Awaitable<void> {
  const waitMs = orElse(
    () => quotas.take(caller),
    (cause) => {
      if (!target.changesNothing)
        throw new ToolcribError(
          'record_unavailable',
          'The quota cannot be counted right now, so nothing was done; try again later.',
          { cause },
        );
      buckets.unmetered++;
      return 0;
    },
  );
  return andThen(waitMs, (ms) => {
    if (ms > 0) throw tooMany(target.all, ms);
  });
}
