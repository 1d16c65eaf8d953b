import { nothing } from '../base/awaitable.ts';
import type { Call, ClientFacts, ClientLogLevel, Publication } from './call.ts';
import type { Caller, Tenant } from './caller.ts';
import type { ResourceLinkBlock } from './content.ts';
import { ToolcribError } from '../base/errors.ts';
import { checkFormSchema } from './interview.ts';
import type { HandlerInput } from '../schema/infer.ts';
import type { ElicitAnswer, Root, SampleAnswer } from './question.ts';
import { readInputSchema, type ObjectSchema, type SchemaLike } from '../schema/schema.ts';

/** A form for the user: what is asked and what for. */
export interface FormRequest<S extends SchemaLike = SchemaLike> {
  readonly message: string;
  /** Flat: text, numbers, choices, yes and no. Never ask for secrets; use a page for those. */
  readonly schema: S;
  /** Names the question across runs; its place in the order unless given. */
  readonly key?: string;
}

/** A page the user should visit. */
export interface UrlRequest {
  readonly message: string;
  readonly url: string;
  readonly key?: string;
}

/** A prompt for the client's model, in the protocol's own terms. */
export interface SampleRequest {
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: unknown }[];
  readonly maxTokens: number;
  readonly key?: string;
  readonly [param: string]: unknown;
}

/** A tenant as `ctx.context_data` shows it; a tenant without a name is `Unknown`. */
export interface ContextData {
  readonly id: string;
  readonly name: string;
  readonly [fact: string]: unknown;
}

/** What a registry shares with its handlers; declare your own members by declaration merging. */
export interface Services {
  readonly [name: string]: unknown;
}

/**
 * What a handler gets beside its arguments. On 2026-07-28 a question (`elicit`, `sample`, `roots`) ends the request,
 * and the client's retry runs the handler again from the top with the answer in hand: what comes before a question must
 * be safe to repeat.
 */
export interface ToolContext {
  readonly caller: Caller;
  readonly tenant: Tenant;
  /** The tenant's facts in one object, under the name other systems know them by. */
  readonly context_data: ContextData;
  /** What the registry shares with its handlers, such as a connection pool. */
  readonly services: Services;
  readonly client: ClientFacts;
  /** The request's `_meta`, as sent. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Aborted when the client cancels or goes away, or the call takes too long. */
  readonly signal: AbortSignal;
  /** Tells the client how far the work is; does nothing when it did not ask. Must grow from one report to the next. */
  readonly progress: (done: number, total?: number, message?: string) => void;
  /** Sends a log entry to the client, if it wants entries of that level. */
  readonly log: (level: ClientLogLevel, data: unknown, logger?: string) => void;
  /** Asks the user. Questions asked in the same turn (`Promise.all`) go out together. */
  readonly elicit: {
    <const S extends SchemaLike>(request: FormRequest<S>): Promise<ElicitAnswer<HandlerInput<S>>>;
    (request: UrlRequest): Promise<{ readonly action: ElicitAnswer['action'] }>;
  };
  /** Asks the client's model. */
  readonly sample: (request: SampleRequest) => Promise<SampleAnswer>;
  /** Asks which folders the client works in. */
  readonly roots: (options?: { readonly key?: string }) => Promise<readonly Root[]>;
  /** Makes the call a task where the client supports tasks; elsewhere the call simply continues. */
  readonly detach: () => void;
  /**
   * Keeps something large for the caller alone to fetch, and returns a link to put into the result; needs `publish:
   * true` on the server.
   */
  readonly publish: (publication: Publication) => ResourceLinkBlock;
  /** Runs something when the call is over, however it ended; the last one registered runs first. */
  readonly onCleanup: (cleanup: () => unknown) => void;
  /** Closes the event stream where the client can come back for the result (2025-11-25); elsewhere does nothing. */
  readonly closeStream: () => void;
}

/**
 * The context of a call. Members are getters, so that nothing is made before it is asked for, and handlers can call
 * them alone.
 */
export class CallContext implements ToolContext {
  readonly #call: Call;
  readonly #services: Services | undefined;
  #cleanups: (() => unknown)[] | undefined;

  constructor(call: Call, services?: Services) {
    this.#call = call;
    this.#services = services;
  }

  get caller(): Caller {
    return this.#call.caller;
  }

  get tenant(): Tenant {
    return this.#call.caller.tenant;
  }

  get context_data(): ContextData {
    const { id, name, data } = this.#call.caller.tenant;
    return { ...data, id, name: name || 'Unknown' };
  }

  get services(): Services {
    return this.#services ?? NO_SERVICES;
  }

  get client(): ClientFacts {
    return this.#call.client;
  }

  get meta(): Readonly<Record<string, unknown>> {
    return this.#call.meta;
  }

  get signal(): AbortSignal {
    return this.#call.cancellation.signal;
  }

  get progress(): ToolContext['progress'] {
    const { report } = this.#call.voice;
    if (!report) return nothing;
    return (done, total, message) =>
      report({
        progress: done,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      });
  }

  get log(): ToolContext['log'] {
    return this.#call.voice.log ?? nothing;
  }

  get elicit(): ToolContext['elicit'] {
    const { interview } = this.#call;
    return (request: FormRequest | UrlRequest): Promise<never> => {
      const { message, key } = request;
      if ('url' in request)
        return interview.put({ kind: 'url', message, url: request.url }, key) as Promise<never>;
      const schema = formSchema(request.schema);
      return interview.put({ kind: 'form', message, schema }, key) as Promise<never>;
    };
  }

  get sample(): ToolContext['sample'] {
    const { interview } = this.#call;
    return ({ key, ...params }) => interview.put({ kind: 'sample', params }, key) as Promise<SampleAnswer>;
  }

  get roots(): ToolContext['roots'] {
    const { interview } = this.#call;
    return ({ key } = {}) => interview.put({ kind: 'roots' }, key) as Promise<readonly Root[]>;
  }

  get detach(): ToolContext['detach'] {
    return this.#call.voice.detach ?? nothing;
  }

  get publish(): ToolContext['publish'] {
    const { publish } = this.#call.voice;
    if (publish) return publish;
    throw new ToolcribError(
      'tool_failed',
      'This server publishes nothing: pass publish: true to createServer.',
    );
  }

  get onCleanup(): ToolContext['onCleanup'] {
    return (cleanup) => {
      (this.#cleanups ??= []).push(cleanup);
    };
  }

  /** Runs what the handler registered to be run at the end; none of it can change how the call ended. */
  cleanUp(): Promise<void> | undefined {
    const cleanups = this.#cleanups;
    this.#cleanups = undefined;
    return cleanups && runInTurn(cleanups.toReversed());
  }

  get closeStream(): ToolContext['closeStream'] {
    return this.#call.voice.closeStream ?? nothing;
  }
}

async function runInTurn(cleanups: readonly (() => unknown)[]): Promise<void> {
  for (const cleanup of cleanups) {
    try {
      await cleanup();
    } catch {
      // The call already has its result, and this is not awaited.
    }
  }
}

const NO_SERVICES: Services = Object.freeze({});

// Handlers write their forms in place, so the same form comes as a new object every time; compiling it again would cost
// a millisecond.
function formSchema(schema: SchemaLike): ObjectSchema {
  const read = readInputSchema(schema).json;
  const text = JSON.stringify(read);
  const known = forms.get(text);
  if (known) return known;
  checkFormSchema(read);
  if (forms.size >= MAX_FORMS) forms.clear();
  forms.set(text, read);
  return read;
}

const MAX_FORMS = 1_000;
const forms = new Map<string, ObjectSchema>();
