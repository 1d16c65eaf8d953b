import { lookup } from 'node:dns/promises';
import { ToolcribError } from '../base/errors.ts';
import { createOutboundClient } from '../net/create-outbound-client.ts';

/** A document of public keys, and its max-age. */
export interface FetchedKeys {
  readonly text: string;
  readonly maxAgeSeconds: number | undefined;
}

const MAX_BYTES = 262_144;
const TIMEOUT_MS = 5_000;
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Parses a URL that can be trusted: https, or this machine. */
export function parseTrustedUrl(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isTrusted = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
  if (url && isTrusted && url.username === '' && url.password === '') return url;
  throw new ToolcribError(
    'invalid_setup',
    `${what} must be an https address, such as https://id.example.com (http only for this machine).`,
  );
}

/** Fetches a document of public keys, from the given origin only. */
export async function fetchKeys(url: URL): Promise<FetchedKeys> {
  const client = createOutboundClient({
    hosts: [],
    trustedOrigins: [url.origin],
    maxRedirects: 0,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    resolve,
  });
  const { status, headers, body, isCut } = await client.request(url.href, {
    headers: { accept: 'application/json' },
  });
  if (status !== 200) throw new Error(`The issuer's keys were answered with status ${status}.`);
  if (isCut) throw new Error(`The issuer's keys are larger than ${MAX_BYTES} bytes.`);
  return { text: Buffer.from(body).toString('utf8'), maxAgeSeconds: maxAgeOf(headers['cache-control']) };
}

// Not through the limited lookups of tools: slow lookups there must not block signing in.
async function resolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
}

function maxAgeOf(cacheControl: string | undefined): number | undefined {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:[\s,]|$)/i.exec(cacheControl ?? '')?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
