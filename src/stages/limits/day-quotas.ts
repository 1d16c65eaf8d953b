import type { Caller } from '../../core/caller.ts';
import type { Clock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { ownerOf } from '../../core/caller.ts';
import { andThen, orElse, type Awaitable } from '../../base/awaitable.ts';
import type { Quotas } from '../../store/store.ts';

/** Daily limits. */
export interface DayLimits {
  readonly perDay: number | undefined;
  readonly perTenantPerDay: number | undefined;
}

/** What counting per day needs. */
export interface DayQuotaParts {
  readonly clock: Clock;
  readonly quotas: Quotas;
}

const DAY_MS = 86_400_000;
const LONGEST_WAIT_MS = 1_000;
// After a failure the store is not asked for a moment, so that not every call waits for it.
const REST_MS = 1_000;

/** Counts the calls of callers and tenants per day (UTC). */
export class DayQuotas {
  readonly #limits: DayLimits;
  readonly #quotas: Quotas;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  #restsUntil = -Infinity;

  constructor(limits: DayLimits, { clock, quotas }: DayQuotaParts) {
    this.#limits = limits;
    this.#quotas = quotas;
    this.#clock = clock;
    this.#deadlines = new Deadlines(clock);
  }

  /**
   * Counts a call and returns 0, or how long to wait if the daily quota is used up. Fails if the store does not answer.
   */
  take(caller: Caller): Awaitable<number> {
    const { perDay, perTenantPerDay } = this.#limits;
    // The caller's own quota comes first: a caller over its quota must not use up the tenant's.
    return andThen(this.#check(`caller/${ownerOf(caller)}`, perDay), (waitMs) =>
      waitMs > 0 ? waitMs : this.#check(`tenant/${caller.tenant.id}`, perTenantPerDay),
    );
  }

  #check(name: string, limit: number | undefined): Awaitable<number> {
    if (limit === undefined) return 0;
    const now = this.#clock.now();
    const startsAt = now - (now % DAY_MS);
    const endsAt = startsAt + DAY_MS;
    if (this.#clock.ticks() < this.#restsUntil)
      throw new Error('The store of the quotas failed a moment ago.');
    const taken = orElse(
      () => this.#bound(this.#quotas.take(name, { startsAt, endsAt })),
      (error) => {
        this.#restsUntil = this.#clock.ticks() + REST_MS;
        throw error;
      },
    );
    return andThen(taken, (count) => (count > limit ? endsAt - now : 0));
  }

  #bound(taken: Awaitable<number>): Awaitable<number> {
    if (!(taken instanceof Promise)) return taken;
    return new Promise((resolve, reject) => {
      const stop = this.#deadlines.start(LONGEST_WAIT_MS, () =>
        reject(new Error(`The store of the quotas took over ${LONGEST_WAIT_MS} ms.`)),
      );
      taken.finally(stop).then(resolve, reject);
    });
  }
}
