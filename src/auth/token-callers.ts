import type { Caller, Tenant } from '../core/caller.ts';
import { nameCaller } from '../core/caller-memory.ts';
import type { Clock } from '../base/clock.ts';
import type { Claims } from './jwt-claims.ts';

/** A caller that tokens name, and when the last of them ends. */
export interface TokenCaller {
  readonly caller: Caller;
  /** By wall time, in milliseconds. */
  until: number;
  /** Whether it was told to be gone: then it must not be named again. */
  isGone: boolean;
}

/** How long tokens are taken after their end, and who hears of callers without one. */
export interface TokenCallersOptions {
  readonly clock: Clock;
  readonly toleranceMs: number;
  /** Hears of every caller who has no token left that is good. */
  readonly onGone: (caller: Caller) => void;
}

/** How many callers are known at once; the one whose last token is the oldest goes when there are more. */
export const MAX_TOKEN_CALLERS = 100_000;

/** The callers that tokens name: a new token with the same rights names the same object, which is gone when the last one has ended. */
export class TokenCallers {
  readonly #options: TokenCallersOptions;
  readonly #known = new Map<string, TokenCaller>();

  constructor(options: TokenCallersOptions) {
    this.#options = options;
  }

  /** Whom a good token names. */
  name(claims: Claims, tenant: Tenant): TokenCaller {
    const { caller: id, scopes, roles } = claims;
    const key = JSON.stringify([tenant.id, id, scopes, roles]);
    let known = this.#known.get(key);
    if (known?.caller.tenant !== tenant) known = create({ id, tenant, scopes, roles });
    known.until = Math.max(known.until, this.#endOf(claims));
    this.#keep(key, known);
    return known;
  }

  /** Lets go of everybody whose last token has ended. */
  sweep(): void {
    const now = this.#options.clock.now();
    for (const [key, known] of this.#known) if (known.until <= now) this.#drop(key, known);
  }

  /** Forgets everybody, and tells nobody. */
  clear(): void {
    this.#known.clear();
  }

  // A token that is taken after its end, since clocks differ, is good for as long as that goes on.
  #endOf({ expiresAt }: Claims): number {
    const { clock, toleranceMs } = this.#options;
    return expiresAt > clock.now() ? expiresAt : expiresAt + toleranceMs;
  }

  #keep(key: string, known: TokenCaller): void {
    this.#known.delete(key);
    const [oldest] = this.#known.size >= MAX_TOKEN_CALLERS ? this.#known : [];
    // Whoever is forgotten could hold a stream open for ever, so it ends with that.
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
