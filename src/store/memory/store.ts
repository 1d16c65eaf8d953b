import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { KeyRecord, TenantRecord } from '../../core/memory/identities.ts';
import type { Memory } from '../../core/memory/memory.ts';
import type { Reservation } from '../../core/memory/memory.ts';
import { InMemoryApprovals } from './approvals.ts';
import { InMemoryPins } from './pins.ts';
import { InMemoryReservations } from './reservations.ts';
import type { Committed, Entry, IdentityStore, Journal, Quotas, Store } from '../store.ts';

const MAX_ENTRIES = 100_000;
const MAX_WINDOWS = 100_000;
const MINUTE_MS = 60_000;

/** A store whose journal can be read. */
export interface InMemoryStore extends Store {
  /** The newest rows of the journal, in the order they were written. */
  readonly entries: readonly Entry[];
}

/** What an in-memory store is made of. */
export interface InMemoryStoreParts {
  readonly clock?: Clock;
  readonly memory: Memory;
}

/**
 * Keeps everything in this process, for tests and for servers without a database: nothing survives a restart, and its
 * size is bounded.
 */
export function createInMemoryStore({ memory, clock = systemClock }: InMemoryStoreParts): InMemoryStore {
  const entries: Entry[] = [];
  const reservations = new InMemoryReservations(clock);
  const approvals = new InMemoryApprovals(clock, (row) => void journal.append(row));
  const journal: InMemoryJournal = new InMemoryJournal(entries, reservations, approvals);
  return {
    entries,
    journal,
    reservations,
    approvals,
    quotas: createQuotas(clock),
    identities: createIdentities(),
    pins: new InMemoryPins((row) => void journal.append(row)),
    memory,
    close: async () => journal.close(),
  };
}

class InMemoryJournal implements Journal {
  readonly #entries: Entry[];
  readonly #reservations: InMemoryReservations;
  readonly #approvals: InMemoryApprovals;
  #isReady = true;

  constructor(entries: Entry[], reservations: InMemoryReservations, approvals: InMemoryApprovals) {
    this.#entries = entries;
    this.#reservations = reservations;
    this.#approvals = approvals;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  close(): void {
    this.#isReady = false;
  }

  async append(entry: Entry): Promise<void> {
    this.#write(entry);
  }

  async commit(entry: Entry, reservation: Reservation | undefined, approval?: string): Promise<Committed> {
    this.#checkReady();
    if (approval !== undefined && !this.#approvals.isGiven(approval)) return 'unapproved';
    const taken = reservation ? this.#reservations.take(reservation) : 'committed';
    if (taken !== 'committed') return taken;
    if (approval !== undefined) void this.#approvals.use(approval);
    this.#write(entry);
    return 'committed';
  }

  #write(entry: Entry): void {
    this.#checkReady();
    // Removes a tenth at a time: moving all rows for every new one would cost too much.
    if (this.#entries.length >= MAX_ENTRIES) this.#entries.splice(0, MAX_ENTRIES / 10);
    this.#entries.push(entry);
  }

  #checkReady(): void {
    if (!this.#isReady) throw new ToolcribError('record_unavailable', 'The store is closed.');
  }
}

function createQuotas(clock: Clock): Quotas {
  const windows = new Map<string, { readonly endsAt: number; taken: number }>();
  const makeRoom = (): void => {
    if (windows.size < MAX_WINDOWS) return;
    const now = clock.now();
    for (const [id, { endsAt }] of windows) if (endsAt <= now) windows.delete(id);
    // Dropping an open window would grant its whole allowance again.
    if (windows.size >= MAX_WINDOWS)
      throw new ToolcribError('record_unavailable', 'Too many quotas are counted at once; use a database.');
  };
  return {
    take(name, { startsAt, endsAt }) {
      const id = `${startsAt} ${name}`;
      let window = windows.get(id);
      if (!window) {
        makeRoom();
        windows.set(id, (window = { endsAt, taken: 0 }));
      }
      return ++window.taken;
    },
  };
}

function createIdentities(): IdentityStore {
  const keys = new Map<string, KeyRecord>();
  const idByHash = new Map<string, string>();
  const tenants = new Map<string, TenantRecord>();
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  return {
    findKey(hash) {
      const key = keys.get(idByHash.get(hash) ?? '');
      return key && { key, tenant: tenants.get(key.tenant) };
    },
    findTenant: (id) => tenants.get(id),
    touch(keyIds, at) {
      const lastUsedAt = at - (at % MINUTE_MS);
      for (const id of keyIds) {
        const key = keys.get(id);
        if (key && key.lastUsedAt !== lastUsedAt) keys.set(id, { ...key, lastUsedAt });
      }
    },
    watch(listener) {
      // Two subscribers may pass the same function; each removes only its own.
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    async putKey(key) {
      idByHash.delete(keys.get(key.id)?.hash ?? '');
      keys.set(key.id, key);
      idByHash.set(key.hash, key.id);
      tell();
    },
    async revokeKey(id, revokedAt) {
      const key = keys.get(id);
      if (!key || key.revokedAt !== undefined) return false;
      keys.set(id, { ...key, revokedAt });
      tell();
      return true;
    },
    listKeys: async () => [...keys.values()].toSorted(byId),
    async putTenant(tenant) {
      tenants.set(tenant.id, tenant);
      tell();
    },
    listTenants: async () => [...tenants.values()].toSorted(byId),
  };
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}
