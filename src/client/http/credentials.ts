import { andThen, type Awaitable } from '../../base/awaitable.ts';
import { SignInNeeded } from '../errors.ts';
import type { Authorizer, Challenge } from '../sign-in/authorizer.ts';
import type { Reply } from './reply.ts';

const NONE: readonly string[] = [];
const MAX_RETRIES = 3;

/** What a request was sent with, and how often. */
export interface Refused {
  readonly retries: number;
  readonly method: string;
  readonly own: readonly string[];
}

/** The credentials of one connection: what to send, and what to do when the server wants others. */
export class Credentials {
  readonly #url: string;
  readonly #authorizer: Authorizer | undefined;

  constructor(url: URL, authorizer: Authorizer | undefined) {
    this.#url = url.href;
    this.#authorizer = authorizer;
  }

  /** The headers to add, names and values in turn; at once unless a token has to be fetched first. */
  headers(method: string, body?: string): Awaitable<readonly string[]> {
    if (!this.#authorizer) return NONE;
    const request = { url: this.#url, method, ...(body !== undefined && { body }) };
    return andThen(this.#authorizer.headers(request), (headers) => Object.entries(headers).flat());
  }

  /** Whether the credentials can resolve this status. */
  canAnswer(status: number, reply: Reply): boolean {
    if (!this.#authorizer) return false;
    return status === 401 || /\binsufficient_scope\b/.test(reply.header('www-authenticate') ?? '');
  }

  /** Gets better credentials, or fails with what a person has to do. */
  async challenged(reply: Reply, { retries, method, own }: Refused): Promise<void> {
    const challenge: Challenge = {
      status: reply.status === 403 ? 403 : 401,
      wwwAuthenticate: reply.header('www-authenticate'),
      dpopNonce: reply.header('dpop-nonce'),
      url: this.#url,
      method,
      sent: Object.fromEntries(pairs(own)),
      retries,
    };
    const answer = retries < MAX_RETRIES ? await this.#authorizer!.challenged(challenge) : undefined;
    if (answer === 'retry') return;
    if (answer) throw new SignInNeeded(answer.reason, answer.remedy, answer.url);
    throw new SignInNeeded('The server refuses every credential.', 'Sign in again.');
  }
}

/** Whether a status asks for another credential. */
export function isRetryable(status: number): boolean {
  return status === 401 || status === 403;
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]!]] : []));
}
