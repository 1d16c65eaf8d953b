/** One request to somewhere else. */
export interface OutboundRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** Less time than the client allows. */
  readonly timeoutMs?: number;
}

/** What came back, with as much of the body as may be kept. */
export interface OutboundResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Whether the body went on beyond the limit. */
  readonly isCut: boolean;
}

/** Where requests may go, and how far. */
export interface OutboundOptions {
  /** Names that may be reached over https: exact, or `*.example.com` for everything below it. Nothing else can be. */
  readonly hosts: readonly string[];
  /** Origins the operator vouches for, such as `http://127.0.0.1:8080`: neither https nor a public address is asked of them. */
  readonly trustedOrigins?: readonly string[];
  /** Ports that may be reached; 443 alone unless set. */
  readonly ports?: readonly number[];
  /** How many redirects are followed, each checked like the first address; 3 unless set. */
  readonly maxRedirects?: number;
  /** How long everything may take; 10 seconds unless set. */
  readonly timeoutMs?: number;
  /** The longest body that is read; 1 MiB unless set. */
  readonly maxBytes?: number;
  /** Finds the addresses of a name; the system's resolver unless set. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Which addresses may be reached, instead of the public ones; for tests and private networks. */
  readonly isAllowed?: (address: string) => boolean;
  /** Certificates of authorities to trust beside the usual ones. */
  readonly ca?: string;
}

/** Why a request was not made, or came to nothing. */
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

/** The part of the standard `fetch` that tools use, so that another one can be put in its place. */
export type Fetch = (
  url: string,
  init?: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly signal?: AbortSignal;
  },
) => Promise<Response>;
