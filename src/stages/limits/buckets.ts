import type { Caller } from '../../core/caller.ts';
import type { Clock } from '../../base/clock.ts';
import { excess, type Rate } from '../../base/rate.ts';
import { CallCounts } from './call-counts.ts';

/** The rates that apply to a call. */
export interface Rates {
  readonly caller: Rate;
  readonly tenant: Rate | undefined;
  readonly tool: (Rate & { readonly name: string }) | undefined;
}

/** The rates of all callers: for each one the time up to which its rate is used. */
export class Buckets {
  readonly #counts: CallCounts;
  /** How many calls passed uncounted because the store of the quotas failed. */
  unmetered = 0;

  constructor(callCounts = new CallCounts()) {
    this.#counts = callCounts;
  }

  /** Counts a call and returns 0; or, if a rate is exceeded, counts nothing and returns how long to wait. */
  take(caller: Caller, { caller: own, tenant, tool }: Rates, clock: Clock): number {
    const counts = this.#counts.of(caller, clock);
    const now = clock.ticks();
    const used = Math.max(counts.usedUntil, now);
    const tenantUsed = tenant ? Math.max(counts.tenant.usedUntil, now) : now;
    const toolUsed = tool ? Math.max(counts.toolsUsedUntil?.get(tool.name) ?? now, now) : now;
    let waitMs = excess(own, used, now);
    if (tenant) waitMs = Math.max(waitMs, excess(tenant, tenantUsed, now));
    if (tool) waitMs = Math.max(waitMs, excess(tool, toolUsed, now));
    if (waitMs > 0) return waitMs;

    counts.usedUntil = used + own.everyMs;
    if (tenant) counts.tenant.usedUntil = tenantUsed + tenant.everyMs;
    if (tool) (counts.toolsUsedUntil ??= new Map()).set(tool.name, toolUsed + tool.everyMs);
    return 0;
  }

  /** Whether only the rate of the tool is exceeded: calls of other tools would pass. */
  isToolAlone(caller: Caller, { caller: own, tenant, tool }: Rates, clock: Clock): boolean {
    const { usedUntil, tenant: all } = this.#counts.of(caller, clock);
    const now = clock.ticks();
    const isFree = (rate: Rate, used: number): boolean => excess(rate, Math.max(used, now), now) === 0;
    return tool !== undefined && isFree(own, usedUntil) && (!tenant || isFree(tenant, all.usedUntil));
  }
}
