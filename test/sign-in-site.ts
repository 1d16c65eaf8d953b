import { onTestFinished } from 'vitest';
import type { Authorizer, NeedsSignIn } from '../src/client/sign-in/authorizer.ts';
import type { SignInOptions } from '../src/client/sign-in/options.ts';
import { createClientSignIn, type ClientSignIn } from '../src/client/sign-in/sign-in.ts';
import {
  startAuthorizationServer,
  startProtected,
  type AuthorizationPeer,
  type ProtectedPeer,
} from './authorization-server.ts';

/** A server that wants tokens, and the authorization server that gives them. */
export interface Site {
  readonly authority: AuthorizationPeer;
  readonly server: ProtectedPeer;
  readonly url: string;
  /** A sign-in with a browser; `{ open: undefined }` takes it away. */
  signIn(options?: { readonly [Key in keyof SignInOptions]?: SignInOptions[Key] | undefined }): ClientSignIn;
}

/** Starts both servers until the test is over. */
export async function startSite(): Promise<Site> {
  const authority = await startAuthorizationServer();
  const server = await startProtected(authority);
  const url = `${server.url}/mcp`;
  return {
    authority,
    server,
    url,
    signIn: (options) => {
      const made = createClientSignIn({ server: url, open: visitAndReturn, ...options } as SignInOptions);
      onTestFinished(() => made.close());
      return made;
    },
  };
}

/** Sends a request the way a client does: with credentials, and again after a challenge. */
export async function protectedCall(authorizer: Authorizer, url: string): Promise<number | NeedsSignIn> {
  for (let retries = 0; ; retries++) {
    const sent = await authorizer.headers({ url, method: 'POST', body: '{}' });
    const response = await fetch(url, { method: 'POST', body: '{}', headers: sent });
    await response.text();
    if (response.status !== 401 && response.status !== 403) return response.status;
    const outcome = await authorizer.challenged({
      status: response.status,
      wwwAuthenticate: response.headers.get('www-authenticate') ?? undefined,
      dpopNonce: response.headers.get('dpop-nonce') ?? undefined,
      url,
      method: 'POST',
      sent,
      retries,
    });
    if (outcome !== 'retry') return outcome;
  }
}

/** Signs in as a browser would: goes to the page. Gives back the address it leads to. */
export async function visit(page: string): Promise<string> {
  const answer = await fetch(page, { redirect: 'manual', signal: AbortSignal.timeout(5_000) });
  const location = answer.headers.get('location');
  if (location === null) throw new Error(`The page answered with ${answer.status} and leads nowhere.`);
  return location;
}

/** The same, and follows the way back to this machine. */
export async function visitAndReturn(page: string): Promise<void> {
  const answer = await fetch(await visit(page), { signal: AbortSignal.timeout(5_000) });
  await answer.text();
}
