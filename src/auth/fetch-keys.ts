import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { ToolcribError } from '../core/errors.ts';

/** A document of public keys, and how long it says it is good for. */
export interface FetchedKeys {
  readonly text: string;
  readonly maxAgeSeconds: number | undefined;
}

const MAX_BYTES = 262_144;
const TIMEOUT_MS = 5_000;
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** An address whose answers may be believed: encrypted, or of this machine. */
export function parseTrustedUrl(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isTrusted = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
  if (url && isTrusted && url.username === '' && url.password === '') return url;
  throw new ToolcribError(
    'invalid_setup',
    `${what} must be an https address, such as https://id.example.com (http only for this machine).`,
  );
}

/** Reads a document of public keys: no redirects, nothing compressed, within limits of size and time. */
export async function fetchKeys(url: URL): Promise<FetchedKeys> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    request(url, {
      signal,
      agent: false,
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    })
      .on('response', resolve)
      .on('error', reject)
      .end();
  });
  try {
    return { text: await readText(response), maxAgeSeconds: maxAgeOf(response.headers['cache-control']) };
  } finally {
    response.destroy();
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const { statusCode, headers } = response;
  // A redirect could lead anywhere, so it is a failure like any other status.
  if (statusCode !== 200) throw new Error(`The issuer's keys were answered with status ${statusCode}.`);
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new Error('The issuer sent its keys compressed, although it was asked not to.');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += (chunk as Buffer).length;
    if (size > MAX_BYTES) throw new Error(`The issuer's keys are larger than ${MAX_BYTES} bytes.`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function maxAgeOf(cacheControl: string | undefined): number | undefined {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:[\s,]|$)/i.exec(cacheControl ?? '')?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
