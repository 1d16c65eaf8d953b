import { failedStep } from './failure.ts';
import type { SignInOptions } from './options.ts';
import { askAsClient, askWithAssertion, exchangeIdToken, type TokenRequestParts } from './token-requests.ts';
import type { KeptTokens } from './vault.ts';

/** Asks for tokens without a person; a refusal is final, and no other way is tried. */
export async function grantTokens(
  parts: TokenRequestParts,
  grant: NonNullable<SignInOptions['grant']>,
): Promise<KeptTokens> {
  try {
    switch (grant.kind) {
      case 'client_credentials':
        return await askAsClient(parts);
      case 'workload':
        return await askWithAssertion(parts, await grant.assertion(parts.server.issuer));
      case 'enterprise':
        return await askWithAssertion(
          parts,
          await exchangeIdToken(parts, await grant.idToken(), grant.provider),
        );
    }
  } catch (error) {
    throw failedStep('The authorization server gave no token', error);
  }
}
