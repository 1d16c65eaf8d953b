import { z } from 'zod';
import { parseJson } from '../../base/parse-json.ts';
import { failedStep, signInFailed } from './failure.ts';
import type { SignInOutbound } from './outbound.ts';

const list = z.array(z.string().max(512)).max(500).optional();
const address = z.string().max(2_048);

// Fields that are not needed to sign in are ignored, so that a mistake in one of them does no harm.
const documentSchema = z.object({
  issuer: address,
  authorization_endpoint: address.optional(),
  token_endpoint: address,
  registration_endpoint: address.optional(),
  revocation_endpoint: address.optional(),
  scopes_supported: list,
  code_challenge_methods_supported: list,
  token_endpoint_auth_methods_supported: list,
  dpop_signing_alg_values_supported: list,
  client_id_metadata_document_supported: z.boolean().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});

/** What an authorization server says about itself, as far as signing in needs it. */
export type ServerMetadata = z.infer<typeof documentSchema>;

/**
 * Reads the metadata of an authorization server (RFC 8414, OpenID Discovery) and makes sure that it is that issuer's
 * own.
 */
export async function findServerMetadata(issuer: string, outbound: SignInOutbound): Promise<ServerMetadata> {
  const server = await tryServerMetadata(issuer, outbound);
  if (server) return server;
  throw signInFailed(`The authorization server ${issuer} publishes no metadata; tell its operator.`);
}

/**
 * The same for a server of 2025-03-26, which may publish nothing: then its endpoints have the names that revision gives
 * them.
 */
export async function findLegacyServer(origin: string, outbound: SignInOutbound): Promise<ServerMetadata> {
  return (
    (await tryServerMetadata(origin, outbound)) ?? {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic'],
    }
  );
}

async function tryServerMetadata(
  issuer: string,
  outbound: SignInOutbound,
): Promise<ServerMetadata | undefined> {
  for (const url of wellKnownPlaces(parseIssuer(issuer))) {
    const document = await readDocument(url, issuer, outbound);
    if (document) return document;
  }
  return undefined;
}

async function readDocument(
  url: string,
  issuer: string,
  outbound: SignInOutbound,
): Promise<ServerMetadata | undefined> {
  const what = `The metadata of the authorization server ${issuer} cannot be used`;
  try {
    const response = await outbound.fetch(url, { headers: { accept: 'application/json' } });
    // Anything else than "not here" must not lead to another place: the sign-in would depend on who can make a request
    // fail.
    if (response.status >= 400 && response.status < 500) return undefined;
    if (response.status !== 200)
      throw signInFailed(`${what}: it was answered with status ${response.status}.`);
    const document = documentSchema.parse(parseJson(await response.text()));
    // Only a slash after the host may differ: many servers publish one form and name the other.
    if (new URL(document.issuer).href === new URL(issuer).href) return document;
  } catch (error) {
    throw failedStep(what, error);
  }
  throw signInFailed(`${what}: it says that it belongs to another issuer, so nothing was sent.`);
}

function parseIssuer(issuer: string): URL {
  const url =
    /^https?:\/\/[\w\-.~:/%[\]]+$/.test(issuer) && URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url) return url;
  throw signInFailed('The server names an authorization server by something that is not an address.');
}

function wellKnownPlaces({ origin, pathname }: URL): readonly string[] {
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '');
  const inserted = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}
