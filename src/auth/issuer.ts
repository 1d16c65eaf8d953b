import type { JWTPayload, JWTVerifyOptions } from 'jose';
import type { Caller } from '../core/caller.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import type { Clock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { parseJson } from '../base/parse-json.ts';
import type { ProblemLog } from './problem-log.ts';
import { keyReader } from './discover-keys.ts';
import type { FetchDocument } from './fetch-document.ts';
import { readClaims, type ClaimNames, type ClaimPath, type Claims } from './jwt-claims.ts';
import { KeySet, type FoundKey } from './key-set.ts';
import { TokenCallers, type TokenCaller } from './token-callers.ts';
import { isJoseError, refusalOf, UnusableToken } from './token-refusal.ts';

/** An authorization server, and which of its tokens are accepted. */
export interface IssuerOptions {
  /** The authorization server, exactly as in the `iss` claim. */
  readonly issuer: string;
  /** This server's own URL, exactly as in the `aud` claim; of several audiences one must match. */
  readonly audience: string | readonly string[];
  /** Accepted algorithms: RS256, PS256, ES256, ES384, EdDSA and Ed25519 unless set; never a symmetric one. */
  readonly algorithms?: readonly string[] | undefined;
  /** The URL of the issuer's public keys; its OpenID or OAuth metadata names it unless set. */
  readonly jwks?: string | undefined;
  /** Scopes every token must have. */
  readonly requiredScopes?: readonly string[] | undefined;
  /** How far the issuer's clock may differ; 60 seconds unless set. */
  readonly clockToleranceSeconds?: number | undefined;
  /** Set it for issuers that mark access tokens: an ID token has another type. */
  readonly typ?: 'at+jwt' | undefined;
  /** The tenant of every token of this issuer, instead of a claim. */
  readonly tenant?: string | undefined;
  /** The claim with the tenant, `tenant` unless set; a token without it is refused. */
  readonly tenantClaim?: ClaimPath | undefined;
  /** The claim with the caller, `sub` unless set. */
  readonly callerClaim?: ClaimPath | undefined;
  /** The claim that lists roles, `roles` unless set; `realm_access.roles` is one inside another. */
  readonly rolesClaim?: ClaimPath | undefined;
}

/** What is needed to check the tokens of an issuer. */
export interface IssuerParts {
  readonly clock: Clock;
  readonly fetch: FetchDocument;
  readonly problems: ProblemLog;
  /** Called with every caller that has no valid token left. */
  readonly onGone: (caller: Caller) => void;
}

/** A token whose signature and claims are valid. */
export interface Verified {
  readonly issuer: Issuer;
  readonly claims: Claims;
  /** The required scopes it lacks, with spaces between. */
  readonly missingScopes: string;
  /** The issuer's document with the key; a key that is missing from the current one may have been revoked. */
  readonly edition: object | undefined;
  known: TokenCaller | undefined;
}

/** Why a token is refused, for the operator. */
export interface RefusedToken {
  readonly reason: string;
}

const DEFAULT_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];
const ASYMMETRIC = /^(?:[REP]S(?:256|384|512)|EdDSA|Ed25519)$/;
const MAX_KEY_ID_LENGTH = 256;
const DEFAULT_TOLERANCE_SECONDS = 60;
const CHECKED_CLAIMS = ['iss', 'aud', 'exp', 'nbf', 'iat'];
const CHECKED_HEADERS = ['alg', 'kid', 'typ', 'crit', 'b64'];

/** One authorization server: its keys and its callers. */
export class Issuer {
  readonly callers: TokenCallers;
  readonly #options: IssuerOptions;
  readonly #names: ClaimNames;
  readonly #wanted: JWTVerifyOptions;
  readonly #clock: Clock;
  readonly #keySet: KeySet;
  readonly #problems: ProblemLog;

  constructor(options: IssuerOptions, { clock, fetch, problems, onGone }: IssuerParts) {
    checkOptions(options);
    const {
      issuer,
      jwks,
      tenant,
      tenantClaim = 'tenant',
      callerClaim = 'sub',
      rolesClaim = 'roles',
    } = options;
    const { clockToleranceSeconds: tolerance = DEFAULT_TOLERANCE_SECONDS, typ } = options;
    this.#options = options;
    this.#names = { tenant, tenantClaim, callerClaim, rolesClaim };
    this.#wanted = {
      issuer,
      audience: options.audience as string | string[],
      algorithms: [...(options.algorithms ?? DEFAULT_ALGORITHMS)],
      clockTolerance: tolerance,
      requiredClaims: ['exp', 'iss', 'aud'],
      ...(typ !== undefined && { typ }),
    };
    this.#clock = clock;
    this.#problems = problems;
    this.#keySet = new KeySet({ read: keyReader({ issuer, jwks, fetch }), clock });
    this.callers = new TokenCallers({ clock, toleranceMs: tolerance * 1_000, onGone });
  }

  /** Verifies a token of this issuer. */
  async verify(token: string): Promise<Verified | RefusedToken> {
    try {
      return await this.#check(token);
    } catch (error) {
      // A token that is wrong in any way is refused.
      return { reason: refusalOf(error, token, this.#wanted) };
    }
  }

  /** Whether a verified token is still valid. */
  isGood({ claims, edition }: Verified): boolean {
    return claims.expiresAt > this.#clock.now() && this.#keySet.isCurrent(edition);
  }

  async #check(token: string): Promise<Verified | RefusedToken> {
    let edition: object | undefined;
    const { jwtVerify } = await import('jose');
    const { payload, protectedHeader } = await jwtVerify(
      token,
      async (header) => {
        // Keys are taken from the issuer's document only, whatever URL the token names.
        if (header.crit !== undefined) throw new UnusableToken('its header has a critical part (crit)');
        if (!isKeyId(header.kid)) throw new UnusableToken('its key id (kid) cannot be used');
        const { alg, kid } = header;
        const found = await this.#find({ alg, ...(kid !== undefined && { kid }) });
        edition = found.edition;
        return found.key;
      },
      { ...this.#wanted, currentDate: new Date(this.#clock.now()) },
    );
    const [head = '', body = ''] = token.split('.');
    const claims = readClaims(readSegment(body, payload, CHECKED_CLAIMS), this.#names);
    readSegment(head, protectedHeader, CHECKED_HEADERS);
    if (typeof claims === 'string') return { reason: claims };
    const required = this.#options.requiredScopes ?? [];
    const missingScopes = required.filter((scope) => !claims.scopes.includes(scope)).join(' ');
    return { issuer: this, claims, missingScopes, edition, known: undefined };
  }

  async #find(header: { alg: string; kid?: string }): Promise<FoundKey> {
    try {
      return await this.#keySet.find(header);
    } catch (cause) {
      if (isJoseError(cause)) throw cause;
      this.#problems.note(
        `The keys of ${this.#options.issuer} cannot be read, so its tokens are refused.`,
        cause,
      );
      const why = cause instanceof Error ? cause.message : 'unknown reason';
      throw new UnusableToken(`the keys of its issuer cannot be read: ${why}`);
    }
  }
}

// The library uses the engine's own parser, which may take one key for another: both must have read the same.
function readSegment(segment: string, read: object, checked: readonly string[]): JWTPayload {
  const own = parseJson(Buffer.from(segment, 'base64url').toString('utf8'));
  if (!isObject(own)) throw new UnusableToken('a part of it is no object');
  const others = read as Readonly<Record<string, unknown>>;
  if (checked.some((name) => canonicalJson(own[name]) !== canonicalJson(others[name])))
    throw new UnusableToken('it can be read in two ways');
  return own;
}

function isKeyId(kid: unknown): boolean {
  return kid === undefined || (typeof kid === 'string' && kid.length <= MAX_KEY_ID_LENGTH);
}

function checkOptions({ audience, algorithms = [], tenant, tenantClaim }: IssuerOptions): void {
  const audiences = typeof audience === 'string' ? [audience] : audience;
  if (!Array.isArray(audiences) || audiences.length === 0 || audiences.some((each) => !each)) {
    throw new ToolcribError(
      'invalid_setup',
      "audience must be this server's own address, as tokens name it in aud.",
    );
  }
  if (tenant === '' || (tenant !== undefined && tenantClaim !== undefined)) {
    throw new ToolcribError(
      'invalid_setup',
      'tenant must be the id of a tenant, and tenantClaim left out then: one of the two names it.',
    );
  }
  const symmetric = algorithms.find((algorithm) => !ASYMMETRIC.test(algorithm));
  if (symmetric !== undefined) {
    throw new ToolcribError(
      'invalid_setup',
      `algorithms may name signatures with a public key only, such as RS256, not ${JSON.stringify(symmetric)}.`,
    );
  }
}
