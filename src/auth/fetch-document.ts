import { lookup } from 'node:dns/promises';
import { isLoopback } from '../base/loopback.ts';
import { ToolcribError } from '../base/errors.ts';
import { createOutboundClient } from '../net/create-outbound-client.ts';

/** A document of an issuer, such as its public keys, and its max-age. */
export interface FetchedDocument {
  readonly text: string;
  readonly maxAgeSeconds: number | undefined;
}

/**
 * Fetches a document of an issuer; `undefined` if there is none. The origin of `named`, which the operator configured,
 * is trusted.
 */
export type FetchDocument = (url: URL, named: URL) => Promise<FetchedDocument | undefined>;

const MAX_BYTES = 262_144;
const TIMEOUT_MS = 5_000;

/** Parses a URL that can be trusted: https, or this machine. */
export function parseTrustedUrl(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isTrusted = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url && isTrusted && url.username === '' && url.password === '') return url;
  throw new ToolcribError(
    'invalid_setup',
    `${what} must be an https address, such as https://id.example.com (http only for this machine).`,
  );
}

/** Reads a document from the origin the operator named, or from another public host that the issuer names. */
export const fetchDocument: FetchDocument = async (url, named) => {
  const client = createOutboundClient({
    // The issuer may keep its keys on another host, but must not make this server send requests inside its own network.
    hosts: url.origin === named.origin ? [] : [url.hostname],
    trustedOrigins: [named.origin],
    maxRedirects: 0,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    resolve,
  });
  const { status, headers, body, isCut } = await client.request(url.href, {
    headers: { accept: 'application/json' },
  });
  if (status === 404) return undefined;
  if (status !== 200) throw new Error(`${url.pathname} was answered with status ${status}.`);
  if (isCut) throw new Error(`${url.pathname} is larger than ${MAX_BYTES} bytes.`);
  return { text: Buffer.from(body).toString('utf8'), maxAgeSeconds: maxAgeOf(headers['cache-control']) };
};

// Not through the limited lookups of tools: slow lookups there must not block signing in.
async function resolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
}

function maxAgeOf(cacheControl: string | undefined): number | undefined {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:[\s,]|$)/i.exec(cacheControl ?? '')?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
