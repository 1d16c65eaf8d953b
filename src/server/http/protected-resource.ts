import { ToolcribError } from '../../base/errors.ts';

/** This server as an authorization server knows it. */
export interface ProtectedResource {
  /** The address clients use, which is also the audience of their tokens: `https://tools.example.com/mcp`. */
  readonly url: string;
  /** The issuers of tokens for it. */
  readonly authorizationServers: readonly string[];
  /** The scopes there are to ask for; a caller that is not known is told to ask for them. */
  readonly scopes?: readonly string[];
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Where the metadata of a protected resource is found, and what it says. */
export interface ResourceMetadata {
  /** The address named in challenges. */
  readonly url: string;
  /** The scopes named to a caller that is not known, if there are any. */
  readonly scope: string | undefined;
  readonly paths: readonly string[];
  readonly body: string;
}

/**
 * The metadata of a protected resource (RFC 9728); `path` is where the endpoint is here, which a proxy may call
 * otherwise.
 */
export function metadataOf(resource: ProtectedResource, path?: string): ResourceMetadata {
  const { origin, pathname } = parseAddress(resource.url, 'resource.url');
  const { authorizationServers, scopes } = resource;
  if (!Array.isArray(authorizationServers) || authorizationServers.length === 0) {
    throw new ToolcribError('invalid_setup', 'resource.authorizationServers must name at least one issuer.');
  }
  for (const server of authorizationServers) parseAddress(server, 'resource.authorizationServers');
  const own = `${WELL_KNOWN}${pathname === '/' ? '' : pathname}`;
  return {
    url: origin + own,
    scope: scopes?.join(' '),
    paths: [...new Set([WELL_KNOWN, own, ...(path === undefined ? [] : [WELL_KNOWN + path])])],
    body: JSON.stringify({
      resource: resource.url,
      authorization_servers: authorizationServers,
      ...(scopes && { scopes_supported: scopes }),
      bearer_methods_supported: ['header'],
    }),
  };
}

/** The challenge to a caller that is not known; an error is named only to one that brought a credential. */
export function challengeUnknown(metadata: ResourceMetadata | undefined, hasCredential: boolean): string {
  if (!metadata && !hasCredential) return 'Bearer';
  return challenge(metadata, { error: hasCredential ? 'invalid_token' : undefined, scope: metadata?.scope });
}

/** The challenge to a caller whose token lacks scopes; it names those and no others. */
export function challengeScope(metadata: ResourceMetadata | undefined, scope: unknown): string {
  return challenge(metadata, { error: 'insufficient_scope', scope });
}

function challenge(
  metadata: ResourceMetadata | undefined,
  { error, scope }: { readonly error: string | undefined; readonly scope: unknown },
): string {
  const parts: string[] = [];
  if (error !== undefined) parts.push(`error="${error}"`);
  if (typeof scope === 'string' && SCOPES.test(scope)) parts.push(`scope="${scope}"`);
  if (metadata) parts.push(`resource_metadata="${metadata.url}"`);
  return `Bearer ${parts.join(', ')}`;
}

// RFC 6750, section 3: what a scope may be made of; anything else could end the quotes around it.
const SCOPES = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/;

function parseAddress(text: unknown, what: string): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  if ((url?.protocol === 'https:' || url?.protocol === 'http:') && url.hash === '' && url.search === '')
    return url;
  throw new ToolcribError(
    'invalid_setup',
    `${what} must be an address such as https://tools.example.com/mcp.`,
  );
}
