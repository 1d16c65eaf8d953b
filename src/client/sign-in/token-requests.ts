import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  customFetch,
  genericTokenEndpointRequest,
  isDPoPNonceError,
  processGenericTokenEndpointResponse,
  revocationRequest,
  type AuthorizationServer,
  type ClientAuth,
  type RecognizedTokenTypes,
  type TokenEndpointResponse,
} from 'oauth4webapi';
import { parseJson } from '../../base/parse-json.ts';
import { clientAuth, type KnownClient } from './client-auth.ts';
import type { DpopKey } from './dpop.ts';
import { failedStep, signInFailed } from './failure.ts';
import type { EnterpriseGrant } from './options.ts';
import type { OutboundInit, SignInOutbound } from './outbound.ts';
import type { ServerMetadata } from './server-metadata.ts';
import type { KeptTokens } from './vault.ts';

/** Everything a request for tokens is made with. */
export interface TokenRequestParts {
  readonly server: ServerMetadata;
  /** A workload may have none. */
  readonly client: KnownClient | undefined;
  /** What the token is to be good for (RFC 8707). */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The key to bind tokens to. */
  readonly dpop: DpopKey | undefined;
  readonly outbound: SignInOutbound;
  readonly now: number;
  readonly signal: AbortSignal;
}

const RENEW_AHEAD_MS = 60_000;
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';

/** Exchanges the code of a checked answer for tokens. */
export function redeemCode(
  parts: TokenRequestParts,
  code: { readonly answer: URLSearchParams; readonly redirectUri: string; readonly verifier: string },
): Promise<KeptTokens> {
  return ask(parts, (auth, options) =>
    authorizationCodeGrantRequest(
      toLibrary(parts.server),
      { client_id: parts.client!.id },
      auth,
      code.answer,
      code.redirectUri,
      code.verifier,
      { ...options, additionalParameters: { resource: parts.resource } },
    ),
  );
}

/** Exchanges a refresh token for new tokens; it stays good where the server sends no other. */
export async function refreshTokens(parts: TokenRequestParts, refreshToken: string): Promise<KeptTokens> {
  const fresh = await grant(parts, 'refresh_token', { refresh_token: refreshToken });
  return { ...fresh, refreshToken: fresh.refreshToken ?? refreshToken };
}

/** Asks for tokens with the client's own credentials. */
export function askAsClient(parts: TokenRequestParts): Promise<KeptTokens> {
  return grant(parts, 'client_credentials', scopeOf(parts));
}

/** Asks for tokens with a signed assertion (RFC 7523). */
export function askWithAssertion(parts: TokenRequestParts, assertion: string): Promise<KeptTokens> {
  return grant(parts, JWT_BEARER, { assertion, ...scopeOf(parts) });
}

/** Has an identity provider turn a person's ID token into an assertion for the authorization server. */
export async function exchangeIdToken(
  parts: TokenRequestParts,
  idToken: string,
  { tokenEndpoint, clientId, clientSecret }: EnterpriseGrant['provider'],
): Promise<string> {
  const provider = { issuer: new URL(tokenEndpoint).origin, token_endpoint: tokenEndpoint };
  const client = { id: clientId, secret: clientSecret };
  const methods = clientSecret === undefined ? ['none'] : ['client_secret_basic'];
  const auth = await clientAuth(client, { ...provider, token_endpoint_auth_methods_supported: methods });
  try {
    const response = await genericTokenEndpointRequest(
      provider,
      { client_id: clientId },
      auth,
      TOKEN_EXCHANGE,
      {
        requested_token_type: ID_JAG,
        audience: parts.server.issuer,
        resource: parts.resource,
        subject_token: idToken,
        subject_token_type: ID_TOKEN,
        ...scopeOf(parts),
      },
      optionsOf(parts),
    );
    // What comes back is an assertion, not a token to be used anywhere.
    const types: RecognizedTokenTypes = { n_a: () => {} };
    const answer = await processGenericTokenEndpointResponse(
      provider,
      { client_id: clientId },
      await readable(response),
      { recognizedTokenTypes: types },
    );
    if (answer['issued_token_type'] === ID_JAG) return answer.access_token;
  } catch (error) {
    throw failedStep('The identity provider gave no assertion', error);
  }
  throw signInFailed('The identity provider gave a token of another kind than it was asked for.');
}

/** Tells the authorization server that a token is not needed any more. */
export async function revokeToken(
  { server, client, ...parts }: TokenRequestParts,
  token: string,
): Promise<void> {
  if (server.revocation_endpoint === undefined || !client) return;
  const auth = await clientAuth(client, server);
  await revocationRequest(toLibrary(server), { client_id: client.id }, auth, token, optionsOf(parts));
}

interface Options extends RequestOptions {
  readonly DPoP?: DpopKey['handle'];
}

function grant(
  parts: TokenRequestParts,
  type: string,
  parameters: Readonly<Record<string, string>>,
): Promise<KeptTokens> {
  const client = { client_id: parts.client?.id ?? 'none' };
  const all = { ...parameters, resource: parts.resource };
  return ask(parts, (auth, options) =>
    genericTokenEndpointRequest(toLibrary(parts.server), client, auth, type, all, options),
  );
}

async function ask(
  parts: TokenRequestParts,
  send: (auth: ClientAuth, options: Options) => Promise<Response>,
): Promise<KeptTokens> {
  const { server, client, dpop } = parts;
  const auth: ClientAuth = client ? await clientAuth(client, server) : () => {};
  const options: Options = { ...optionsOf(parts), ...(dpop && { DPoP: dpop.handle }) };
  const process = async (): Promise<TokenEndpointResponse> =>
    processGenericTokenEndpointResponse(
      toLibrary(server),
      { client_id: client?.id ?? 'none' },
      await readable(await send(auth, options)),
    );
  // The handle has taken note of the nonce the first answer brought.
  const answer = await process().catch((error: unknown) => {
    if (dpop && isDPoPNonceError(error)) return process();
    throw error;
  });
  return toTokens(answer, parts);
}

function toTokens(
  answer: TokenEndpointResponse,
  { client, scopes, dpop, now }: TokenRequestParts,
): KeptTokens {
  // Anything else would break out of the header it is sent in.
  if (!/^[\x21-\x7e]{1,16384}$/.test(answer.access_token))
    throw signInFailed('The authorization server gave a token that cannot be sent.');
  if (dpop && answer.token_type !== 'dpop')
    throw signInFailed('The authorization server gave a token that is not bound to its key.');
  if (!dpop && answer.token_type !== 'bearer')
    throw signInFailed('The authorization server gave a token of another kind than it was asked for.');
  const lifetimeMs = answer.expires_in === undefined ? undefined : answer.expires_in * 1_000;
  return {
    accessToken: answer.access_token,
    dpop: dpop?.jwks,
    ...(lifetimeMs !== undefined && {
      expiresAt: now + lifetimeMs,
      renewAt: now + lifetimeMs - Math.min(RENEW_AHEAD_MS, lifetimeMs / 4),
    }),
    refreshToken: answer.refresh_token,
    clientId: client?.id ?? '',
    scopes,
  };
}

// Not every server sends its answers as what they are, and an ID token is of no use here, so that a faulty one does no
// harm.
async function readable(response: Response): Promise<Response> {
  const text = await response.text();
  const headers = { 'content-type': 'application/json' };
  if (response.status !== 200) return new Response(text, { status: response.status, headers });
  const answer = parseJson(text);
  if (typeof answer !== 'object' || answer === null) throw signInFailed('The answer is not an object.');
  return new Response(JSON.stringify({ ...answer, id_token: undefined }), { headers });
}

function scopeOf({ scopes }: TokenRequestParts): { readonly scope?: string } {
  return scopes.length === 0 ? {} : { scope: scopes.join(' ') };
}

interface RequestOptions {
  readonly [customFetch]: (url: string, init: OutboundInit) => Promise<Response>;
  readonly signal: AbortSignal;
}

function optionsOf({ outbound, signal }: Pick<TokenRequestParts, 'outbound' | 'signal'>): RequestOptions {
  // Which addresses may be reached without encryption is decided by the outbound client.
  // oxlint-disable-next-line typescript/no-deprecated -- it is called so only to be noticed
  return { [customFetch]: outbound.fetch, [allowInsecureRequests]: true, signal } as RequestOptions;
}

function toLibrary(server: ServerMetadata): AuthorizationServer {
  return server as AuthorizationServer;
}
