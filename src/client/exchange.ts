import type { Progress } from '../core/call.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';

/** The answer to a request, and the message it came in. */
export interface Received {
  readonly result: JsonObject;
  /** The whole message, as it came. */
  readonly bytes: Uint8Array;
}

/** What is sent. */
export interface Outgoing {
  readonly id: number;
  readonly method: string;
  readonly body: string;
  /** What the request is about, for proxies: a tool, a prompt, an address or a task. */
  readonly subject: string | undefined;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** One request under way. */
export class Exchange {
  readonly outgoing: Outgoing;
  onProgress: ((progress: Progress) => void) | undefined;
  /** Told of everything on the stream of this request that is neither an answer nor progress. */
  onNotice: ((method: string, params: JsonObject) => void) | undefined;
  /** Stops what the transport does for it. */
  stop: (() => void) | undefined;
  /** Undoes the deadline and the listener for the caller's signal. */
  release: (() => void) | undefined;
  /** Lets the limit of time begin anew. */
  extend: (() => void) | undefined;
  /** Leaves only the absolute limit, while a person is asked. */
  pause: (() => void) | undefined;
  isOver = false;
  /** It was sent a second time. */
  isRepeated = false;
  /** Messages that came before the answer. */
  messages = 0;
  lastProgress = -Infinity;
  readonly #resolve: (received: Received) => void;
  readonly #reject: (error: unknown) => void;

  constructor(outgoing: Outgoing, resolve: (received: Received) => void, reject: (error: unknown) => void) {
    this.outgoing = outgoing;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Ends it with an answer. */
  settle(received: Received): void {
    if (this.#end()) this.#resolve(received);
  }

  /** Ends it with a failure. */
  fail(error: unknown): void {
    if (this.#end()) this.#reject(error);
  }

  #end(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    this.release?.();
    return true;
  }
}
