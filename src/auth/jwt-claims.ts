import { isObject } from '../base/json.ts';

/** The place of a claim: a name, split at its dots unless it has a slash, or a list of steps. */
export type ClaimPath = string | readonly string[];

/** The names of the claims. */
export interface ClaimNames {
  /** The tenant of every token, instead of a claim. */
  readonly tenant: string | undefined;
  readonly tenantClaim: ClaimPath;
  readonly callerClaim: ClaimPath;
  readonly rolesClaim: ClaimPath;
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

/** What a verified token says. */
export type TokenPayload = Readonly<Record<string, unknown>>;

const MAX_NAME_LENGTH = 256;

/** Reads the claims of a verified token; a text says which claim is missing. */
export function readClaims(payload: TokenPayload, names: ClaimNames): Claims | string {
  const caller = nameIn(payload, names.callerClaim);
  if (caller === undefined) return missing('caller', names.callerClaim);
  const tenant = names.tenant ?? nameIn(payload, names.tenantClaim);
  if (tenant === undefined) return missing('tenant', names.tenantClaim);
  if (typeof payload.exp !== 'number') return 'it has no end (exp)';
  const scope = claimAt(payload, ['scope']) ?? claimAt(payload, ['scp']);
  const roles = claimAt(payload, stepsOf(names.rolesClaim));
  return {
    caller,
    tenant,
    scopes: textsOf(typeof scope === 'string' ? scope.split(' ') : scope),
    roles: textsOf(typeof roles === 'string' ? [roles] : roles),
    expiresAt: payload.exp * 1_000,
  };
}

/** The steps to a claim; some issuers use URLs as names, whose dots separate nothing. */
export function stepsOf(path: ClaimPath): readonly string[] {
  if (typeof path !== 'string') return path;
  return path.includes('/') ? [path] : path.split('.');
}

function claimAt(payload: TokenPayload, steps: readonly string[]): unknown {
  let value: unknown = payload;
  for (const step of steps) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

function nameIn(payload: TokenPayload, path: ClaimPath): string | undefined {
  const value = claimAt(payload, stepsOf(path));
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME_LENGTH) return undefined;
  // Lone surrogates are all stored alike, so two such names would become one.
  return value.isWellFormed() ? value : undefined;
}

function missing(what: string, path: ClaimPath): string {
  return `no ${what} claim: ${stepsOf(path).join('.')} is not a text of 1 to ${MAX_NAME_LENGTH} characters`;
}

// Sorted, so that tokens with the same rights compare equal.
function textsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  const texts = value.filter((item): item is string => typeof item === 'string' && item !== '');
  return [...new Set(texts)].toSorted();
}
