import { tenantOf } from '../caller.ts';
import type { Amount, ShareLimits } from './limits.ts';
import { Shares } from './shares.ts';

interface Placed<T> {
  readonly owner: string;
  readonly bytes: number;
  readonly thing: T;
}

/**
 * Keeps things by id for many owners within limits. An owner over its limit loses its own oldest, or its tenant's;
 * where everything together is too much, the tenant that has most loses.
 */
export class BoundedMap<T> {
  readonly #shares: Shares;
  readonly #things = new Map<string, Placed<T>>();
  // The ids of each owner and of each tenant, the oldest first.
  readonly #owned = new Map<string, Set<string>>();
  readonly #onDrop: (id: string, thing: T) => void;

  constructor(
    limits: ShareLimits & { readonly total: Amount },
    onDrop: (id: string, thing: T) => void = () => {},
  ) {
    this.#shares = new Shares(limits);
    this.#onDrop = onDrop;
  }

  get(id: string): T | undefined {
    return this.#things.get(id)?.thing;
  }

  values(): T[] {
    return [...this.#things.values()].map(({ thing }) => thing);
  }

  /** Puts a thing of so many bytes in its place, or in a new one. */
  set(id: string, thing: T, { owner, bytes }: { readonly owner: string; readonly bytes: number }): void {
    const before = this.#things.get(id);
    this.#things.set(id, { owner, bytes, thing });
    this.#shares.add(owner, { rows: before ? 0 : 1, bytes: bytes - (before?.bytes ?? 0) });
    if (!before) for (const name of [owner, tenantOf(owner)]) this.#idsOf(name).add(id);
    this.#makeRoom(owner);
  }

  delete(id: string): boolean {
    const kept = this.#things.get(id);
    if (!kept) return false;
    this.#things.delete(id);
    this.#shares.add(kept.owner, { rows: -1, bytes: -kept.bytes });
    for (const name of [kept.owner, tenantOf(kept.owner)]) {
      const ids = this.#idsOf(name);
      ids.delete(id);
      if (ids.size === 0) this.#owned.delete(name);
    }
    return true;
  }

  #makeRoom(owner: string): void {
    for (let over = this.#shares.over(owner); over; over = this.#shares.over(owner)) {
      const loser =
        over === 'caller' ? owner : over === 'tenant' ? tenantOf(owner) : this.#shares.largestTenant();
      const [oldest] = loser === undefined ? [] : this.#idsOf(loser);
      if (oldest === undefined) return;
      const thing = this.get(oldest) as T;
      this.delete(oldest);
      this.#onDrop(oldest, thing);
    }
  }

  #idsOf(name: string): Set<string> {
    let ids = this.#owned.get(name);
    if (!ids) this.#owned.set(name, (ids = new Set()));
    return ids;
  }
}

/** Forgets the entry that was set longest ago where a map is full, so that one more can be set. */
export function makeRoomIn<K>(map: Map<K, unknown>, most: number): void {
  if (map.size >= most) map.delete(map.keys().next().value!);
}
