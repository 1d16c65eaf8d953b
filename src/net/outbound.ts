import type { Proxies } from './proxies.ts';

/** A request to another server. */
export interface OutboundRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** A shorter timeout than the client's own. */
  readonly timeoutMs?: number;
}

/** A response, with the body up to the limit. */
export interface OutboundResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Whether the body was longer than the limit. */
  readonly isCut: boolean;
}

/** Which hosts a client may reach, and within which limits. */
export interface OutboundOptions {
  /**
   * Hosts that may be reached over https: exact, or `*.example.com` for all names below it. All others are
   * refused.
   */
  readonly hosts: readonly string[];
  /**
   * Origins the operator trusts, such as `http://127.0.0.1:8080`: they need neither https nor a public address.
   */
  readonly trustedOrigins?: readonly string[];
  /** Ports that may be reached; 443 alone unless set. */
  readonly ports?: readonly number[];
  /** How many redirects are followed, each checked like the first URL; 3 unless set. */
  readonly maxRedirects?: number;
  /** Timeout for the whole request, redirects included; 10 seconds unless set. */
  readonly timeoutMs?: number;
  /** The longest body that is read; 1 MiB unless set. */
  readonly maxBytes?: number;
  /** Resolves a host name; the system's resolver unless set. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Which addresses may be reached, instead of the public ones; for tests and private networks. */
  readonly isAllowed?: (address: string) => boolean;
  /** Proxies to go through, which look names up in our place; none unless set. */
  readonly proxies?: Proxies;
  /** CA certificates to trust in addition to the usual ones. */
  readonly ca?: string;
}

/** Why a request was refused or failed. */
export type OutboundReason =
  | 'invalid_url'
  | 'not_https'
  | 'refused_request'
  | 'refused_host'
  | 'refused_address'
  | 'refused_redirect'
  | 'encoded'
  | 'too_large'
  | 'timed_out'
  | 'cancelled'
  | 'failed';

/** A request that was refused or failed; the message says what to change and holds no address. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly reason: OutboundReason;

  constructor(reason: OutboundReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

/** The part of the standard `fetch` that tools use, so that it can be replaced. */
export type Fetch = (
  url: string,
  init?: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly signal?: AbortSignal;
  },
) => Promise<Response>;
