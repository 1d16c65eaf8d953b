import { createApiKey, hashKey } from '../../src/auth/api-key.ts';
import type { Identities, KeyRecord, TenantRecord } from '../../src/core/memory/identities.ts';

/** The pepper of every test. */
export const pepper = 'a pepper of more than thirty-two bytes';

/** Keys and tenants in a map, with a count of the questions asked and a way to break. */
export class MapIdentities implements Identities {
  readonly keys = new Map<string, KeyRecord>();
  readonly tenants = new Map<string, TenantRecord>();
  readonly touched: { ids: readonly string[]; at: number }[] = [];
  lookups = 0;
  isDown = false;
  /** Answers later, as a store over the network does. */
  isFar = false;
  readonly #listeners = new Set<() => void>();

  constructor(...tenants: readonly string[]) {
    for (const id of tenants) this.putTenant({ id });
  }

  /** Keeps a key and returns it; only its hash is kept. */
  addKey({ key = createApiKey(), ...record }: Partial<KeyRecord> & { readonly key?: string } = {}): string {
    const hash = hashKey(key, pepper);
    this.keys.set(hash, {
      id: `key-${this.keys.size + 1}`,
      hash,
      tenant: 'north',
      caller: 'ada',
      scopes: [],
      roles: [],
      createdAt: 0,
      expiresAt: undefined,
      revokedAt: undefined,
      lastUsedAt: undefined,
      ...record,
    });
    return key;
  }

  /** Changes a key; notifies watchers, except with `quietly`. */
  changeKey(key: string, change: Partial<KeyRecord>, { quietly = false } = {}): void {
    const hash = hashKey(key, pepper);
    this.keys.set(hash, { ...this.keys.get(hash)!, ...change });
    if (!quietly) this.tell();
  }

  putTenant(tenant: Partial<TenantRecord> & { readonly id: string }): void {
    this.tenants.set(tenant.id, { name: tenant.id, data: {}, disabled: false, ...tenant });
    this.tell();
  }

  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  findKey(hash: string): ReturnType<Identities['findKey']> {
    return this.#answer(() => {
      const key = this.keys.get(hash);
      return key && { key, tenant: this.tenants.get(key.tenant) };
    });
  }

  findTenant(id: string): ReturnType<Identities['findTenant']> {
    return this.#answer(() => this.tenants.get(id));
  }

  touch(ids: readonly string[], at: number): void {
    this.touched.push({ ids, at });
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #answer<T>(find: () => T): T | Promise<T> {
    this.lookups++;
    if (this.isDown) return Promise.reject(new Error('The store is down.'));
    return this.isFar ? Promise.resolve(find()) : find();
  }
}
