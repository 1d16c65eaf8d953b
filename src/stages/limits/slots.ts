import type { Caller } from '../../core/caller.ts';
import type { Clock } from '../../base/clock.ts';
import { Accounts, type Account, type TenantAccount } from './accounts.ts';

/** How many calls may be under way. */
export interface SlotLimits {
  readonly perCaller: number;
  readonly perTenant: number;
  /** Of one tool, by everybody together. */
  readonly tool: { readonly name: string; readonly most: number } | undefined;
  /** How many calls of a tenant may wait. */
  readonly queue: number;
}

/** What one call asks for. */
export interface Claim {
  readonly account: Account;
  readonly limits: SlotLimits;
}

/** A call that waits for its turn. */
export interface Waiter {
  readonly claim: Claim;
  readonly turn: Promise<void>;
  /** Ends the waiting with an error. */
  readonly giveUp: (error: Error) => void;
}

interface Queued extends Waiter {
  readonly start: () => void;
  hasSlot: boolean;
}

/** Which calls are under way, and which wait. A slot that becomes free goes to whoever waits before anybody new can take it. */
export class Slots {
  readonly #accounts: Accounts;
  readonly #tools = new Map<string, number>();
  /** By tenant; the tenant that was served last is at the end. */
  readonly #queues = new Map<TenantAccount, Set<Queued>>();
  #running = 0;

  constructor(accounts = new Accounts()) {
    this.#accounts = accounts;
  }

  /** How many calls are under way. */
  get running(): number {
    return this.#running;
  }

  /** How many calls wait. */
  get waiting(): number {
    return [...this.#queues.values()].reduce((total, { size }) => total + size, 0);
  }

  /** What a call of a caller asks for. */
  claim(caller: Caller, limits: SlotLimits, clock: Clock): Claim {
    return { account: this.#accounts.of(caller, clock), limits };
  }

  /** Takes a slot if there is one. */
  tryEnter({ account, limits }: Claim): boolean {
    const { perCaller, perTenant, tool } = limits;
    const { tenant } = account;
    const ofTool = tool ? (this.#tools.get(tool.name) ?? 0) : 0;
    if (account.underWay >= perCaller || tenant.underWay >= perTenant || (tool && ofTool >= tool.most))
      return false;
    account.underWay++;
    tenant.underWay++;
    this.#running++;
    if (tool) this.#tools.set(tool.name, ofTool + 1);
    return true;
  }

  /** Gives a slot back. */
  leave({ account, limits: { tool } }: Claim): void {
    const { tenant } = account;
    account.underWay--;
    tenant.underWay--;
    this.#running--;
    if (tool) this.#tools.set(tool.name, this.#tools.get(tool.name)! - 1);
    if (this.#queues.size === 0) return;
    if (tool) this.#handOn(tool.name);
    this.#startFitting(tenant, undefined);
  }

  /** Lets a call wait for its turn, unless too many of its tenant do already. */
  queueUp(claim: Claim): Waiter | undefined {
    const { account } = claim;
    const queue = this.#queues.get(account.tenant) ?? new Set<Queued>();
    if (queue.size >= claim.limits.queue) return undefined;
    let start!: () => void;
    let giveUp!: (error: Error) => void;
    const turn = new Promise<void>((resolve, reject) => {
      start = resolve;
      giveUp = reject;
    });
    const waiter: Queued = { claim, turn, start, giveUp, hasSlot: false };
    queue.add(waiter);
    account.waiting++;
    this.#queues.set(account.tenant, queue);
    return waiter;
  }

  /** Takes a call out of the line; had its turn come in the meantime, the slot is given back. */
  stepOut(waiter: Waiter): void {
    if ((waiter as Queued).hasSlot) this.leave(waiter.claim);
    else this.#unqueue(waiter as Queued);
  }

  // Of a tool there is one slot to hand on, to the first who fits; otherwise all who fit start, the first in line first.
  #startFitting(tenant: TenantAccount, tool: string | undefined): boolean {
    for (const waiter of this.#queues.get(tenant) ?? []) {
      if (tool !== undefined && waiter.claim.limits.tool?.name !== tool) continue;
      if (!this.tryEnter(waiter.claim)) continue;
      waiter.hasSlot = true;
      this.#unqueue(waiter);
      waiter.start();
      if (tool === undefined) continue;
      this.#moveToEnd(tenant);
      return true;
    }
    return false;
  }

  // Whoever waits for this tool may be of any tenant; tenants take turns.
  #handOn(tool: string): void {
    for (const tenant of this.#queues.keys()) if (this.#startFitting(tenant, tool)) return;
  }

  #moveToEnd(tenant: TenantAccount): void {
    const queue = this.#queues.get(tenant);
    if (!queue) return;
    this.#queues.delete(tenant);
    this.#queues.set(tenant, queue);
  }

  #unqueue(waiter: Queued): void {
    const { account } = waiter.claim;
    const queue = this.#queues.get(account.tenant);
    if (!queue?.delete(waiter)) return;
    account.waiting--;
    if (queue.size === 0) this.#queues.delete(account.tenant);
  }
}
