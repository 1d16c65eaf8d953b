import { isObject } from '../base/json.ts';
import { parseJson } from '../base/parse-json.ts';
import { parseTrustedUrl, type FetchDocument, type FetchedDocument } from './fetch-document.ts';

/** The place of an issuer's keys, and how documents are fetched. */
export interface KeyPlace {
  /** Exactly what tokens say in `iss`. */
  readonly issuer: string;
  /** The URL of the keys; named by the issuer's metadata unless set. */
  readonly jwks: string | undefined;
  readonly fetch: FetchDocument;
}

/** Checks the place of an issuer's keys, and returns a function that fetches them. */
export function keyReader({ issuer, jwks, fetch }: KeyPlace): () => Promise<FetchedDocument> {
  const named = parseTrustedUrl(issuer, 'issuer');
  const set = jwks === undefined ? undefined : parseTrustedUrl(jwks, 'jwks');
  return set ? () => mustHave(fetch(set, set), set) : () => discover(issuer, named, fetch);
}

// The metadata is fetched with the keys each time, so that an issuer may move its keys.
async function discover(issuer: string, named: URL, fetch: FetchDocument): Promise<FetchedDocument> {
  const base = named.href.replace(/\/$/, '');
  const path = named.pathname.replace(/\/$/, '');
  const documents = [
    `${base}/.well-known/openid-configuration`,
    `${named.origin}/.well-known/oauth-authorization-server${path}`,
  ];
  for (const document of documents) {
    const found = await fetch(new URL(document), named);
    if (!found) continue;
    const url = keysIn(found.text, issuer);
    return mustHave(fetch(url, named), url);
  }
  const usual = new URL(`${base}/.well-known/jwks.json`);
  return mustHave(fetch(usual, named), usual);
}

// Metadata of another issuer is refused, or its keys would be trusted.
function keysIn(text: string, issuer: string): URL {
  const document = parseJson(text);
  if (!isObject(document) || document['issuer'] !== issuer)
    throw new Error("The issuer's document is about another issuer; set issuer to exactly what it names.");
  const { jwks_uri: keys } = document;
  if (typeof keys !== 'string') throw new Error("The issuer's document names no jwks_uri; set jwks.");
  return parseTrustedUrl(keys, 'jwks_uri');
}

async function mustHave(
  fetched: Promise<FetchedDocument | undefined>,
  { pathname }: URL,
): Promise<FetchedDocument> {
  const document = await fetched;
  if (!document) throw new Error(`The issuer has nothing at ${pathname}; set jwks to where its keys are.`);
  return document;
}
