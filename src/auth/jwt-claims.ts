import type { JWTPayload } from 'jose';

/** The names of the claims. */
export interface ClaimNames {
  readonly tenantClaim: string;
  readonly callerClaim: string;
  readonly rolesClaim: string;
}

/** The claims of a verified token that are used here. */
export interface Claims {
  readonly caller: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** In milliseconds. */
  readonly expiresAt: number;
}

const MAX_NAME_LENGTH = 256;

/** Reads the claims of a verified token; `undefined` without a caller or a tenant. */
export function readClaims(payload: JWTPayload, names: ClaimNames): Claims | undefined {
  const caller = nameIn(payload, names.callerClaim);
  const tenant = nameIn(payload, names.tenantClaim);
  if (caller === undefined || tenant === undefined || typeof payload.exp !== 'number') return undefined;
  const scope = claim(payload, 'scope') ?? claim(payload, 'scp');
  const roles = claim(payload, names.rolesClaim);
  return {
    caller,
    tenant,
    scopes: textsOf(typeof scope === 'string' ? scope.split(' ') : scope),
    roles: textsOf(typeof roles === 'string' ? [roles] : roles),
    expiresAt: payload.exp * 1_000,
  };
}

function claim(payload: JWTPayload, name: string): unknown {
  return Object.hasOwn(payload, name) ? payload[name] : undefined;
}

function nameIn(payload: JWTPayload, name: string): string | undefined {
  const value = claim(payload, name);
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME_LENGTH) return undefined;
  // Lone surrogates are all stored alike, so two such names would become one.
  return value.isWellFormed() ? value : undefined;
}

// Sorted, so that tokens with the same rights compare equal.
function textsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  const texts = value.filter((item): item is string => typeof item === 'string' && item !== '');
  return [...new Set(texts)].toSorted();
}
