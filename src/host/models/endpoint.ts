import type { Pool } from 'undici';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { openPool } from '../../client/http/pool.ts';
import { Secrets } from '../../observe/secrets.ts';
import type { EndpointLimits, EndpointOptions } from './endpoint-options.ts';

/** An endpoint that requests can be sent to. */
export interface Endpoint {
  readonly name: string;
  readonly url: URL;
  /** Its name in messages. */
  readonly label: string;
  readonly keyVariable: string;
  readonly hasKey: boolean;
  readonly headers: readonly string[];
  readonly limits: EndpointLimits;
  readonly clock: Clock;
  /** Takes the key and the headers out of text. */
  redact(text: string): string;
  /** The connections; opened with the first request, and closed when they are idle. */
  pool(): Promise<Pool>;
}

/** How an API is reached. */
export interface ApiAddress {
  readonly baseUrl: string;
  readonly path: string;
  readonly keyVariable: string;
  /** The headers that carry the key. */
  readonly keyHeaders: (key: string) => Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const DEFAULT_LIMITS: EndpointLimits = {
  connectMs: 30_000,
  idleMs: 300_000,
  totalMs: 1_800_000,
  eventBytes: 8 * 1_048_576,
  totalBytes: 64 * 1_048_576,
  retries: 4,
  waitMs: 180_000,
};

/** Prepares an endpoint; nothing is sent yet. */
export function createEndpoint(options: EndpointOptions, api: ApiAddress): Endpoint {
  const { name, key, headers = {}, clock = systemClock } = options;
  const url = addressOf(options.baseUrl ?? api.baseUrl, api.path);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const keyVariable = options.keyVariable ?? api.keyVariable;
  const hasKey = key !== undefined && key !== '';
  if (hasKey) checkHeader(key, keyVariable);
  const secrets = new Secrets();
  for (const secret of [key ?? '', ...Object.values(headers)]) secrets.add(secret);
  let opening: Promise<Pool> | undefined;
  return {
    name,
    url,
    label: `The model endpoint ${url.origin}`,
    keyVariable,
    hasKey,
    headers: headerList({
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      ...api.headers,
      ...(hasKey && api.keyHeaders(key)),
      ...lowerCased(headers),
    }),
    limits,
    clock,
    redact: (text) => secrets.redact(text),
    pool: () => (opening ??= openPool(url, {}, limits.connectMs)),
  };
}

/** Whether an endpoint belongs to the company behind its API. */
export function isOwnOf(domain: string, { url }: Pick<Endpoint, 'url'>): boolean {
  return url.hostname === domain || url.hostname.endsWith(`.${domain}`);
}

function addressOf(baseUrl: string, path: string): URL {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
    throw new ToolcribError('invalid_setup', 'The base URL of a model must begin with https:// or http://.');
  const url = new URL(baseUrl);
  if (url.username !== '' || url.password !== '')
    throw new ToolcribError('invalid_setup', 'The base URL of a model must not hold a user or a password.');
  let base = url.pathname;
  while (base.endsWith('/')) base = base.slice(0, -1);
  // Both spellings of a base URL are common, with and without the version.
  const version = /^\/v\d+(?=\/)/.exec(path)?.[0];
  url.pathname =
    version !== undefined && base.endsWith(version) ? base + path.slice(version.length) : base + path;
  url.hash = '';
  return url;
}

function checkHeader(key: string, variable: string): void {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  throw new ToolcribError(
    'invalid_setup',
    `The key in ${variable} holds a space, a line break or another character that no key has; copy it again.`,
  );
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function headerList(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat();
}
