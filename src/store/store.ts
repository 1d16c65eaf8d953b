import type { Approvals } from '../core/memory/approval.ts';
import type { Identities, KeyRecord, TenantRecord } from '../core/memory/identities.ts';
import type { Memory } from '../core/memory/memory.ts';
import type { NotKept } from '../core/memory/not-kept.ts';
import type { Reservation } from '../core/memory/reservation.ts';
import type { Awaitable } from '../base/awaitable.ts';

/** Everything that must be remembered, wherever it is kept. */
export interface Store {
  readonly journal: Journal;
  readonly reservations: Reservations;
  readonly approvals: Approvals;
  readonly quotas: Quotas;
  readonly identities: IdentityStore;
  /** What the protocol remembers between requests. */
  readonly memory: Memory;
  /** Writes what is pending and lets go of everything. */
  close(): Promise<void>;
}

/** A row for a chain: the text is kept to the letter. */
export interface Entry {
  /** Rows are numbered and tied together per chain: one per tenant, and one for operators. */
  readonly chain: string;
  /** One line of JSON. One that begins with the kind `intent` and a call says that its outcome is unknown until one of the kind `outcome` does. */
  readonly body: string;
}

/** The record of what happened; a row that was acknowledged is on stable storage. */
export interface Journal {
  /** Resolves when the row is on stable storage; fails with `record_unavailable` when that takes too long or cannot be done. */
  append(entry: Entry): Promise<void>;
  /** The same, taking a key and using up an approval in the same transaction; where that cannot be done, nothing is. */
  commit(entry: Entry, reservation: Reservation | undefined, approval?: string): Promise<Committed>;
  /** Whether rows can be written; when not, no tool may run. */
  readonly isReady: boolean;
}

/** Whether an intent was written, or why not: the key is `taken`, too many keys are kept (`full`), or the call is `unapproved`. */
export type Committed = 'committed' | 'taken' | 'full' | 'unapproved';

/** How a call under a reservation ended: its result as JSON, or nothing yet. */
export interface Reserved {
  readonly subject: string;
  /** `undefined` while it runs, for ever if the process died meanwhile, and where it is not kept. */
  readonly outcome: string | undefined;
  /** Set where the call has ended and its outcome was too large to keep, or made room for later ones. */
  readonly notKept?: NotKept | undefined;
}

/** Which keys of idempotent calls are taken, and how those calls ended. */
export interface Reservations {
  find(owner: string, key: string): Awaitable<Reserved | undefined>;
  /** Keeps how a reserved call ended, of a large outcome its digest; durable when it resolves. Of an owner with too much its oldest outcomes become digests. */
  finish(owner: string, key: string, outcome: string): Promise<void>;
  /** Gives a key back: the call is known not to have run. */
  release(owner: string, key: string): Promise<void>;
}

/** Counts over long windows that must outlast a restart. */
export interface Quotas {
  /** Takes one from the window's allowance; the answer is how many were taken, this one included. */
  take(name: string, window: { readonly startsAt: number; readonly endsAt: number }): Awaitable<number>;
}

/** Keys and tenants, with what operators do to them. */
export interface IdentityStore extends Identities {
  putKey(key: KeyRecord): Promise<void>;
  /** Whether there was such a key to revoke. */
  revokeKey(id: string, at: number): Promise<boolean>;
  listKeys(): Promise<readonly KeyRecord[]>;
  putTenant(tenant: TenantRecord): Promise<void>;
  listTenants(): Promise<readonly TenantRecord[]>;
}
