import { SignInNeeded } from '../../client/errors.ts';
import type { Authorizer } from '../../client/sign-in/authorizer.ts';
import { fileCredentials } from '../../client/sign-in/file-credentials.ts';
import type { SignInOptions } from '../../client/sign-in/options.ts';
import { createClientSignIn, type ClientSignIn } from '../../client/sign-in/sign-in.ts';
import { credentialsFolder } from '../servers/places.ts';

/** The sign-in of this user at a server, with tokens in a folder for its owner alone. */
export async function createUserSignIn(
  server: string,
  options: Omit<SignInOptions, 'server' | 'store'> = {},
): Promise<ClientSignIn> {
  return createClientSignIn({ ...options, server, store: await fileCredentials(credentialsFolder()) });
}

/** Whether tokens are kept for a server that are still good, or could be renewed. */
export async function hasTokens(
  server: string,
  network: NonNullable<SignInOptions['network']>,
): Promise<boolean> {
  const signIn = await createUserSignIn(server, { network });
  try {
    return 'authorization' in (await signIn.headers({ url: server, method: 'POST' }));
  } finally {
    await signIn.close();
  }
}

/** Sends the tokens that are kept for a server and renews them; a sign-in is never started. */
export async function keptAuthorizer(
  server: string,
  network: NonNullable<SignInOptions['network']>,
): Promise<Authorizer> {
  const signIn = await createUserSignIn(server, { network });
  return {
    headers: (request) => signIn.headers(request),
    close: () => signIn.close(),
    async challenged(challenge, signal) {
      // Without a token, a client would be registered for nothing.
      const outcome =
        'authorization' in challenge.sent ? await signIn.challenged(challenge, signal) : undefined;
      if (outcome === 'retry') return outcome;
      throw new SignInNeeded('The server wants to know who is calling.', 'Sign in.');
    },
  };
}
