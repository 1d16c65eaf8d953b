import { tenantOf } from '../caller.ts';
import type { Amount, ShareLimits } from './limits.ts';

/** Counts the stored bytes for each caller, each tenant and in all. */
export class Shares {
  readonly #limits: ShareLimits & { readonly total: Amount };
  readonly #callers = new Map<string, Held>();
  readonly #tenants = new Map<string, Held>();
  readonly #total: Held = { rows: 0, bytes: 0 };

  constructor(limits: ShareLimits & { readonly total: Amount }) {
    this.#limits = limits;
  }

  /** Adds to what is kept for an owner, or takes from it. */
  add(owner: string, { rows, bytes }: Amount): void {
    change(this.#callers, owner, { rows, bytes });
    change(this.#tenants, tenantOf(owner), { rows, bytes });
    this.#total.rows += rows;
    this.#total.bytes += bytes;
  }

  /** Whose share is exceeded with what an owner has and so much more: its own, its tenant's, or that of all. */
  over(owner: string, more: Amount = NOTHING): 'caller' | 'tenant' | 'total' | undefined {
    const { caller, tenant, total } = this.#limits;
    if (isOver(this.#callers.get(owner), more, caller)) return 'caller';
    if (isOver(this.#tenants.get(tenantOf(owner)), more, tenant)) return 'tenant';
    return isOver(this.#total, more, total) ? 'total' : undefined;
  }

  /** The tenant that has the largest part of what there may be. */
  largestTenant(): string | undefined {
    const { rows, bytes } = this.#limits.total;
    let largest: string | undefined;
    let most = 0;
    for (const [tenant, held] of this.#tenants) {
      const part = Math.max(held.rows / rows, held.bytes / bytes);
      if (part > most) [largest, most] = [tenant, part];
    }
    return largest;
  }
}

interface Held {
  rows: number;
  bytes: number;
}

const NOTHING: Amount = { rows: 0, bytes: 0 };

function change(all: Map<string, Held>, name: string, { rows, bytes }: Amount): void {
  let held = all.get(name);
  if (!held) all.set(name, (held = { rows: 0, bytes: 0 }));
  held.rows += rows;
  held.bytes += bytes;
  if (held.rows <= 0 && held.bytes <= 0) all.delete(name);
}

function isOver(held: Held | undefined, more: Amount, limit: Amount): boolean {
  const { rows, bytes } = held ?? NOTHING;
  return rows + more.rows > limit.rows || bytes + more.bytes > limit.bytes;
}
