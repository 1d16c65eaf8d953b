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
  readonly caller: string;
  readonly tenant: string;
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
  readonly #callers = new Map<string, number>();
  readonly #tenants = new Map<string, number>();
  readonly #tools = new Map<string, number>();
  /** By tenant; the tenant that was served last is at the end. */
  readonly #queues = new Map<string, Set<Queued>>();

  /** How many calls are under way. */
  get running(): number {
    return sum(this.#tenants.values());
  }

  /** How many calls wait. */
  get waiting(): number {
    return sum([...this.#queues.values()].map(({ size }) => size));
  }

  /** Takes a slot if there is one. */
  tryEnter({ caller, tenant, limits }: Claim): boolean {
    const { perCaller, perTenant, tool } = limits;
    const ofCaller = this.#callers.get(caller) ?? 0;
    const ofTenant = this.#tenants.get(tenant) ?? 0;
    const ofTool = tool ? (this.#tools.get(tool.name) ?? 0) : 0;
    if (ofCaller >= perCaller || ofTenant >= perTenant || (tool && ofTool >= tool.most)) return false;
    this.#callers.set(caller, ofCaller + 1);
    this.#tenants.set(tenant, ofTenant + 1);
    if (tool) this.#tools.set(tool.name, ofTool + 1);
    return true;
  }

  /** Gives a slot back. */
  leave({ caller, tenant, limits: { tool } }: Claim): void {
    giveBack(this.#callers, caller);
    giveBack(this.#tenants, tenant);
    if (tool) giveBack(this.#tools, tool.name);
    if (this.#queues.size === 0) return;
    if (tool) this.#handOn(tool.name);
    this.#startFitting(tenant, undefined);
  }

  /** Lets a call wait for its turn, unless too many of its tenant do already. */
  queueUp(claim: Claim): Waiter | undefined {
    const queue = this.#queues.get(claim.tenant) ?? new Set<Queued>();
    if (queue.size >= claim.limits.queue) return undefined;
    let start!: () => void;
    let giveUp!: (error: Error) => void;
    const turn = new Promise<void>((resolve, reject) => {
      start = resolve;
      giveUp = reject;
    });
    const waiter: Queued = { claim, turn, start, giveUp, hasSlot: false };
    queue.add(waiter);
    this.#queues.set(claim.tenant, queue);
    return waiter;
  }

  /** Takes a call out of the line; had its turn come in the meantime, the slot is given back. */
  stepOut(waiter: Waiter): void {
    if ((waiter as Queued).hasSlot) this.leave(waiter.claim);
    else this.#unqueue(waiter as Queued);
  }

  // Of a tool there is one slot to hand on, to the first who fits; otherwise all who fit start, the first in line first.
  #startFitting(tenant: string, tool: string | undefined): boolean {
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

  #moveToEnd(tenant: string): void {
    const queue = this.#queues.get(tenant);
    if (!queue) return;
    this.#queues.delete(tenant);
    this.#queues.set(tenant, queue);
  }

  #unqueue(waiter: Queued): void {
    const { tenant } = waiter.claim;
    const queue = this.#queues.get(tenant);
    queue?.delete(waiter);
    if (queue?.size === 0) this.#queues.delete(tenant);
  }
}

const KEPT = 10_000;

function giveBack(counts: Map<string, number>, key: string): void {
  const left = (counts.get(key) ?? 0) - 1;
  // To take a key out and in again for every call costs more than to keep it.
  if (left > 0 || counts.size <= KEPT) counts.set(key, left);
  else counts.delete(key);
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
