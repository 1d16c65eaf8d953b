import {
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
  type AuthorizationServer,
} from 'oauth4webapi';
import { failedStep, refusalCode, signInFailed } from './failure.ts';
import { redeemCode, type TokenRequestParts } from './token-requests.ts';
import type { KeptTokens } from './vault.ts';

/** A sign-in a person has begun or may begin. */
export interface PendingSignIn {
  /** The page to open. */
  readonly url: string;
  readonly state: string;
  readonly verifier: string;
  readonly redirectUri: string;
  readonly parts: TokenRequestParts;
  readonly expiresAt: number;
}

const LIFETIME_MS = 10 * 60_000;

/** Prepares a sign-in: a page to open, and what its answer has to match. */
export async function beginSignIn(parts: TokenRequestParts, redirectUri: string): Promise<PendingSignIn> {
  const { server, client, resource, scopes, dpop, outbound, now } = parts;
  if (server.code_challenge_methods_supported?.includes('S256') !== true)
    throw signInFailed('The authorization server does not support PKCE with S256, so codes could be stolen.');
  const verifier = generateRandomCodeVerifier();
  const state = generateRandomState();
  const url = outbound.checkPage(server.authorization_endpoint ?? '');
  const parameters = {
    response_type: 'code',
    client_id: client!.id,
    redirect_uri: redirectUri,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    resource,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
    ...(dpop && { dpop_jkt: await dpop.handle.calculateThumbprint() }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, state, verifier, redirectUri, parts, expiresAt: now + LIFETIME_MS };
}

/** Checks what came back from the browser and exchanges its code for tokens. */
export async function completeSignIn(
  { state, verifier, redirectUri, parts }: PendingSignIn,
  answer: URL,
): Promise<KeptTokens> {
  checkIssuer(answer.searchParams, parts);
  try {
    const checked = validateAuthResponse(
      parts.server as AuthorizationServer,
      { client_id: parts.client!.id },
      answer.searchParams,
      state,
    );
    return await redeemCode(parts, { answer: checked, redirectUri, verifier });
  } catch (error) {
    const advice =
      refusalCode(error) === 'invalid_grant' ? 'The code is not good any more; sign in again' : '';
    throw failedStep(advice || 'The sign-in failed', error);
  }
}

// RFC 9207, compared as text: an answer of another server, even an error, is not read any further.
function checkIssuer(answer: URLSearchParams, { server }: TokenRequestParts): void {
  const given = answer.getAll('iss');
  const isRight =
    given.length === 0
      ? server.authorization_response_iss_parameter_supported !== true
      : given.length === 1 && given[0] === server.issuer;
  if (isRight) return;
  throw signInFailed(
    'The answer does not come from the authorization server that was asked, so it was not used; sign in again.',
  );
}
