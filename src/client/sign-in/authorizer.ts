import type { Awaitable } from '../../base/awaitable.ts';

/** A request that is about to be sent to the server. */
export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  /** The bytes to be sent, so that a proof can cover them. */
  readonly body?: Uint8Array | string;
}

/** An answer of the server that asks for another or a stronger credential. */
export interface Challenge {
  readonly status: 401 | 403;
  /** The `WWW-Authenticate` header, all of them joined by ", ". */
  readonly wwwAuthenticate: string | undefined;
  /** The `DPoP-Nonce` header. */
  readonly dpopNonce?: string | undefined;
  readonly url: string;
  readonly method: string;
  /** The headers `Authorizer.headers` gave for the request that was refused. */
  readonly sent: Readonly<Record<string, string>>;
  /** How often this very request was sent again after a challenge: 0 for the first one. */
  readonly retries: number;
}

/** A person has to sign in before the request can be sent again. */
export interface NeedsSignIn {
  readonly kind: 'needs_sign_in';
  /** The page to open in a browser; https, or http on this machine. */
  readonly url: string;
  /** Why, as a sentence. */
  readonly reason: string;
  /** What to do about it, as a sentence. */
  readonly remedy: string;
}

/** Gives requests to one server their credentials, and gets new ones when the server asks for them. */
export interface Authorizer {
  /**
   * Headers to add to a request; none for another origin than the server's. Answers at once unless a token has to be
   * fetched first.
   */
  headers(request: OutgoingRequest): Awaitable<Readonly<Record<string, string>>>;
  /**
   * Answers a 401 or 403: `retry` says that `headers` now has something better for the same request.
   * Fails with a `ToolcribError` of the code `sign_in_failed` if signing in is impossible or was refused.
   */
  challenged(challenge: Challenge, signal?: AbortSignal): Promise<'retry' | NeedsSignIn>;
  /** Ends what is under way: requests, timers and the callback listener. Tokens stay in their store. */
  close(): Promise<void>;
}
