import type { ReadChallenge } from './challenge.ts';
import { takesProofs } from './dpop.ts';
import { signInFailed } from './failure.ts';
import type { SignInOptions } from './options.ts';
import type { SignInOutbound } from './outbound.ts';
import { canonicalResource, findResourceMetadata } from './resource-metadata.ts';
import { findLegacyServer, findServerMetadata, type ServerMetadata } from './server-metadata.ts';
import type { Issued } from './vault.ts';

/** Who to ask for tokens for a server, and for which. */
export interface TokenSource {
  readonly issued: Issued;
  readonly server: ServerMetadata;
  /** The scopes the server names, if any. */
  readonly scopes: readonly string[] | undefined;
  /** Whether tokens have to be bound to a key. */
  readonly needsDpop: boolean;
}

type Limits = Pick<SignInOptions, 'issuer' | 'client' | 'grant'>;

/** Finds out from a challenge who issues tokens for a server; an issuer the operator did not mean gets nothing. */
export async function discover(
  server: URL,
  challenge: ReadChallenge,
  { outbound, limits }: { readonly outbound: SignInOutbound; readonly limits: Limits },
): Promise<TokenSource> {
  const metadata = await findResourceMetadata(server, challenge.resourceMetadata, outbound);
  const named = metadata?.issuers ?? [];
  const issuer = chooseIssuer(named.length > 0 ? named : [server.origin], limits);
  const isLegacy = named.length === 0;
  const found = isLegacy
    ? await findLegacyServer(issuer, outbound)
    : await findServerMetadata(issuer, outbound);
  const needsDpop = challenge.needsDpop || (metadata?.needsDpop ?? false);
  if (needsDpop && !takesProofs(found.dpop_signing_alg_values_supported))
    throw signInFailed('The server wants tokens bound to a key, but its authorization server gives none.');
  return {
    issued: { issuer: found.issuer, resource: metadata?.resource ?? canonicalResource(server), isLegacy },
    server: found,
    scopes: challenge.scopes ?? metadata?.scopes,
    needsDpop,
  };
}

/** Finds an issuer again that tokens were kept from, to renew them. */
export function rediscover({ issuer, isLegacy }: Issued, outbound: SignInOutbound): Promise<ServerMetadata> {
  return isLegacy ? findLegacyServer(issuer, outbound) : findServerMetadata(issuer, outbound);
}

function chooseIssuer(named: readonly string[], { issuer, client, grant }: Limits): string {
  const first = named[0]!;
  const brings = client?.secret !== undefined || (grant && grant.kind !== 'client_credentials');
  if (issuer === undefined) {
    if (!brings) return first;
    throw signInFailed(
      `The server names ${shown(first)} as its authorization server; if that is right, set it as the issuer: no secret is sent to one that was not named.`,
    );
  }
  const right = named.find((each) => isSame(each, issuer));
  if (right !== undefined) return right;
  throw signInFailed(
    `The server names ${shown(first)} as its authorization server, and only ${issuer} is accepted; nothing was sent. Change the issuer if that is right.`,
  );
}

function isSame(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;
}

function shown(issuer: string): string {
  return issuer.slice(0, 200).replaceAll(/[^\x21-\x7e]/g, '?');
}
