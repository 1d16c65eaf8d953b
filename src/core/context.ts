import type { ClientFacts, ToolCall } from './call.ts';
import type { Caller, Tenant } from './caller.ts';

/** What a handler gets beside its arguments. */
export interface ToolContext {
  readonly caller: Caller;
  readonly tenant: Tenant;
  readonly client: ClientFacts;
  /** The request's `_meta`, as sent. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Aborted when the client cancels or goes away, or the call takes too long. */
  readonly signal: AbortSignal;
  /** Tells the client how far the work is; does nothing when it did not ask. Must grow from one report to the next. */
  readonly progress: (done: number, total?: number, message?: string) => void;
}

/** The context of a call; nothing in it is made before it is asked for. */
export function contextOf(call: ToolCall): ToolContext {
  return new CallContext(call);
}

class CallContext implements ToolContext {
  readonly #call: ToolCall;

  constructor(call: ToolCall) {
    this.#call = call;
  }

  get caller(): Caller {
    return this.#call.caller;
  }

  get tenant(): Tenant {
    return this.#call.caller.tenant;
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

  // A getter, so that handlers can take it out of the context and call it alone.
  get progress(): ToolContext['progress'] {
    const { report } = this.#call;
    if (!report) return () => {};
    return (done, total, message) =>
      report({
        progress: done,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      });
  }
}
