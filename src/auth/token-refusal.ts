import type { JWTPayload, JWTVerifyOptions } from 'jose';
import { escapeUnseen } from '../base/escape-unseen.ts';
import { isObject } from '../base/json.ts';
import { parseJson } from '../base/parse-json.ts';

const MAX_SHOWN = 200;

/** A token refused by our own checks; the message is the reason. */
export class UnusableToken extends Error {}

/** Whether the JOSE library refused a token or a key. */
export function isJoseError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J');
}

/** Why a token was refused; for the operator, without the token. */
export function refusalOf(error: unknown, token: string, wanted: JWTVerifyOptions): string {
  if (error instanceof UnusableToken) return error.message;
  if (!isJoseError(error)) return 'it cannot be read';
  switch (error.code) {
    case 'ERR_JWT_EXPIRED':
      return `expired at ${timeOf(payloadOf(error).exp)}`;
    case 'ERR_JWT_CLAIM_VALIDATION_FAILED':
      return claimRefusal(error, token, wanted);
    case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
      return "its signature was not made with the issuer's key";
    case 'ERR_JWKS_NO_MATCHING_KEY':
      return `its issuer has no key ${shown(headerOf(token)['kid'])} for ${shown(headerOf(token)['alg'])}`;
    case 'ERR_JWKS_MULTIPLE_MATCHING_KEYS':
      return 'it names no key (kid), and several of its issuer fit';
    case 'ERR_JOSE_ALG_NOT_ALLOWED':
      return `signed with ${shown(headerOf(token)['alg'])}, wanted ${wanted.algorithms!.join(', ')}`;
    default:
      return 'it cannot be read';
  }
}

/** A value from a token as JSON, shortened and without control characters. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'missing' : escapeUnseen(JSON.stringify(value));
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}

/** The claims of a token that is not verified yet. */
export function uncheckedClaims(token: string): Readonly<Record<string, unknown>> {
  return segmentOf(token, 1);
}

function claimRefusal(error: Error, token: string, wanted: JWTVerifyOptions): string {
  const payload = payloadOf(error);
  const claim = 'claim' in error ? String(error.claim) : '';
  switch (claim) {
    case 'aud':
      return `audience is ${shown(payload.aud)}, wanted ${shown(wanted.audience)}`;
    case 'iss':
      return `issuer is ${shown(payload.iss)}, wanted ${shown(wanted.issuer)}`;
    case 'typ':
      return `type is ${shown(headerOf(token)['typ'])}, wanted ${shown(wanted.typ)}`;
    case 'nbf':
      return `not good before ${timeOf(payload.nbf)}`;
    default:
      return `its claim ${claim} is ${shown(payload[claim])}`;
  }
}

function payloadOf(error: Error): JWTPayload {
  return 'payload' in error && isObject(error.payload) ? error.payload : {};
}

function timeOf(seconds: unknown): string {
  const date = new Date(typeof seconds === 'number' ? seconds * 1_000 : NaN);
  return Number.isNaN(date.getTime()) ? shown(seconds) : date.toISOString();
}

function headerOf(token: string): Readonly<Record<string, unknown>> {
  return segmentOf(token, 0);
}

function segmentOf(token: string, index: number): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString('utf8'));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
