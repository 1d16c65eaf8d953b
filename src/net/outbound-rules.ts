import { lookup } from 'node:dns/promises';
import { ToolcribError } from '../base/errors.ts';
import type { OutboundOptions } from './outbound.ts';
import { isGlobalAddress, isIpHost } from './is-global-address.ts';
import { limitLookups } from './limit-lookups.ts';
import { proxyFor } from './proxies.ts';

/** The options of a client, checked and with defaults filled in. */
export interface OutboundRules {
  readonly isListed: (host: string) => boolean;
  readonly isTrusted: (origin: string) => boolean;
  readonly ports: ReadonlySet<number>;
  readonly maxRedirects: number;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly resolve: (host: string, stop: AbortSignal) => Promise<readonly string[]>;
  readonly isAllowed: (address: string) => boolean;
  readonly proxyFor: (url: URL) => URL | undefined;
  readonly ca: string | undefined;
}

/** Checks the options of a client and fills in defaults. */
export function readRules(options: OutboundOptions): OutboundRules {
  const origins = (options.trustedOrigins ?? []).map(readOrigin);
  const trusted = new Set(origins.map(({ origin }) => origin));
  return {
    isListed: hostMatcher(options.hosts, new Set(origins.map(({ hostname }) => hostname))),
    isTrusted: (origin) => trusted.has(origin),
    ports: new Set(options.ports ?? [443]),
    maxRedirects: options.maxRedirects ?? 3,
    timeoutMs: options.timeoutMs ?? 10_000,
    maxBytes: options.maxBytes ?? 1_048_576,
    resolve: options.resolve ?? resolveWithSystem,
    isAllowed: options.isAllowed ?? isGlobalAddress,
    proxyFor: (url) => options.proxies && proxyFor(url, options.proxies),
    ca: options.ca,
  };
}

/** Makes a test for a list of hosts, exact or `*.` and a name; an IP address must be trusted to be listed. */
export function hostMatcher(
  hosts: readonly string[],
  trustedHosts: ReadonlySet<string>,
): (host: string) => boolean {
  const exact = new Set<string>();
  const suffixes: string[] = [];
  for (const pattern of hosts) {
    if (pattern.startsWith('*.')) suffixes.push(`.${readName(pattern.slice(2), pattern)}`);
    else exact.add(trustedHosts.has(pattern) ? pattern : readName(pattern, pattern));
  }
  return (host) =>
    exact.has(host) || suffixes.some((suffix) => host.length > suffix.length && host.endsWith(suffix));
}

/** Parses an origin the operator trusts. */
export function readOrigin(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (isPlain) return url;
  throw new ToolcribError(
    'invalid_setup',
    `${JSON.stringify(text)} is not an origin; write scheme, host and port alone, such as http://127.0.0.1:8080.`,
  );
}

// Parsed as a URL's host, so that upper case and other alphabets compare equal.
function readName(name: string, pattern: string): string {
  const host =
    /^[^\s/\\?#@:%[\]*]+$/.test(name) &&
    URL.canParse(`https://${name}`) &&
    new URL(`https://${name}`).hostname;
  if (host && !host.endsWith('.') && !isIpHost(host)) return host;
  throw new ToolcribError(
    'invalid_setup',
    `${JSON.stringify(pattern)} is not a host; write a name such as api.example.com, or *.example.com for everything below it.`,
  );
}

// One for the process, like its thread pool: half of the usual four threads are left for files.
const resolveWithSystem = limitLookups(async (host) => {
  const found = await lookup(host, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
}, 2);
