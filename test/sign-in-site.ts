import { onTestFinished } from 'vitest';
import type { SignInOptions } from '../src/client/sign-in/options.ts';
import { createClientSignIn, type ClientSignIn } from '../src/client/sign-in/sign-in.ts';
import {
  startAuthorizationServer,
  startProtected,
  type AuthorizationPeer,
  type ProtectedPeer,
} from './authorization-server.ts';

export { protectedCall } from './protected-call.ts';

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

/** Starts both, with an MCP server that has no tools and answers whoever signed in. */
export async function startServedSite(): Promise<Site> {
  const site = await startSite();
  site.server.answers.set('/mcp', ({ headers, body }) => {
    const isIn = site.authority.tokens.some((token) => headers.authorization === `Bearer ${token}`);
    if (!isIn) return undefined;
    const { id, method } = JSON.parse(body) as { id: number; method: string };
    const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    const result = method === 'server/discover' ? discovered : { tools: [] };
    return { body: { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } } };
  });
  return site;
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
