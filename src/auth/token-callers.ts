import type { Caller, Tenant } from '../core/caller.ts';
import { nameCaller } from '../core/caller-memory.ts';
import type { Clock } from '../base/clock.ts';
import type { Claims } from './jwt-claims.ts';

/** A caller named by tokens, and when the last of them expires. */
export interface TokenCaller {
  readonly caller: Caller;
  /** Wall clock time in milliseconds. */
  until: number;
  /** Whether it was reported as gone; then it must not be used again. */
  isGone: boolean;
}

/** The clock tolerance for tokens, and the listener for expired callers. */
export interface TokenCallersOptions {
  readonly clock: Clock;
  readonly toleranceMs: number;
  /** Called with every caller that has no valid token left. */
  readonly onGone: (caller: Caller) => void;
}

/** How many callers are cached; above it, the one whose last token is the oldest is dropped. */
export const MAX_TOKEN_CALLERS = 100_000;

/**
 * The callers named by tokens: a new token with the same rights gives the same object, which ends when the last token
 * has expired.
 */
export class TokenCallers {
  readonly #options: TokenCallersOptions;
  readonly #known = new Map<string, TokenCaller>();

  constructor(options: TokenCallersOptions) {
    this.#options = options;
  }

  /** The caller of a valid token. */
  name(claims: Claims, tenant: Tenant): TokenCaller {
    const { caller: id, scopes, roles } = claims;
    const key = JSON.stringify([tenant.id, id, scopes, roles]);
    let known = this.#known.get(key);
    if (known?.caller.tenant !== tenant) known = create({ id, tenant, scopes, roles });
    known.until = Math.max(known.until, this.#endOf(claims));
    this.#keep(key, known);
    return known;
  }

  /** Drops every caller whose last token has expired. */
  sweep(): void {
    const now = this.#options.clock.now();
    for (const [key, known] of this.#known) if (known.until <= now) this.#drop(key, known);
  }

  /** Drops all callers without reporting them. */
  clear(): void {
    this.#known.clear();
  }

  // An expired token accepted because clocks differ stays valid for the tolerance.
  #endOf({ expiresAt }: Claims): number {
    const { clock, toleranceMs } = this.#options;
    return expiresAt > clock.now() ? expiresAt : expiresAt + toleranceMs;
  }

  #keep(key: string, known: TokenCaller): void {
    this.#known.delete(key);
    const [oldest] = this.#known.size >= MAX_TOKEN_CALLERS ? this.#known : [];
    // A dropped caller could hold a stream open for ever, so dropping reports it as gone.
    if (oldest) this.#drop(...oldest);
    this.#known.set(key, known);
  }

  #drop(key: string, known: TokenCaller): void {
    known.isGone = true;
    this.#known.delete(key);
    this.#options.onGone(known.caller);
  }
}

function create({ id, tenant, scopes, roles }: Caller): TokenCaller {
  const caller = nameCaller({ id, tenant, scopes: Object.freeze(scopes), roles: Object.freeze(roles) });
  return { caller, until: -Infinity, isGone: false };
}
