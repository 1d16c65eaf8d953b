import { createSecretKey, hash, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { Caller } from '../core/caller.ts';
import { nameCaller } from '../core/caller-memory.ts';
import type { Clock } from '../base/clock.ts';
import { systemClock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Identities, KeyRecord, TenantRecord } from '../core/memory/identities.ts';
import { andThen, orElse, type Awaitable } from '../base/awaitable.ts';
import { hashKey, isWellFormedKey, KEY_LENGTH } from './api-key.ts';
import { ProblemLog, type SignInLog } from './problem-log.ts';
import { Lookup, type LookupEntry } from './lookup.ts';
import { combine, Departures, type ConnectionMemo, type CredentialSignIn, type IsGone } from './sign-in.ts';

/** Where keys are looked up. */
export interface KeySignInOptions {
  readonly identities: Identities;
  /** Part of the hash of every key, at least 32 bytes; not stored with the keys. */
  readonly pepper: string | Uint8Array;
  readonly clock?: Clock;
  readonly log?: SignInLog;
}

const MINUTE_MS = 60_000;
const MIN_PEPPER_BYTES = 32;
const MAX_PRINTS = 100_000;

/** Signs callers in by API key: one hash per request while the key is cached, and revocation within five seconds. */
export function createKeySignIn(options: KeySignInOptions): CredentialSignIn {
  return new KeySignIn(options);
}

interface KnownKey {
  readonly caller: Caller;
  /** `undefined` if it does not expire. */
  readonly expiresAt: number | undefined;
  /** Everything that makes a different caller when it changes. */
  readonly rights: string;
  /** The minute in which its use was last recorded. */
  notedIn: number;
}

class KeySignIn implements CredentialSignIn {
  readonly kind = 'key';
  readonly authenticate: CredentialSignIn['authenticate'];
  readonly explain: CredentialSignIn['explain'];
  readonly #identities: Identities;
  readonly #pepper: KeyObject;
  readonly #clock: Clock;
  readonly #problems: ProblemLog;
  readonly #keys: Lookup<KnownKey>;
  readonly #departures = new Departures();
  // Valid keys by their plain hash: it costs a fifth of the hash with the pepper, and is only kept in memory.
  readonly #prints = new Map<string, LookupEntry<KnownKey>>();
  #used = new Set<string>();

  constructor({ identities, pepper, clock = systemClock, log }: KeySignInOptions) {
    this.#identities = identities;
    this.#pepper = toSecret(pepper);
    this.#clock = clock;
    this.#problems = new ProblemLog(log, clock);
    this.#keys = new Lookup<KnownKey>({
      ask: (kept) => andThen(identities.findKey(kept), (found) => found && this.#recognise(kept, found)),
      watch: (listener) => identities.watch(listener),
      confirmedAt: identities.confirmedAt && (() => identities.confirmedAt!()),
      clock,
      isSame: (known, found) => known.rights === found.rights,
      isOver: ({ expiresAt }) => expiresAt !== undefined && expiresAt <= clock.now(),
      onGone: ({ caller }) => this.#departures.add(caller),
      onSweep: () => {
        this.#departures.repeat();
        this.#noteUse();
      },
    });
    const { authenticate, explain } = combine([this], { log, clock });
    this.authenticate = authenticate;
    this.explain = explain;
  }

  check(credential: string, memo?: ConnectionMemo): Awaitable<Caller | undefined> {
    if (memo?.hash !== undefined) return andThen(this.#find(memo.hash), this.#use);
    if (credential.length !== KEY_LENGTH) return undefined;
    const print = hash('sha256', credential, 'base64url');
    const entry = this.#prints.get(print);
    if (entry && !entry.isDropped) {
      if (memo) memo.hash = entry.key;
      return andThen(this.#find(entry.key, entry), this.#use);
    }
    if (!isWellFormedKey(credential)) return undefined;
    const made = hashKey(credential, this.#pepper);
    return andThen(this.#find(made), (known) => {
      if (known) this.#keep(print, made);
      return this.#use(known);
    });
  }

  async whyNot(credential: string): Promise<string> {
    if (!isWellFormedKey(credential)) return 'it is mistyped or cut off: its checksum does not fit';
    const found = await this.#identities.findKey(hashKey(credential, this.#pepper));
    if (!found) return 'unknown key';
    const { key, tenant } = found;
    const { id, revokedAt, expiresAt } = key;
    if (revokedAt !== undefined) return `${id} was revoked at ${new Date(revokedAt).toISOString()}`;
    if (expiresAt !== undefined && expiresAt <= this.#clock.now())
      return `${id} expired at ${new Date(expiresAt).toISOString()}`;
    if (!tenant) return `${id} is of a tenant that is gone, ${key.tenant}`;
    return tenant.disabled
      ? `${id} is of a tenant that is disabled, ${tenant.id}`
      : `${id} is good now, and was not a moment ago`;
  }

  onRevoked(listener: (isGone: IsGone) => void): () => void {
    return this.#departures.listen(listener);
  }

  close(): void {
    this.#noteUse();
    this.#keys.close();
    this.#prints.clear();
  }

  // Without helper functions: two closures per request cost more than the lookup.
  #find(kept: string, entry?: LookupEntry<KnownKey>): Awaitable<KnownKey | undefined> {
    try {
      const known = this.#keys.get(kept, entry);
      return known instanceof Promise ? known.catch(this.#nobody) : known;
    } catch (cause) {
      return this.#nobody(cause);
    }
  }

  readonly #nobody = (cause: unknown): undefined =>
    this.#problems.refuse('API keys cannot be looked up, so callers are refused.', cause);

  #keep(print: string, kept: string): void {
    const entry = this.#keys.entryOf(kept);
    if (!entry) return;
    if (this.#prints.size >= MAX_PRINTS) this.#prints.clear();
    this.#prints.set(print, entry);
  }

  // A property, so that passing it creates no closure per request.
  readonly #use = (known: KnownKey | undefined): Caller | undefined => {
    if (!known) return undefined;
    const now = this.#clock.now();
    if (known.expiresAt !== undefined && known.expiresAt <= now) return undefined;
    const minute = Math.floor(now / MINUTE_MS);
    if (known.notedIn !== minute) {
      known.notedIn = minute;
      this.#used.add(known.caller.credential!);
    }
    return known.caller;
  };

  #recognise(
    kept: string,
    { key, tenant }: { key: KeyRecord; tenant: TenantRecord | undefined },
  ): KnownKey | undefined {
    const now = this.#clock.now();
    const { expiresAt, revokedAt } = key;
    if (!isEqual(kept, key.hash) || revokedAt !== undefined) return undefined;
    if (expiresAt !== undefined && expiresAt <= now) return undefined;
    if (!tenant || tenant.disabled || tenant.id !== key.tenant) return undefined;
    const caller = toCaller(key, tenant);
    return { caller, expiresAt, rights: JSON.stringify([caller, expiresAt]), notedIn: -1 };
  }

  #noteUse(): void {
    if (this.#used.size === 0) return;
    const ids = [...this.#used];
    this.#used = new Set();
    // A failure to record the last use is no reason to refuse the caller.
    void orElse(
      () => this.#identities.touch(ids, this.#clock.now()),
      (cause) => this.#problems.note('The last use of API keys could not be noted.', cause),
    );
  }
}

function toCaller({ id, caller, scopes, roles }: KeyRecord, tenant: TenantRecord): Caller {
  return nameCaller({
    id: caller,
    tenant: Object.freeze({ id: tenant.id, name: tenant.name, data: Object.freeze({ ...tenant.data }) }),
    scopes: Object.freeze([...scopes]),
    roles: Object.freeze([...roles]),
    credential: id,
  });
}

function toSecret(pepper: string | Uint8Array): KeyObject {
  const bytes = typeof pepper === 'string' ? Buffer.from(pepper) : pepper;
  if (!(bytes instanceof Uint8Array) || bytes.length < MIN_PEPPER_BYTES) {
    throw new ToolcribError(
      'invalid_setup',
      `The pepper of API keys must have at least ${MIN_PEPPER_BYTES} bytes; make one with "openssl rand -base64 32".`,
    );
  }
  return createSecretKey(bytes);
}

function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
