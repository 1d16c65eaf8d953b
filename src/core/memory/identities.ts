import type { Awaitable } from '../../base/awaitable.ts';

/** A tenant as it is kept. */
export interface TenantRecord {
  readonly id: string;
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Credentials of a disabled tenant are refused. */
  readonly disabled: boolean;
}

/** An API key as it is kept: never the key itself. */
export interface KeyRecord {
  /** Names the key in lists and in the record; not a secret. */
  readonly id: string;
  /** The keyed hash of the secret. */
  readonly hash: string;
  readonly tenant: string;
  /** Whom the key speaks for; one caller may have several keys. */
  readonly caller: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly createdAt: number;
  /** When it stops working; `undefined` never. */
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** To the minute. */
  readonly lastUsedAt: number | undefined;
}

/** The keys and tenants a server knows. */
export interface Identities {
  /** A key and its tenant, by the key's hash. */
  findKey(
    hash: string,
  ): Awaitable<{ readonly key: KeyRecord; readonly tenant: TenantRecord | undefined } | undefined>;
  findTenant(id: string): Awaitable<TenantRecord | undefined>;
  /** Notes that keys were used. */
  touch(keyIds: readonly string[], at: number): Awaitable<void>;
  /**
   * Tells, within a second or two, that keys or tenants were changed here or by another process, until the returned
   * function is called.
   */
  watch(listener: () => void): () => void;
  /**
   * When it was last certain, on the monotonic clock, that listeners had heard of every change; left out, it never is.
   */
  confirmedAt?(): number;
}
