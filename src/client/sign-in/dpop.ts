import { createHash, randomUUID } from 'node:crypto';
import { SignJWT, type JWK } from 'jose';
import { DPoP, generateKeyPair, type CryptoKeyPair, type DPoPHandle } from 'oauth4webapi';
import type { OutgoingRequest } from './authorizer.ts';

/** A key pair as it is kept. */
export interface DpopJwks {
  readonly publicKey: JWK;
  readonly privateKey: JWK;
}

/** A key that tokens are bound to (RFC 9449). */
export interface DpopKey {
  readonly jwks: DpopJwks;
  /** Proofs for the authorization server, which remember its nonce. */
  readonly handle: DPoPHandle;
  readonly pair: CryptoKeyPair;
}

const ALGORITHM = 'ES256';
const CURVE = { name: 'ECDSA', namedCurve: 'P-256' };

/** Whether an authorization server takes the proofs that are made here. */
export function takesProofs(algorithms: readonly string[] | undefined): boolean {
  return algorithms?.includes(ALGORITHM) ?? false;
}

/** Makes a key for one token set. */
export async function createDpopKey(): Promise<DpopKey> {
  const pair = await generateKeyPair(ALGORITHM, { extractable: true });
  const [publicKey, privateKey] = await Promise.all([
    crypto.subtle.exportKey('jwk', pair.publicKey),
    crypto.subtle.exportKey('jwk', pair.privateKey),
  ]);
  return { jwks: { publicKey, privateKey }, pair, handle: DPoP({}, pair) };
}

/** Takes up a key that was kept. */
export async function importDpopKey(jwks: DpopJwks): Promise<DpopKey> {
  const [publicKey, privateKey] = await Promise.all([
    crypto.subtle.importKey('jwk', jwks.publicKey, CURVE, true, ['verify']),
    crypto.subtle.importKey('jwk', jwks.privateKey, CURVE, false, ['sign']),
  ]);
  const pair = { publicKey, privateKey };
  return { jwks, pair, handle: DPoP({}, pair) };
}

/**
 * The headers of a request with a bound token: a fresh proof that covers the method, the address, the token and the
 * body.
 */
export async function proveRequest(
  { url, method, body }: OutgoingRequest,
  { jwks, pair }: DpopKey,
  { accessToken, nonce }: { readonly accessToken: string; readonly nonce: string | undefined },
): Promise<Readonly<Record<string, string>>> {
  const { origin, pathname } = new URL(url);
  const { kty, crv, x, y } = jwks.publicKey;
  const proof = await new SignJWT({
    htm: method,
    htu: origin + pathname,
    ath: createHash('sha256').update(accessToken).digest('base64url'),
    ...(nonce !== undefined && { nonce }),
    ...(body !== undefined && { content_digest: digestOf(body) }),
  })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'dpop+jwt', jwk: { kty, crv, x, y } as JWK })
    .setIssuedAt()
    .setJti(randomUUID())
    .sign(pair.privateKey);
  return { authorization: `DPoP ${accessToken}`, dpop: proof };
}

function digestOf(body: Uint8Array | string): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}
