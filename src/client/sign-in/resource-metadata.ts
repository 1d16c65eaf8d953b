import { z } from 'zod';
import { parseJson } from '../../base/parse-json.ts';
import { failedStep, signInFailed } from './failure.ts';
import type { SignInOutbound } from './outbound.ts';

/** What a server says about who may use it (RFC 9728). */
export interface ResourceMetadata {
  /** The identifier to ask tokens for, exactly as it was published. */
  readonly resource: string;
  /** Issuers of tokens, in the server's order. */
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
  readonly needsDpop: boolean;
}

const documentSchema = z.object({
  resource: z.string().max(2_048),
  authorization_servers: z.array(z.string().max(2_048)).max(50).optional(),
  scopes_supported: z.array(z.string().max(512)).max(500).optional(),
  dpop_bound_access_tokens_required: z.boolean().optional(),
});

/**
 * Finds a server's metadata: where the challenge says, else in the places it should be; a server of 2025-03-26 has
 * none.
 */
export async function findResourceMetadata(
  server: URL,
  hint: string | undefined,
  outbound: SignInOutbound,
): Promise<ResourceMetadata | undefined> {
  for (const url of hint === undefined ? wellKnownPlaces(server) : [hint]) {
    const document = await readDocument(url, outbound);
    if (document) return fromDocument(document, server);
  }
  if (hint === undefined) return undefined;
  throw signInFailed('The server names metadata for signing in that is not there; tell its operator.');
}

function wellKnownPlaces({ origin, pathname }: URL): readonly string[] {
  const root = `${origin}/.well-known/oauth-protected-resource`;
  return pathname === '/' ? [root] : [root + pathname, root];
}

async function readDocument(
  url: string,
  outbound: SignInOutbound,
): Promise<z.infer<typeof documentSchema> | undefined> {
  try {
    const response = await outbound.fetch(url, { headers: { accept: 'application/json' } });
    // Anything else than "not here" must not lead to another place: the sign-in would depend on who can make a request
    // fail.
    if (response.status >= 400 && response.status < 500) return undefined;
    if (response.status !== 200) throw signInFailed(`it was answered with status ${response.status}.`);
    return documentSchema.parse(parseJson(await response.text()));
  } catch (error) {
    throw failedStep("The server's metadata for signing in cannot be read", error);
  }
}

function fromDocument(document: z.infer<typeof documentSchema>, server: URL): ResourceMetadata {
  checkResource(document.resource, server);
  return {
    resource: document.resource,
    issuers: document.authorization_servers ?? [],
    scopes: document.scopes_supported,
    needsDpop: document.dpop_bound_access_tokens_required ?? false,
  };
}

// Otherwise this server could obtain a token that is good for another one.
function checkResource(resource: string, server: URL): void {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  const isHere =
    url?.origin === server.origin &&
    url.hash === '' &&
    (url.pathname === server.pathname ||
      server.pathname.startsWith(url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`));
  if (isHere) return;
  throw signInFailed(
    'The server asks for a token for another resource than itself, so nothing was sent; check its address.',
  );
}

/** The identifier of a server that publishes none: its address without what does not identify it. */
export function canonicalResource(server: URL): string {
  return server.origin + (server.pathname === '/' ? '' : server.pathname.replace(/\/$/, ''));
}
