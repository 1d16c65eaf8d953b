import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { canonicalJson } from '../base/canonical-json.ts';
import type { Caller, Tenant } from '../core/caller.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Identities, TenantRecord } from '../core/memory/identities.ts';
import { isObject } from '../base/json.ts';
import { parseJson } from '../base/parse-json.ts';
import { andThen, orElse, type Awaitable } from '../base/awaitable.ts';
import { Complaints, type SignInLog } from './complaints.ts';
import { fetchKeys, parseTrustedUrl, type FetchedKeys } from './fetch-keys.ts';
import { readClaims, type Claims, type ClaimNames } from './jwt-claims.ts';
import { KeySet, type FoundKey } from './key-set.ts';
import { Lookup } from './lookup.ts';
import { combine, Departures, type CredentialSignIn, type IsGone } from './sign-in.ts';
import { TokenCallers, type TokenCaller } from './token-callers.ts';

/** Which tokens are accepted. */
export interface JwtSignInOptions {
  /** The authorization server, exactly as in the `iss` claim. */
  readonly issuer: string;
  /** This server's own URL, exactly as in the `aud` claim; of several audiences one must match. */
  readonly audience: string | readonly string[];
  /** Accepted algorithms: RS256, PS256, ES256, ES384, EdDSA and Ed25519 unless set; never a symmetric one. */
  readonly algorithms?: readonly string[] | undefined;
  /** The URL of the issuer's public keys; `/.well-known/jwks.json` below the issuer unless set. */
  readonly jwks?: string | undefined;
  /** Scopes every token must have. */
  readonly requiredScopes?: readonly string[] | undefined;
  /** How far the issuer's clock may differ; 60 seconds unless set. */
  readonly clockToleranceSeconds?: number | undefined;
  /** Set it for issuers that mark access tokens: an ID token has another type. */
  readonly typ?: 'at+jwt' | undefined;
  /** The claim with the tenant, `tenant` unless set; a token without it is refused. */
  readonly tenantClaim?: string | undefined;
  /** The claim with the caller, `sub` unless set. */
  readonly callerClaim?: string | undefined;
  /** The claim with the list of roles, `roles` unless set. */
  readonly rolesClaim?: string | undefined;
  /** A token's tenant must be one of these, and not disabled. */
  readonly tenants: Identities;
  readonly clock?: Clock | undefined;
  readonly log?: SignInLog | undefined;
  /** Replaces how the issuer's keys are fetched. */
  readonly fetch?: ((url: URL) => Promise<FetchedKeys>) | undefined;
}

const DEFAULT_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];
const ASYMMETRIC = /^(?:[REP]S(?:256|384|512)|EdDSA|Ed25519)$/;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const MAX_TOKEN_LENGTH = 12_288;
const MAX_KEY_ID_LENGTH = 256;
const MAX_REMEMBERED = 10_000;
const DEFAULT_TOLERANCE_SECONDS = 60;
const CHECKED_CLAIMS = ['iss', 'aud', 'exp', 'nbf', 'iat'];
const CHECKED_HEADERS = ['alg', 'kid', 'typ', 'crit', 'b64'];

/** Signs callers in by tokens of an authorization server; the tenant is read from the token only. */
export function createJwtSignIn(options: JwtSignInOptions): CredentialSignIn {
  return new JwtSignIn(options);
}

interface Verified {
  readonly claims: Claims;
  /** The issuer's document with the key; a key that is missing from the current one may have been revoked. */
  readonly edition: object | undefined;
  known: TokenCaller | undefined;
}

class JwtSignIn implements CredentialSignIn {
  readonly kind = 'token';
  readonly authenticate: CredentialSignIn['authenticate'];
  readonly #options: JwtSignInOptions;
  readonly #names: ClaimNames;
  readonly #algorithms: readonly string[];
  readonly #clock: Clock;
  readonly #keySet: KeySet;
  readonly #complaints: Complaints;
  readonly #tenants: Lookup<Tenant>;
  readonly #departures = new Departures();
  readonly #verified = new Map<string, Verified>();
  readonly #callers: TokenCallers;

  constructor(options: JwtSignInOptions) {
    const { clock = systemClock, log, tenants, fetch = fetchKeys } = options;
    const { clockToleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = options;
    const { tenantClaim = 'tenant', callerClaim = 'sub', rolesClaim = 'roles' } = options;
    this.#options = options;
    this.#names = { tenantClaim, callerClaim, rolesClaim };
    this.#algorithms = options.algorithms ?? DEFAULT_ALGORITHMS;
    this.#clock = clock;
    this.#complaints = new Complaints(log, clock);
    this.#keySet = new KeySet({ url: checkOptions(options), fetch, clock });
    this.#tenants = new Lookup<Tenant>({
      ask: (id) => andThen(tenants.findTenant(id), (record) => toTenant(id, record)),
      watch: (listener) => tenants.watch(listener),
      clock,
      isSame: (known, found) => JSON.stringify(known) === JSON.stringify(found),
      onGone: (tenant) => this.#departures.add(tenant),
      // A known caller has a known tenant, so the sweep of tenants serves callers too.
      onSweep: () => {
        this.#departures.repeat();
        this.#callers.sweep();
      },
    });
    this.#callers = new TokenCallers({
      clock,
      toleranceMs: clockToleranceSeconds * 1_000,
      onGone: (caller) => this.#departures.add(caller),
    });
    this.authenticate = combine([this]).authenticate;
  }

  check(credential: string): Awaitable<Caller | undefined> {
    if (credential.length > MAX_TOKEN_LENGTH || !TOKEN.test(credential)) return undefined;
    const id = createHash('sha256').update(credential).digest('base64url');
    const verified = this.#verified.get(id);
    if (verified && this.#isGood(verified)) return this.#name(verified);
    this.#verified.delete(id);
    return this.#verify(credential).then((fresh) => {
      if (!fresh) return undefined;
      if (fresh.claims.expiresAt > this.#clock.now()) remember(this.#verified, id, fresh);
      return this.#name(fresh);
    });
  }

  onRevoked(listener: (isGone: IsGone) => void): () => void {
    return this.#departures.listen(listener);
  }

  close(): void {
    this.#tenants.close();
    this.#verified.clear();
    this.#callers.clear();
  }

  #isGood({ claims, edition }: Verified): boolean {
    return claims.expiresAt > this.#clock.now() && this.#keySet.isCurrent(edition);
  }

  async #verify(token: string): Promise<Verified | undefined> {
    const { issuer, audience, clockToleranceSeconds = DEFAULT_TOLERANCE_SECONDS, typ } = this.#options;
    let edition: object | undefined;
    try {
      const { jwtVerify } = await import('jose');
      const { payload, protectedHeader } = await jwtVerify(
        token,
        async (header) => {
          // Keys are taken from the issuer's document only, whatever URL the token names.
          if (header.crit !== undefined || !isKeyId(header.kid)) throw new Error('An unusable header.');
          const { alg, kid } = header;
          const found = await this.#keys({ alg, ...(kid !== undefined && { kid }) });
          edition = found.edition;
          return found.key;
        },
        {
          issuer,
          audience: audience as string | string[],
          algorithms: [...this.#algorithms],
          clockTolerance: clockToleranceSeconds,
          currentDate: new Date(this.#clock.now()),
          requiredClaims: ['exp', 'iss', 'aud'],
          ...(typ !== undefined && { typ }),
        },
      );
      const [head = '', body = ''] = token.split('.');
      const claims = readClaims(readSegment(body, payload, CHECKED_CLAIMS), this.#names);
      readSegment(head, protectedHeader, CHECKED_HEADERS);
      return claims && { claims, edition, known: undefined };
    } catch {
      // A token that is wrong in any way is refused.
      return undefined;
    }
  }

  async #keys(header: { alg: string; kid?: string }): Promise<FoundKey> {
    try {
      return await this.#keySet.find(header);
    } catch (cause) {
      if (!isJoseError(cause))
        this.#complaints.note("The issuer's keys cannot be read, so tokens are refused.", cause);
      throw cause;
    }
  }

  #name(verified: Verified): Awaitable<Caller | undefined> {
    const { claims } = verified;
    const tenant = orElse(
      () => this.#tenants.get(claims.tenant),
      (cause) => this.#complaints.nobody('Tenants cannot be looked up, so tokens are refused.', cause),
    );
    return andThen(tenant, (current) => {
      if (!current) return undefined;
      this.#requireScopes(claims);
      const { known } = verified;
      if (known && !known.isGone && known.caller.tenant === current) return known.caller;
      verified.known = this.#callers.name(claims, current);
      return verified.known.caller;
    });
  }

  #requireScopes({ scopes }: Claims): void {
    const missing = this.#options.requiredScopes?.filter((scope) => !scopes.includes(scope)) ?? [];
    if (missing.length === 0) return;
    const scope = missing.join(' ');
    throw new ToolcribError('insufficient_scope', `The token lacks a scope this server needs: ${scope}.`, {
      data: { scope },
    });
  }
}

function toTenant(id: string, record: TenantRecord | undefined): Tenant | undefined {
  if (!record || record.disabled || record.id !== id) return undefined;
  return Object.freeze({ id, name: record.name, data: Object.freeze({ ...record.data }) });
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  if (map.size >= MAX_REMEMBERED) map.delete(map.keys().next().value!);
  map.set(key, value);
}

// The library parses tokens with the engine's parser, which may misread keys: both parsers must agree on the claims
// that matter.
function readSegment(segment: string, read: object, checked: readonly string[]): JWTPayload {
  const own = parseJson(Buffer.from(segment, 'base64url').toString('utf8'));
  if (!isObject(own)) throw new Error('A part of the token is no object.');
  const others = read as Readonly<Record<string, unknown>>;
  if (checked.some((name) => canonicalJson(own[name]) !== canonicalJson(others[name])))
    throw new Error('The token can be read in two ways.');
  return own;
}

function isKeyId(kid: unknown): boolean {
  return kid === undefined || (typeof kid === 'string' && kid.length <= MAX_KEY_ID_LENGTH);
}

function isJoseError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J');
}

function checkOptions({ issuer, audience, algorithms = [], jwks }: JwtSignInOptions): URL {
  const base = parseTrustedUrl(issuer, 'issuer').href.replace(/\/$/, '');
  const audiences = typeof audience === 'string' ? [audience] : audience;
  if (!Array.isArray(audiences) || audiences.length === 0 || audiences.some((each) => !each)) {
    throw new ToolcribError(
      'invalid_setup',
      "audience must be this server's own address, as tokens name it in aud.",
    );
  }
  const symmetric = algorithms.find((algorithm) => !ASYMMETRIC.test(algorithm));
  if (symmetric !== undefined) {
    throw new ToolcribError(
      'invalid_setup',
      `algorithms may name signatures with a public key only, such as RS256, not ${JSON.stringify(symmetric)}.`,
    );
  }
  return parseTrustedUrl(jwks ?? `${base}/.well-known/jwks.json`, 'jwks');
}
