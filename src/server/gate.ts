import { localCaller, type Caller } from '../core/caller.ts';
import { accident, ToolcribError } from '../core/errors.ts';
import { isThenable, type Awaitable } from '../core/source.ts';
import {
  admit,
  corsHeaders,
  hasAllowedOrigin,
  requireJsonPost,
  requireUncompressed,
  type EndpointOptions,
  type Head,
} from './endpoint.ts';
import { refuse } from './exchange.ts';
import type { Answer } from './link.ts';
import type { ServerOptions } from './options.ts';

/** What goes back over HTTP, head included. */
export interface HttpAnswer extends Answer {
  readonly headers: Readonly<Record<string, string>>;
}

/** The way in from HTTP: who may come through, before any byte of the body is read. */
export class Gate {
  readonly #options: ServerOptions;
  readonly #endpoint: EndpointOptions;

  constructor(options: ServerOptions, endpoint: Pick<EndpointOptions, 'path' | 'allowedHosts'>) {
    this.#options = options;
    this.#endpoint = {
      ...endpoint,
      allowedOrigins: options.allowedOrigins ?? [],
      open: options.authenticate === undefined,
    };
  }

  /** What a browser may do here, asked before the real request. */
  preflight(head: Head): Record<string, string> {
    admit(head, this.#endpoint);
    return corsHeaders(head);
  }

  /** Names the caller of a request that may go on; throws otherwise. */
  enter(head: Head): Awaitable<Caller> {
    admit(head, this.#endpoint);
    const caller = this.#identify(head);
    return caller instanceof Promise ? caller.then((known) => passed(head, known)) : passed(head, caller);
  }

  /** The answer to a request that was not let in. */
  refuse(head: Head, error: unknown): HttpAnswer {
    const known = error instanceof ToolcribError ? error : this.#report(error);
    // A page that may not call may not read why, either.
    const cors = hasAllowedOrigin(head, this.#endpoint) ? corsHeaders(head) : {};
    return { ...refuse(undefined, known), headers: { ...cors, ...EXTRA_HEADERS.get(known.code) } };
  }

  #identify(head: Head): Awaitable<Caller | undefined> {
    const { authenticate } = this.#options;
    if (!authenticate) return localCaller;
    try {
      const answer = authenticate(head);
      if (!isThenable(answer)) return answer;
      return Promise.resolve(answer).catch((error: unknown) => this.#nobody(error));
    } catch (error) {
      return this.#nobody(error);
    }
  }

  // A sign-in check that breaks lets nobody in.
  #nobody(cause: unknown): undefined {
    this.#options.log?.('error', 'authenticate failed, so its caller was refused.', { cause });
    return undefined;
  }

  #report(error: unknown): ToolcribError {
    const known = accident('internal', 'The server failed unexpectedly', error);
    this.#options.log?.('error', known.message, { incident: known.incident, cause: error });
    return known;
  }
}

const EXTRA_HEADERS = new Map<string, Record<string, string>>([
  ['unauthenticated', { 'www-authenticate': 'Bearer' }],
  ['method_not_allowed', { allow: 'POST' }],
]);

function passed(head: Head, caller: Caller | undefined): Caller {
  if (!isCaller(caller))
    throw new ToolcribError('unauthenticated', 'Sign in first: this endpoint does not know you.');
  requireUncompressed(head);
  if (head.method !== 'GET' && head.method !== 'DELETE') requireJsonPost(head);
  return caller;
}

// Whatever else a sign-in check hands back is nobody: an empty object must not pass for a caller.
function isCaller(caller: Partial<Caller> | undefined): caller is Caller {
  return typeof caller?.id === 'string' && typeof caller.tenant?.id === 'string';
}
