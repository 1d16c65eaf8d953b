import { localCaller, type Caller } from '../../core/caller.ts';
import { isNamed } from '../../core/caller-memory.ts';
import { ToolcribError } from '../../base/errors.ts';
import { andThen, isThenable, type Awaitable } from '../../base/awaitable.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import type { Accidents } from '../accidents.ts';
import {
  admit,
  corsHeaders,
  hasAllowedOrigin,
  nothingAt,
  requireJsonPost,
  requireUncompressed,
  type EndpointRules,
  type Head,
} from './endpoint.ts';
import { refusalAnswer, type Answer } from '../answer.ts';
import type { ServerOptions } from '../options.ts';
import { challengeScope, challengeUnknown, metadataOf, type ResourceMetadata } from './protected-resource.ts';
import { noteRefusal, noteUnknown } from '../refusals.ts';

/** An answer with the headers it has over HTTP. */
export interface HttpAnswer extends Answer {
  readonly headers: Readonly<Record<string, string>>;
}

const LONG_BODY_MS = 1_000;

/** The way in from HTTP: who may come through, before any byte of the body is read. */
export class Gate {
  readonly #options: ServerOptions;
  readonly #endpoint: EndpointRules;
  readonly #metadata: ResourceMetadata | undefined;
  readonly #allow: string;
  readonly #clock: Clock;
  /** Where what fails behind this way in is reported. */
  readonly accidents: Accidents;

  constructor(
    options: ServerOptions & { readonly accidents: Accidents },
    { allow = 'POST', ...endpoint }: Pick<EndpointRules, 'path' | 'tenants' | 'allowedHosts'> & GateOptions,
  ) {
    this.#options = options;
    this.accidents = options.accidents;
    this.#allow = allow;
    this.#clock = options.clock ?? systemClock;
    this.#metadata = options.resource && metadataOf(options.resource);
    this.#endpoint = {
      ...endpoint,
      allowedOrigins: options.allowedOrigins ?? [],
      open: options.authenticate === undefined,
    };
  }

  /** The answer to the question that a browser sends before the request itself. */
  preflight(head: Head): Record<string, string> {
    admit(head, this.#endpoint);
    return corsHeaders(head);
  }

  /** Names the caller of a request that may go on; throws otherwise. */
  enter(head: Head): Awaitable<Caller> {
    const tenant = admit(head, this.#endpoint);
    const caller = this.#identify(head);
    return caller instanceof Promise
      ? caller.then((known) => this.#pass(head, known, tenant))
      : this.#pass(head, caller, tenant);
  }

  /** The time, noted before a body is read; `recheck` needs it. */
  now(): number {
    return this.#clock.ticks();
  }

  /** The caller, once the body was read: after a slow body it is signed in again, because its key may be revoked. */
  recheck(head: Head, caller: Caller, enteredAt: number): Awaitable<Caller> {
    return this.#clock.ticks() - enteredAt < LONG_BODY_MS ? caller : this.enter(head);
  }

  /** Lets a GET through to a route; only one that needs a scope has a caller. */
  enterRoute(head: Head, scope: string | undefined): Awaitable<Caller | undefined> {
    admit(head, this.#endpoint);
    if (scope === undefined) {
      requireGet(head);
      return undefined;
    }
    return andThen(this.#identify(head), (known) => {
      const caller = requireCaller(known);
      try {
        requireGet(head);
        // In open mode every caller is local, and may do everything.
        if (!this.#endpoint.open && !caller.scopes.includes(scope)) throw lacksScope(scope);
        return caller;
      } catch (error) {
        noteRefusal(this.#options, error, { caller });
        throw error;
      }
    });
  }

  /** The answer to a request that failed the sign-in, or was refused later; `caller` is set once it is known. */
  refuse(head: Head, error: unknown, caller?: Caller): HttpAnswer {
    const known = this.accidents.known(error);
    if (caller) noteRefusal(this.#options, known, { caller });
    else noteUnknown(this.#options, known);
    // A page that may not call must not read the reason, either.
    const cors = hasAllowedOrigin(head, this.#endpoint) ? corsHeaders(head) : {};
    return { ...refusalAnswer(undefined, known), headers: { ...cors, ...this.#extraHeaders(head, known) } };
  }

  #extraHeaders({ headers }: Head, { code, data }: ToolcribError): Record<string, string> {
    if (code === 'method_not_allowed') return { allow: this.#allow };
    if (code === 'insufficient_scope')
      return { 'www-authenticate': challengeScope(this.#metadata, data?.['scope']) };
    if (code === 'rate_limited')
      return { 'retry-after': String(Math.ceil(Number(data?.['retryAfterMs']) / 1000)) };
    if (code !== 'unauthenticated') return {};
    const hasCredential = headers['authorization'] !== undefined || headers['x-api-key'] !== undefined;
    return { 'www-authenticate': challengeUnknown(this.#metadata, hasCredential) };
  }

  #pass(head: Head, known: Caller | undefined, tenant: string | undefined): Caller {
    const caller = requireCaller(known);
    try {
      // The same answer as for a tenant that does not exist.
      if (tenant !== undefined && tenant !== caller.tenant.id) throw nothingAt(this.#endpoint.path);
      requireUncompressed(head);
      if (head.method !== 'GET' && head.method !== 'DELETE') requireJsonPost(head);
      return caller;
    } catch (error) {
      noteRefusal(this.#options, error, { caller });
      throw error;
    }
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

  // A sign-in check that throws refuses the request; it may also report that a known caller's token is not enough.
  #nobody(cause: unknown): undefined {
    if (cause instanceof ToolcribError && cause.code === 'insufficient_scope') throw cause;
    this.#options.log?.('error', 'authenticate failed, so its caller was refused.', { cause });
    return undefined;
  }
}

/** Further settings of a gate. */
interface GateOptions {
  /** The allowed method, for the refusal of any other. */
  readonly allow?: string;
}

function requireCaller(caller: Caller | undefined): Caller {
  if (isCaller(caller)) return caller;
  throw new ToolcribError('unauthenticated', 'Sign in first: this endpoint does not know you.');
}

function requireGet({ method }: Head): void {
  if (method !== 'GET') throw new ToolcribError('method_not_allowed', 'Read this with GET.');
}

function lacksScope(scope: string): ToolcribError {
  return new ToolcribError('insufficient_scope', `You may not read this; it needs the scope ${scope}.`, {
    data: { scope },
  });
}

// Any other value of a sign-in check is refused: an empty object must not count as a caller.
function isCaller(caller: Partial<Caller> | undefined): caller is Caller {
  if (isNamed(caller)) return true;
  return typeof caller?.id === 'string' && typeof caller.tenant?.id === 'string';
}
