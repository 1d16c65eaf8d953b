import type { Caller } from '../../core/caller.ts';
import { CallerMemory } from '../../core/caller-memory.ts';
import type { Clock } from '../../base/clock.ts';
import { ownerOf } from '../../core/caller.ts';

/** Counts for all callers of a tenant together. */
export interface TenantAccount {
  readonly id: string;
  /** The time up to which its rate is used. */
  usedUntil: number;
  /** How many of its calls are under way. */
  underWay: number;
  /** How many of its callers have an account. */
  members: number;
}

/** Counts for one caller, whichever credential it uses. */
export interface Account {
  readonly owner: string;
  readonly tenant: TenantAccount;
  /** The time up to which its rate is used. */
  usedUntil: number;
  /** The same for tools with a rate of their own. */
  toolsUsedUntil: Map<string, number> | undefined;
  underWay: number;
  waiting: number;
  /** Closed after being idle; the caller may have another account by now. */
  isClosed: boolean;
}

const SWEEPS_PER_NEWCOMER = 2;
// Closing the account of an occasional caller and opening it again would cost more than keeping it.
const KEPT_MS = 10_000;

/**
 * The accounts of all callers. One lookup finds all counts: with many callers, each further lookup is a cache miss.
 * Times come from a monotonic clock, so that setting the time has no effect.
 */
export class Accounts {
  readonly #byOwner = new Map<string, Account>();
  readonly #tenants = new Map<string, TenantAccount>();
  readonly #known = new CallerMemory<Account>('account');
  #sweeper = this.#byOwner.values();

  /** How many callers have an account. */
  get size(): number {
    return this.#byOwner.size;
  }

  /** The account of a caller. */
  of(caller: Caller, clock: Clock): Account {
    const known = this.#known.get(caller);
    if (known && !known.isClosed) return known;
    const owner = ownerOf(caller);
    const account = this.#byOwner.get(owner) ?? this.#open(owner, caller, clock.ticks());
    this.#known.set(caller, account);
    return account;
  }

  #open(owner: string, caller: Caller, now: number): Account {
    const { id } = caller.tenant;
    let tenant = this.#tenants.get(id);
    if (!tenant) this.#tenants.set(id, (tenant = { id, usedUntil: now, underWay: 0, members: 0 }));
    const account: Account = {
      owner,
      tenant,
      usedUntil: now,
      toolsUsedUntil: undefined,
      underWay: 0,
      waiting: 0,
      isClosed: false,
    };
    tenant.members++;
    this.#byOwner.set(owner, account);
    this.#sweep(now);
    return account;
  }

  // Each new caller checks two others, so that no call ever checks all of them.
  #sweep(now: number): void {
    for (let left = SWEEPS_PER_NEWCOMER; left > 0; left--) {
      const next = this.#sweeper.next();
      if (next.done) {
        this.#sweeper = this.#byOwner.values();
        return;
      }
      if (isIdle(next.value, now)) this.#close(next.value);
    }
  }

  #close(account: Account): void {
    const { owner, tenant } = account;
    account.isClosed = true;
    this.#byOwner.delete(owner);
    if (--tenant.members === 0) this.#tenants.delete(tenant.id);
  }
}

// The last caller of a tenant is kept while the tenant has counts.
function isIdle({ tenant, usedUntil, toolsUsedUntil, underWay, waiting }: Account, now: number): boolean {
  if (underWay > 0 || waiting > 0) return false;
  const moments = [usedUntil, ...(toolsUsedUntil?.values() ?? [])];
  if (tenant.members === 1) moments.push(tenant.usedUntil);
  return moments.every((moment) => moment + KEPT_MS <= now);
}
