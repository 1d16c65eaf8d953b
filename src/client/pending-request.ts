import type { Cancellation, StopListener } from '../base/cancellation.ts';
import type { ClientLogLevel, Progress } from '../core/call.ts';
import type { Caller } from '../core/caller.ts';
import type { Received } from '../protocol/decode/received.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';

/** A question of a server while a request is open. */
export interface RawQuestion {
  readonly method: string;
  readonly params: JsonObject;
}

/** Told of a log entry. */
export type OnLog = (level: ClientLogLevel, data: unknown, logger?: string) => void;

/** A request as it is sent. */
export interface Outgoing {
  readonly id: number;
  readonly method: string;
  readonly body: string;
  /** What the header `Mcp-Name` repeats for proxies: the tool, prompt, address or task. */
  readonly mcpName: string | undefined;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** Keeps the requests under way. */
export interface RequestKeeper {
  forget(pending: PendingRequest): void;
  /** Ends a request that is no longer awaited. */
  cancel(pending: PendingRequest, reason: Error): void;
  extend(pending: PendingRequest): void;
}

interface Settling {
  readonly resolve: (received: Received) => void;
  readonly reject: (error: unknown) => void;
}

/** Something that can be stopped. */
export interface Stoppable {
  stop(): void;
}

/** One request under way. */
export class PendingRequest implements StopListener {
  readonly outgoing: Outgoing;
  onProgress: ((progress: Progress) => void) | undefined;
  /** Told of every message on the stream of this request that is neither an answer nor progress. */
  onNotice: ((method: string, params: JsonObject) => void) | undefined;
  /** Answers questions that the server asks during this request. */
  onQuestion: ((asked: RawQuestion) => Promise<JsonObject>) | undefined;
  /** Told of the log entries that belong to this request. */
  onLog: OnLog | undefined;
  /** Told that the server closed the stream of this request, and wants to be asked for the rest of it later. */
  onStreamClosed: (() => void) | undefined;
  /** The caller on whose behalf it is passed on, if there is one. */
  caller: Caller | undefined;
  /** How many questions of the server are open. */
  questions = 0;
  /** The work of the transport for it. */
  work: Stoppable | undefined;
  /** Undoes the listener for the caller's signal. */
  release: (() => void) | undefined;
  /** Stops it, where it is passed on for a call. */
  cancellation: Cancellation | undefined;
  /** When it is given up, the longest it may take, and how long each step may. */
  due = Infinity;
  until = Infinity;
  stepMs = Infinity;
  isOver = false;
  /** It was sent a second time. */
  isRepeated = false;
  /** Messages that came before the answer. */
  messages = 0;
  lastProgress = -Infinity;
  readonly #keeper: RequestKeeper;
  readonly #promise: Settling;

  constructor(outgoing: Outgoing, keeper: RequestKeeper, promise: Settling) {
    this.outgoing = outgoing;
    this.#keeper = keeper;
    this.#promise = promise;
  }

  /** The error text for a request that took too long. */
  get overdueText(): string {
    const { method, mcpName } = this.outgoing;
    const what = mcpName === undefined ? method : `${method} ${mcpName}`;
    return `${what} had no answer within ${this.stepMs / 1000} s.`;
  }

  /** Leaves only the absolute limit, while a person is asked. */
  pause(): void {
    this.due = this.until;
  }

  /** Lets the limit of time begin anew. */
  extend(): void {
    if (!this.isOver) this.#keeper.extend(this);
  }

  onStop(reason: Error): void {
    this.#keeper.cancel(this, reason);
  }

  /** Ends it with an answer. */
  settle(received: Received): void {
    if (this.#end()) this.#promise.resolve(received);
  }

  /** Ends it with a failure. */
  fail(error: unknown): void {
    if (this.#end()) this.#promise.reject(error);
  }

  #end(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    this.release?.();
    this.cancellation?.unwatch(this);
    this.#keeper.forget(this);
    return true;
  }
}
