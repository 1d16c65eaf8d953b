import type { Caller } from '../../core/caller.ts';
import { CallerMemory } from '../../core/caller-memory.ts';
import type { Clock } from '../../base/clock.ts';
import { ownerOf } from '../../core/caller.ts';

/** Counts for all callers of a tenant together. */
export interface TenantCounts {
  readonly id: string;
  /** The time up to which its rate is used. */
  usedUntil: number;
  /** How many of its calls are under way. */
  underWay: number;
  /** How many of its callers are counted. */
  members: number;
}

/** Counts for one caller, whichever credential it uses. */
export interface CallerCounts {
  readonly owner: string;
  readonly tenant: TenantCounts;
  /** The time up to which its rate is used. */
  usedUntil: number;
  /** The same for tools with a rate of their own. */
  toolsUsedUntil: Map<string, number> | undefined;
  underWay: number;
  waiting: number;
  /** Forgotten after being idle; the caller may have new counts by now. */
  isForgotten: boolean;
}

const SWEEPS_PER_NEWCOMER = 2;
// Forgetting the counts of an occasional caller and making them again would cost more than keeping them.
const KEPT_MS = 10_000;

/**
 * The counts of all callers. One lookup finds all of one: with many callers, each further lookup is a cache miss.
 * Times come from a monotonic clock, so that setting the time has no effect.
 */
export class CallCounts {
  readonly #byOwner = new Map<string, CallerCounts>();
  readonly #tenants = new Map<string, TenantCounts>();
  readonly #known = new CallerMemory<CallerCounts>('counts');
  #sweeper = this.#byOwner.values();

  /** How many callers are counted. */
  get size(): number {
    return this.#byOwner.size;
  }

  /** The counts of a caller. */
  of(caller: Caller, clock: Clock): CallerCounts {
    const known = this.#known.get(caller);
    if (known && !known.isForgotten) return known;
    const owner = ownerOf(caller);
    const counts = this.#byOwner.get(owner) ?? this.#begin(owner, caller, clock.ticks());
    this.#known.set(caller, counts);
    return counts;
  }

  #begin(owner: string, caller: Caller, now: number): CallerCounts {
    const { id } = caller.tenant;
    let tenant = this.#tenants.get(id);
    if (!tenant) this.#tenants.set(id, (tenant = { id, usedUntil: now, underWay: 0, members: 0 }));
    const counts: CallerCounts = {
      owner,
      tenant,
      usedUntil: now,
      toolsUsedUntil: undefined,
      underWay: 0,
      waiting: 0,
      isForgotten: false,
    };
    tenant.members++;
    this.#byOwner.set(owner, counts);
    this.#sweep(now);
    return counts;
  }

  // Each new caller checks two others, so that no call ever checks all of them.
  #sweep(now: number): void {
    for (let left = SWEEPS_PER_NEWCOMER; left > 0; left--) {
      const next = this.#sweeper.next();
      if (next.done) {
        this.#sweeper = this.#byOwner.values();
        return;
      }
      if (isIdle(next.value, now)) this.#forget(next.value);
    }
  }

  #forget(counts: CallerCounts): void {
    const { owner, tenant } = counts;
    counts.isForgotten = true;
    this.#byOwner.delete(owner);
    if (--tenant.members === 0) this.#tenants.delete(tenant.id);
  }
}

// The last caller of a tenant is kept while the tenant has counts.
function isIdle(
  { tenant, usedUntil, toolsUsedUntil, underWay, waiting }: CallerCounts,
  now: number,
): boolean {
  if (underWay > 0 || waiting > 0) return false;
  const moments = [usedUntil, ...(toolsUsedUntil?.values() ?? [])];
  if (tenant.members === 1) moments.push(tenant.usedUntil);
  return moments.every((moment) => moment + KEPT_MS <= now);
}
