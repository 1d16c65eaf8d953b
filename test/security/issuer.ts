import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { onTestFinished } from 'vitest';

/** The audience of every good token. */
export const audience = 'http://127.0.0.1/mcp';

/** An authorization server on this machine, with a count of how often its keys were read. */
export interface Issuer {
  readonly url: string;
  readonly publicKey: JWK;
  fetches(): number;
  /** What was asked for, in order. */
  readonly asked: readonly string[];
  /** The metadata it has, by path; its own OpenID document unless changed. */
  readonly documents: Map<string, unknown>;
  /** Answers the next requests for its keys in another way. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Changes the keys it publishes. */
  publish(keys: readonly JWK[]): void;
  token(
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<string>;
}

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;
const unused = new Map<string, Keys[]>();

// Keys that no other issuer of the test has; finding the primes of new ones can take longer than the test.
async function takeKeys(alg: string): Promise<Keys> {
  const keys = unused.get(alg)?.pop() ?? (await generateKeyPair(alg, { extractable: true }));
  onTestFinished(() => void unused.set(alg, [...(unused.get(alg) ?? []), keys]));
  return keys;
}

/** Starts an issuer for the length of one test. */
export async function startIssuer(alg = 'ES256'): Promise<Issuer> {
  const { privateKey, publicKey } = await takeKeys(alg);
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg, use: 'sig' };
  let keys: readonly JWK[] = [jwk];
  let fetches = 0;
  const asked: string[] = [];
  const documents = new Map<string, unknown>();
  const http = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    if (/\/\.well-known\/o/.test(path)) {
      const document = documents.get(path);
      if (document === undefined) response.writeHead(404).end('not here');
      else response.end(typeof document === 'string' ? document : JSON.stringify(document));
      return;
    }
    fetches++;
    if (issuer.answer) issuer.answer(request, response);
    else response.setHeader('cache-control', 'max-age=600').end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  documents.set('/.well-known/openid-configuration', { issuer: url, jwks_uri: `${url}/keys` });
  const issuer: Issuer = {
    url,
    asked,
    documents,
    publicKey: jwk,
    answer: undefined,
    fetches: () => fetches,
    publish: (changed) => {
      keys = changed;
    },
    token: (claims, header) => sign(privateKey, { iss: url, ...claims }, { alg, kid: 'one', ...header }),
  };
  return issuer;
}

/** Signs a token that is good except for what is changed; a claim that is `undefined` is left out. */
export function sign(
  key: CryptoKey | Uint8Array,
  claims: Readonly<Record<string, unknown>>,
  header: { readonly alg: string; readonly [name: string]: unknown },
): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const good = { sub: 'ada', tenant: 'north', aud: audience, iat: now, exp: now + 600, scope: 'tools' };
  const payload = Object.entries({ ...good, ...claims }).filter(([, value]) => value !== undefined);
  return new SignJWT(Object.fromEntries(payload)).setProtectedHeader(header).sign(key);
}
