import type { Caller } from '../core/caller.ts';
import { ownerOf } from '../core/digest.ts';

/** How fast something may go. */
export interface Rate {
  /** How far apart calls are when they come evenly. */
  readonly everyMs: number;
  /** How much time calls may use up in advance: the length of a burst. */
  readonly aheadMs: number;
}

/** The rates a call has to keep to, all at once. */
export interface Rates {
  readonly caller: Rate;
  readonly tenant: Rate | undefined;
  readonly tool: (Rate & { readonly name: string }) | undefined;
}

// Adding up fractions of a millisecond must not cost the last call of a burst.
const SLACK = 1e-5;
const SWEEPS_PER_NEWCOMER = 2;
// To take out whoever calls now and then, and in again with the next call, costs more than to keep it.
const KEPT_MS = 10_000;

/**
 * The rates of all callers: for each one the moment up to which its time is used up. That moment is counted from a clock that never goes back,
 * so that setting the time gives nobody anything.
 */
export class Buckets {
  readonly #usedUntil = new Map<string, Moment>();
  #sweeper = this.#usedUntil.entries();
  /** How many calls went on without being counted, because the store of the quotas did not answer. */
  unmetered = 0;

  /** How many rates are being watched. */
  get size(): number {
    return this.#usedUntil.size;
  }

  /** Counts a call and returns 0; or, where a rate is exceeded, counts nothing and returns how long to wait. */
  take(caller: Caller, { caller: own, tenant, tool }: Rates, now: number): number {
    const ownKey = ownerOf(caller);
    const ownMoment = this.#usedUntil.get(ownKey);
    const ownUsed = usedOf(ownMoment, now);
    let waitMs = excess(own, ownUsed, now);
    // A caller's own key starts with a digit, so none of these can be somebody's.
    const tenantKey = tenant ? `tenant/${caller.tenant.id}` : '';
    const tenantMoment = tenant && this.#usedUntil.get(tenantKey);
    const tenantUsed = usedOf(tenantMoment, now);
    if (tenant) waitMs = Math.max(waitMs, excess(tenant, tenantUsed, now));
    const toolKey = tool ? `tool/${tool.name.length}:${tool.name}/${ownKey}` : '';
    const toolMoment = tool && this.#usedUntil.get(toolKey);
    const toolUsed = usedOf(toolMoment, now);
    if (tool) waitMs = Math.max(waitMs, excess(tool, toolUsed, now));
    if (waitMs > 0) return waitMs;

    const before = this.#usedUntil.size;
    this.#put(ownKey, ownMoment, ownUsed + own.everyMs);
    if (tenant) this.#put(tenantKey, tenantMoment, tenantUsed + tenant.everyMs);
    if (tool) this.#put(toolKey, toolMoment, toolUsed + tool.everyMs);
    const newcomers = this.#usedUntil.size - before;
    if (newcomers > 0) this.#sweep(now, newcomers * SWEEPS_PER_NEWCOMER);
    return 0;
  }

  #put(key: string, moment: Moment | undefined, at: number): void {
    if (moment) moment.at = at;
    else this.#usedUntil.set(key, { at });
  }

  // Each newcomer pays for looking at two others, so that nobody ever pays for looking at all of them.
  #sweep(now: number, steps: number): void {
    for (let left = steps; left > 0; left--) {
      const next = this.#sweeper.next();
      if (next.done) {
        this.#sweeper = this.#usedUntil.entries();
        return;
      }
      const [key, { at }] = next.value;
      if (at + KEPT_MS <= now) this.#usedUntil.delete(key);
    }
  }
}

// Changed in place: a new number for every call would live long enough to be moved about, once there are many callers.
interface Moment {
  at: number;
}

function usedOf(moment: Moment | undefined, now: number): number {
  return moment === undefined || moment.at < now ? now : moment.at;
}

function excess({ everyMs, aheadMs }: Rate, used: number, now: number): number {
  const ms = used + everyMs - now - aheadMs;
  return ms > everyMs * SLACK ? ms : 0;
}
