import type { Approvals } from '../core/memory/approval.ts';
import type { Identities, KeyRecord, TenantRecord } from '../core/memory/identities.ts';
import type { Memory } from '../core/memory/memory.ts';
import type { Pins } from './pin.ts';
import type { NotKept } from '../core/memory/text.ts';
import type { Reservation } from '../core/memory/memory.ts';
import type { Awaitable } from '../base/awaitable.ts';
import { randomBytes } from 'node:crypto';
import { ToolcribError } from '../base/errors.ts';

/** Everything that must be remembered, wherever it is stored. */
export interface Store {
  readonly journal: Journal;
  readonly reservations: Reservations;
  readonly approvals: Approvals;
  readonly quotas: Quotas;
  readonly identities: IdentityStore;
  /** Which definitions of tools of other servers may be used. */
  readonly pins: Pins;
  /** What the protocol remembers between requests. */
  readonly memory: Memory;
  /** Writes pending work and releases everything. */
  close(): Promise<void>;
}

/** A row for a chain; its text is stored unchanged. */
export interface Entry {
  /** Rows are numbered and hashed per chain: one per tenant, and one for operators. */
  readonly chain: string;
  /**
   * One line of JSON. A row of kind `intent` opens a call; its outcome is unknown until a row of kind `outcome` for the
   * same call.
   */
  readonly body: string;
}

/** The record of what happened; an acknowledged row is on stable storage. */
export interface Journal {
  /**
   * Resolves when the row is on stable storage; fails with `record_unavailable` if that takes too long or is
   * impossible.
   */
  append(entry: Entry): Promise<void>;
  /** The same, and takes a key and uses up an approval in the same transaction: all or nothing. */
  commit(entry: Entry, reservation: Reservation | undefined, approval?: string): Promise<Committed>;
  /** Whether rows can be written; if not, no tool may run. */
  readonly isReady: boolean;
}

/**
 * Whether an intent was written, or why not: the key is `taken`, too many keys are kept (`full`), or the call is
 * `unapproved`.
 */
export type Committed = 'committed' | 'taken' | 'full' | 'unapproved';

/** The state of a call under a reservation: its result as JSON, or nothing yet. */
export interface Reserved {
  readonly subject: string;
  /** `undefined` while the call runs, for ever if its process died, and if the outcome was not kept. */
  readonly outcome: string | undefined;
  /** Set if the call has ended and its outcome was too large to keep, or was dropped to make room. */
  readonly notKept?: NotKept | undefined;
}

/** Which idempotency keys are taken, and how their calls ended. */
export interface Reservations {
  find(owner: string, key: string): Awaitable<Reserved | undefined>;
  /**
   * Stores the outcome of a reserved call, or its digest if it is large; durable when it resolves. The oldest outcomes
   * of an owner over its limit become digests.
   */
  finish(owner: string, key: string, outcome: string): Promise<void>;
  /** Releases a key: its call did not run. */
  release(owner: string, key: string): Promise<void>;
}

/** Counts over long windows that must survive a restart. */
export interface Quotas {
  /** Takes one from the window's allowance; returns how many were taken, this one included. */
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

/** A new id for an approval, short enough to be read aloud. */
export function newApprovalId(): string {
  return `apr_${randomBytes(6).toString('hex')}`;
}

/** The error for a call that cannot be recorded; the cause is only logged. */
export function recordUnavailable(cause?: string): ToolcribError {
  const text = 'Calls cannot be recorded now, so they are refused; try again later.';
  return new ToolcribError(
    'record_unavailable',
    text,
    cause === undefined ? {} : { cause: new Error(cause) },
  );
}
