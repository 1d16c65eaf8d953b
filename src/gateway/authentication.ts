import type { Identities } from '../core/memory/identities.ts';
import { combine, type CredentialSignIn, type SignIn } from '../auth/sign-in.ts';
import type { ProtectedResource } from '../server/http/protected-resource.ts';
import { issuersOf, type TokenIssuer } from './settings/auth.ts';
import type { Config } from './settings/config.ts';
import type { Lasting } from './lasting.ts';

/** How callers sign in, by the credentials a configuration accepts. */
export interface Authentication {
  readonly signIn: SignIn;
  /** Where clients get tokens, if tokens are accepted. */
  readonly resource: ProtectedResource | undefined;
}

/** What a sign-in needs. */
export interface AuthenticationParts extends Pick<Lasting, 'secrets' | 'clock' | 'log'> {
  readonly identities: Identities;
}

/** Makes the sign-in of a configuration; `undefined` is open mode. */
export async function createAuthentication(
  { auth, server }: Config,
  { identities, secrets, clock, log }: AuthenticationParts,
): Promise<Authentication | undefined> {
  if (!auth) return undefined;
  const signIns: CredentialSignIn[] = [];
  if (auth.keys) {
    const { createKeySignIn } = await import('../auth/key-sign-in.ts');
    signIns.push(createKeySignIn({ identities, pepper: secrets.pepper, clock, log }));
  }
  const issuers = issuersOf(auth);
  if (issuers.length > 0) {
    const { createJwtSignIn } = await import('../auth/jwt-sign-in.ts');
    signIns.push(createJwtSignIn({ issuers, tenants: identities, clock, log }));
  }
  return { signIn: combine(signIns, { log, clock }), resource: resourceOf(issuers, server) };
}

function resourceOf(
  issuers: readonly TokenIssuer[],
  { publicUrl, path }: Config['server'],
): ProtectedResource | undefined {
  const [first, ...others] = issuers;
  if (!first || publicUrl === undefined) return undefined;
  // A client asks one issuer, which may not know the scopes of another.
  const scopes = first.requiredScopes.filter((scope) =>
    others.every(({ requiredScopes }) => requiredScopes.includes(scope)),
  );
  return {
    url: new URL(path, publicUrl).href,
    authorizationServers: issuers.map(({ issuer }) => issuer),
    ...(scopes.length > 0 && { scopes }),
  };
}
