import { createHash } from 'node:crypto';
import type { Caller, Tenant } from '../core/caller.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Identities, TenantRecord } from '../core/memory/identities.ts';
import { andThen, orElse, type Awaitable } from '../base/awaitable.ts';
import { ProblemLog, type SignInLog } from './problem-log.ts';
import { fetchDocument, type FetchDocument } from './fetch-document.ts';
import { Issuer, type IssuerOptions, type IssuerParts, type RefusedToken, type Verified } from './issuer.ts';
import { Lookup } from './lookup.ts';
import { combine, Departures, type CredentialSignIn, type IsGone } from './sign-in.ts';
import { shown, uncheckedClaims } from './token-refusal.ts';
import { makeRoomIn } from '../core/memory/bounded-map.ts';

/** What is needed to check the tokens of any issuer. */
export interface TokenParts {
  /** A token's tenant must be one of these, and not disabled. */
  readonly tenants: Identities;
  readonly clock?: Clock | undefined;
  readonly log?: SignInLog | undefined;
  /** Replaces how the issuers' documents are fetched. */
  readonly fetch?: FetchDocument | undefined;
}

/** Which tokens are accepted, of one issuer or of several. */
export type JwtSignInOptions = TokenParts & (IssuerOptions | { readonly issuers: readonly IssuerOptions[] });

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const MAX_TOKEN_LENGTH = 12_288;
const MAX_REMEMBERED = 10_000;

/** Signs callers in by tokens; the tenant is read from the token or from the settings of its issuer only. */
export function createJwtSignIn(options: JwtSignInOptions): CredentialSignIn {
  return new JwtSignIn(options);
}

class JwtSignIn implements CredentialSignIn {
  readonly kind = 'token';
  readonly authenticate: CredentialSignIn['authenticate'];
  readonly explain: CredentialSignIn['explain'];
  readonly #identities: Identities;
  readonly #clock: Clock;
  readonly #issuers: ReadonlyMap<unknown, Issuer>;
  readonly #problems: ProblemLog;
  readonly #tenants: Lookup<Tenant>;
  readonly #departures = new Departures();
  readonly #verified = new Map<string, Verified>();

  constructor(options: JwtSignInOptions) {
    const { clock = systemClock, log, tenants, fetch = fetchDocument } = options;
    this.#identities = tenants;
    this.#clock = clock;
    this.#problems = new ProblemLog(log, clock);
    this.#issuers = createIssuers('issuers' in options ? options.issuers : [options], {
      clock,
      fetch,
      problems: this.#problems,
      onGone: (caller) => this.#departures.add(caller),
    });
    this.#tenants = new Lookup<Tenant>({
      ask: (id) => andThen(tenants.findTenant(id), (record) => toTenant(id, record)),
      watch: (listener) => tenants.watch(listener),
      clock,
      isSame: (known, found) => JSON.stringify(known) === JSON.stringify(found),
      onGone: (tenant) => this.#departures.add(tenant),
      // A known caller has a known tenant, so the sweep of tenants serves callers too.
      onSweep: () => {
        this.#departures.repeat();
        for (const { callers } of this.#issuers.values()) callers.sweep();
      },
    });
    const { authenticate, explain } = combine([this], { log, clock });
    this.authenticate = authenticate;
    this.explain = explain;
  }

  check(credential: string): Awaitable<Caller | undefined> {
    if (!isToken(credential)) return undefined;
    const id = createHash('sha256').update(credential).digest('base64url');
    const verified = this.#verified.get(id);
    if (verified?.issuer.isGood(verified)) return this.#name(verified);
    this.#verified.delete(id);
    return this.#verify(credential).then((fresh) => {
      if ('reason' in fresh) return undefined;
      if (fresh.claims.expiresAt > this.#clock.now()) remember(this.#verified, id, fresh);
      return this.#name(fresh);
    });
  }

  async whyNot(credential: string): Promise<string> {
    if (!isToken(credential))
      return `it is neither a key nor a token of at most ${MAX_TOKEN_LENGTH} characters`;
    const found = await this.#verify(credential);
    if ('reason' in found) return found.reason;
    const { tenant } = found.claims;
    const record = await this.#identities.findTenant(tenant);
    if (record?.disabled) return `its tenant ${shown(tenant)} is disabled`;
    return record ? 'it is good now, and was not a moment ago' : `there is no tenant ${shown(tenant)}`;
  }

  onRevoked(listener: (isGone: IsGone) => void): () => void {
    return this.#departures.listen(listener);
  }

  close(): void {
    this.#tenants.close();
    this.#verified.clear();
    for (const { callers } of this.#issuers.values()) callers.clear();
  }

  // The unverified issuer only selects the keys with which the token is verified.
  async #verify(token: string): Promise<Verified | RefusedToken> {
    const { iss } = uncheckedClaims(token);
    const issuer = this.#issuers.get(iss);
    if (issuer) return issuer.verify(token);
    return {
      reason: `issuer is ${shown(iss)}, wanted ${Array.from(this.#issuers.keys(), shown).join(' or ')}`,
    };
  }

  #name(verified: Verified): Awaitable<Caller | undefined> {
    const { claims } = verified;
    const tenant = orElse(
      () => this.#tenants.get(claims.tenant),
      (cause) => this.#problems.refuse('Tenants cannot be looked up, so tokens are refused.', cause),
    );
    return andThen(tenant, (current) => {
      if (!current) return undefined;
      requireScopes(verified);
      const { known } = verified;
      if (known && !known.isGone && known.caller.tenant === current) return known.caller;
      verified.known = verified.issuer.callers.name(claims, current);
      return verified.known.caller;
    });
  }
}

function isToken(credential: string): boolean {
  return credential.length <= MAX_TOKEN_LENGTH && TOKEN.test(credential);
}

function createIssuers(all: readonly IssuerOptions[], parts: IssuerParts): Map<string, Issuer> {
  const issuers = new Map(all.map((options) => [options.issuer, new Issuer(options, parts)]));
  if (issuers.size > 0 && issuers.size === all.length) return issuers;
  throw new ToolcribError('invalid_setup', 'issuers must name at least one issuer, and none of them twice.');
}

function requireScopes({ missingScopes: scope }: Verified): void {
  if (scope === '') return;
  throw new ToolcribError('insufficient_scope', `The token lacks a scope this server needs: ${scope}.`, {
    data: { scope },
  });
}

function toTenant(id: string, record: TenantRecord | undefined): Tenant | undefined {
  if (!record || record.disabled || record.id !== id) return undefined;
  return Object.freeze({ id, name: record.name, data: Object.freeze({ ...record.data }) });
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  makeRoomIn(map, MAX_REMEMBERED);
  map.set(key, value);
}
