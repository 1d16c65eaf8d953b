import { combine, type CredentialSignIn, type SignIn } from '../auth/sign-in.ts';
import type { ProtectedResource } from '../server/http/protected-resource.ts';
import type { Config } from './settings/config.ts';
import type { Lasting } from './lasting.ts';

/** How callers sign in, by the credentials a configuration accepts. */
export interface Authentication {
  readonly signIn: SignIn;
  /** Where clients get tokens, if tokens are accepted. */
  readonly resource: ProtectedResource | undefined;
}

/** Makes the sign-in of a configuration; `undefined` is open mode. */
export async function createAuthentication(
  { auth, server }: Config,
  { store, secrets, clock, log }: Lasting,
): Promise<Authentication | undefined> {
  if (!auth) return undefined;
  const signIns: CredentialSignIn[] = [];
  if (auth.keys) {
    const { createKeySignIn } = await import('../auth/key-sign-in.ts');
    signIns.push(createKeySignIn({ identities: store.identities, pepper: secrets.pepper, clock, log }));
  }
  if (auth.jwt) {
    const { createJwtSignIn } = await import('../auth/jwt-sign-in.ts');
    signIns.push(createJwtSignIn({ ...auth.jwt, tenants: store.identities, clock, log }));
  }
  const resource = auth.jwt &&
    server.publicUrl !== undefined && {
      url: new URL(server.path, server.publicUrl).href,
      authorizationServers: [auth.jwt.issuer],
      ...(auth.jwt.requiredScopes.length > 0 && { scopes: auth.jwt.requiredScopes }),
    };
  return { signIn: combine(signIns), resource: resource || undefined };
}
