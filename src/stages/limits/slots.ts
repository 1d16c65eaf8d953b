import type { Caller } from '../../core/caller.ts';
import type { Clock } from '../../base/clock.ts';
import { CallCounts, type CallerCounts, type TenantCounts } from './call-counts.ts';

/** How many calls may be under way. */
export interface SlotLimits {
  readonly perCaller: number;
  readonly perTenant: number;
  /** A limit for one tool, over all callers. */
  readonly tool: { readonly name: string; readonly most: number } | undefined;
  /** How many calls of a tenant may wait. */
  readonly queue: number;
  /** Whether it uses the slot that another call has with caller and tenant. */
  readonly isLent?: boolean;
}

/** The limits and counts of one call. */
export interface Claim {
  readonly counts: CallerCounts;
  readonly limits: SlotLimits;
}

/** A call that waits for a slot. */
export interface Waiter {
  readonly claim: Claim;
  readonly turn: Promise<void>;
  /** Ends the wait with an error. */
  readonly giveUp: (error: Error) => void;
}

interface Queued extends Waiter {
  readonly start: () => void;
  hasSlot: boolean;
}

/** The running and waiting calls. A free slot goes to a waiting call before any new call can take it. */
export class Slots {
  readonly #counts: CallCounts;
  readonly #tools = new Map<string, number>();
  /** By tenant; the tenant that was served last is at the end. */
  readonly #queues = new Map<TenantCounts, Set<Queued>>();
  #running = 0;

  constructor(callCounts = new CallCounts()) {
    this.#counts = callCounts;
  }

  /** How many calls are under way. */
  get running(): number {
    return this.#running;
  }

  /** How many calls wait. */
  get waiting(): number {
    return [...this.#queues.values()].reduce((total, { size }) => total + size, 0);
  }

  /** The limits and counts of a call. */
  claim(caller: Caller, limits: SlotLimits, clock: Clock): Claim {
    return { counts: this.#counts.of(caller, clock), limits };
  }

  /** Takes a slot if one is free. */
  tryEnter({ counts, limits }: Claim): boolean {
    const { perCaller, perTenant, tool, isLent = false } = limits;
    const { tenant } = counts;
    const ofTool = tool ? (this.#tools.get(tool.name) ?? 0) : 0;
    if (!isLent && (counts.underWay >= perCaller || tenant.underWay >= perTenant)) return false;
    if (tool && ofTool >= tool.most) return false;
    if (!isLent) {
      counts.underWay++;
      tenant.underWay++;
    }
    this.#running++;
    if (tool) this.#tools.set(tool.name, ofTool + 1);
    return true;
  }

  /** Releases a slot. */
  leave({ counts, limits: { tool, isLent = false } }: Claim): void {
    const { tenant } = counts;
    if (!isLent) {
      counts.underWay--;
      tenant.underWay--;
    }
    this.#running--;
    if (tool) this.#tools.set(tool.name, this.#tools.get(tool.name)! - 1);
    if (this.#queues.size === 0) return;
    if (tool) this.#handOn(tool.name);
    this.#startFitting(tenant, undefined);
  }

  /** Queues a call, unless too many of its tenant wait already. */
  queueUp(claim: Claim): Waiter | undefined {
    const { counts } = claim;
    const queue = this.#queues.get(counts.tenant) ?? new Set<Queued>();
    if (queue.size >= claim.limits.queue) return undefined;
    let start!: () => void;
    let giveUp!: (error: Error) => void;
    const turn = new Promise<void>((resolve, reject) => {
      start = resolve;
      giveUp = reject;
    });
    const waiter: Queued = { claim, turn, start, giveUp, hasSlot: false };
    queue.add(waiter);
    counts.waiting++;
    this.#queues.set(counts.tenant, queue);
    return waiter;
  }

  /** Removes a call from the queue; if it got a slot meanwhile, the slot is released. */
  stepOut(waiter: Waiter): void {
    if ((waiter as Queued).hasSlot) this.leave(waiter.claim);
    else this.#unqueue(waiter as Queued);
  }

  // The free slot of a tool goes to the first waiting call that fits; otherwise all that fit start, in order.
  #startFitting(tenant: TenantCounts, tool: string | undefined): boolean {
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

  // Calls waiting for this tool may belong to any tenant; tenants take turns.
  #handOn(tool: string): void {
    for (const tenant of this.#queues.keys()) if (this.#startFitting(tenant, tool)) return;
  }

  #moveToEnd(tenant: TenantCounts): void {
    const queue = this.#queues.get(tenant);
    if (!queue) return;
    this.#queues.delete(tenant);
    this.#queues.set(tenant, queue);
  }

  #unqueue(waiter: Queued): void {
    const { counts } = waiter.claim;
    const queue = this.#queues.get(counts.tenant);
    if (!queue?.delete(waiter)) return;
    counts.waiting--;
    if (queue.size === 0) this.#queues.delete(counts.tenant);
  }
}
