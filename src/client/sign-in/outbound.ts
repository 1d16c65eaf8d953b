import { isLoopback } from '../../base/loopback.ts';
import { createOutboundClient } from '../../net/create-outbound-client.ts';
import { isIpHost } from '../../net/is-global-address.ts';
import type { OutboundOptions } from '../../net/outbound.ts';
import { signInFailed } from './failure.ts';

/**
 * Requests a sign-in makes: to addresses the operator gave as they are, to addresses found in metadata only if they are
 * public.
 */
export interface SignInOutbound {
  /** The standard `fetch` as far as it is needed; a redirect, a long answer and a slow one are errors. */
  readonly fetch: (url: string, init?: OutboundInit) => Promise<Response>;
  /** Refuses an address that a person must not be sent to. */
  checkPage(url: string): URL;
}

/** What a request is made of. */
export interface OutboundInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Which addresses the operator gave, and how names are resolved. */
export interface SignInOutboundOptions extends Pick<
  OutboundOptions,
  'resolve' | 'isAllowed' | 'ca' | 'proxies'
> {
  /** The server's address; if it is on this machine, its authorization server may be, too. */
  readonly server: URL;
  /** Other addresses from the operator. */
  readonly given: readonly string[];
}

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 262_144;
const MAX_PAGE_LENGTH = 2_048;

/** Makes the requests of one server's sign-in. */
export function createSignInOutbound({ server, given, ...network }: SignInOutboundOptions): SignInOutbound {
  const origins = new Set([server.origin, ...given.map((url) => new URL(url).origin)]);
  const isLocal = isLoopback(server.hostname);
  const isTrusted = (url: URL): boolean =>
    origins.has(url.origin) || (isLocal && /^https?:$/.test(url.protocol) && isLoopback(url.hostname));
  return {
    fetch: (text, { method, headers, body, signal } = {}) => {
      const url = parseUrl(text);
      const client = createOutboundClient({
        ...network,
        hosts: isIpHost(url.hostname) || url.hostname === '' ? [] : [url.hostname],
        trustedOrigins: isTrusted(url) ? [url.origin] : [],
        ports: [url.port === '' ? 443 : Number(url.port)],
        maxRedirects: 0,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      });
      return client.fetch(text, {
        ...(method !== undefined && { method }),
        ...(headers && { headers }),
        ...(body !== undefined && { body: String(body) }),
        ...(signal && { signal }),
      });
    },
    checkPage: (text) => checkPage(text, isTrusted),
  };
}

function parseUrl(text: string): URL {
  if (URL.canParse(text)) return new URL(text);
  throw signInFailed('The metadata for signing in holds something that is not an address.');
}

// Some programs hand an address to a shell, so characters that mean something to one are refused.
function checkPage(text: string, isTrusted: (url: URL) => boolean): URL {
  const isPlain = text.length <= MAX_PAGE_LENGTH && /^https?:\/\/[\w\-.~:/?=&%@+,[\]]+$/.test(text);
  const url = isPlain && URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url && isTrusted(url) && isLoopback(url.hostname));
  if (url && isSafe && url.username === '' && url.password === '') return url;
  throw signInFailed(
    'The authorization server names a page for signing in that must not be opened: it has to be a plain https address.',
  );
}
