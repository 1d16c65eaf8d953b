import type { Cancellation } from '../base/cancellation.ts';
import { LONGEST_TIMER_MS, type Clock } from '../base/clock.ts';
import { accident, ToolcribError } from '../base/errors.ts';
import { longIntegersAt, noteLongIntegers, notedLongIntegers } from '../base/exact-json.ts';
import { logLevels, type ClientLogLevel } from '../core/call.ts';
import type { Caller } from '../core/caller.ts';
import { isObject } from '../base/json.ts';
import {
  decodeMessages,
  type DecodedResponse,
  type Incoming,
  type Notice,
} from '../protocol/decode/message.ts';
import type { Received } from '../protocol/decode/received.ts';
import { mcpNameOf } from '../protocol/wire/headers.ts';
import { encodeNotification, type JsonObject } from '../protocol/wire/json-rpc.ts';
import { Cancelled, RemoteError, ToolTimeout } from './errors.ts';
import { PendingRequest, type RequestKeeper } from './pending-request.ts';
import type { Limits, RequestOptions, Timeouts } from './options.ts';
import { PendingRequests } from './pending-requests.ts';
import { writeRequest } from './request-text.ts';
import type { ServerQuestions } from './server-questions.ts';
import type { Dialect, Receiver, Transport } from './transport.ts';

/** How a request is sent, beside its method and parameters. */
export interface SendOptions extends RequestOptions {
  /** Headers that repeat arguments, names and values in turn. */
  readonly headers?: readonly string[];
  readonly onNotice?: PendingRequest['onNotice'];
  readonly onQuestion?: PendingRequest['onQuestion'];
  readonly onLog?: PendingRequest['onLog'];
  readonly onStreamClosed?: PendingRequest['onStreamClosed'];
  /** The caller on whose behalf the request is passed on. */
  readonly caller?: Caller;
  /** Stops it, in place of a signal. */
  readonly cancellation?: Cancellation;
  /** What the client behind this request can do, instead of what the connection declares. */
  readonly capabilities?: JsonObject;
  /** The lowest level of log messages for this call, instead of that of the connection. */
  readonly logLevel?: ClientLogLevel;
  /** How long to wait for the first message about it, if less than `timeoutMs`. */
  readonly withinMs?: number | undefined;
  /** The longest it may take, whatever progress it reports. */
  readonly absoluteMs?: number;
  /** A stream that stays open: the number of messages on it is not limited. */
  readonly isEndless?: boolean;
}

/** The parts of a connection. */
export interface ConnectionParts {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly limits: Limits;
  readonly questions: ServerQuestions;
  /** The `_meta` every request of this dialect carries, as JSON text. */
  readonly metaText: (
    dialect: Dialect,
    own: Pick<SendOptions, 'capabilities' | 'logLevel'>,
  ) => string | undefined;
  readonly trace: (() => Readonly<Record<string, string>> | undefined) | undefined;
  onNotice(notice: Notice): void;
  onWarning(text: string): void;
  onLost(error: Error): void;
}

const TIMED_OUT = 'The request timed out.';
const CANCELLED = 'The caller cancelled the request.';
const NO_HEADERS: readonly string[] = [];

/** Requests and their answers, over any transport. Every request ends: with an answer, a failure or a limit of time. */
export class Connection implements Receiver, RequestKeeper {
  readonly #parts: ConnectionParts;
  readonly #pending = new PendingRequests();
  #armedFor = Infinity;
  #disarm: () => void = () => {};
  #closed: ToolcribError | undefined;
  dialect: Dialect | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Forgets a request that is over. */
  forget(pending: PendingRequest): void {
    this.#pending.delete(pending);
  }

  /** How many requests are under way. */
  get underWay(): number {
    return this.#pending.size;
  }

  /** Sends a request and waits for its answer. */
  request(method: string, params: JsonObject, options: SendOptions = {}): Promise<Received> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed);
      const cause: unknown = options.signal?.reason ?? options.cancellation?.reason;
      if (cause !== undefined) return reject(new Cancelled({ cause }));
      const pending = this.#begin(method, params, { options, resolve, reject });
      this.#pending.add(pending);
      this.#limit(pending, options);
      this.#parts.transport.send(pending);
    });
  }

  /** Sends a notification. */
  async notify(method: string, params?: JsonObject): Promise<void> {
    if (!this.#closed) await this.#parts.transport.post(encodeNotification(method, params));
  }

  receive(message: Buffer, pending: PendingRequest | undefined): void {
    for (const incoming of decodeMessages(message)) {
      try {
        this.#take(incoming, pending);
      } catch (cause) {
        // Thrown while the output of a program is read, it would be uncaught and end the process.
        const { label } = this.#parts.transport;
        const request = incoming.kind === 'answer' ? (pending ?? this.#pending.get(incoming.id)) : undefined;
        if (request) request.fail(accident('internal', `The answer of ${label} could not be taken`, cause));
        else this.#parts.onWarning(`A message of ${label} could not be taken: ${String(cause)}`);
      }
    }
  }

  lost(error: Error): void {
    const cause = error instanceof ToolcribError ? error : gone(this.#parts.transport.label, error);
    for (const pending of this.#pending.all()) pending.fail(cause);
    this.#parts.questions.withdrawAll();
    if (!this.#closed) this.#parts.onLost(cause);
  }

  /** Ends every request and the transport. */
  async close(): Promise<void> {
    this.#closed ??= new ToolcribError('upstream_unavailable', 'The connection is closed.');
    for (const pending of this.#pending.all()) {
      this.#abandon(pending, CANCELLED);
      pending.fail(this.#closed);
    }
    this.#parts.questions.withdrawAll();
    this.#disarm();
    await this.#parts.transport.close();
  }

  #begin(
    method: string,
    params: JsonObject,
    {
      options,
      resolve,
      reject,
    }: {
      readonly options: SendOptions;
      readonly resolve: (received: Received) => void;
      readonly reject: (error: unknown) => void;
    },
  ): PendingRequest {
    const id = this.#pending.nextId();
    const { dialect } = this;
    const text = writeRequest(id, method, {
      params,
      meta: options.meta,
      trace: this.#parts.trace?.(),
      base: dialect && this.#parts.metaText(dialect, options),
      wantsProgress: options.onProgress !== undefined,
    });
    const mcpName = mcpNameOf(method, params);
    const headers = options.headers ?? NO_HEADERS;
    const pending = new PendingRequest({ id, method, body: text, mcpName, headers }, this, {
      resolve,
      reject,
    });
    pending.onProgress = options.onProgress;
    pending.onNotice = options.onNotice;
    pending.onQuestion = options.onQuestion;
    pending.onLog = options.onLog;
    pending.onStreamClosed = options.onStreamClosed;
    pending.caller = options.caller;
    if (options.isEndless === true) pending.messages = -Infinity;
    return pending;
  }

  // No timer, closure or listener of its own for a request that needs none: each would cost as much as sending it.
  #limit(pending: PendingRequest, options: SendOptions): void {
    const { clock, timeouts } = this.#parts;
    const stepMs = options.timeoutMs ?? timeouts.callMs;
    const now = clock.ticks();
    pending.stepMs = stepMs;
    pending.until = now + Math.max(stepMs, options.absoluteMs ?? timeouts.absoluteMs);
    pending.due = now + Math.min(stepMs, options.withinMs ?? stepMs);
    this.#arm(pending.due);
    const { signal, cancellation } = options;
    pending.cancellation = cancellation;
    cancellation?.watch(pending);
    if (signal) this.#follow(signal, pending);
  }

  // A method of its own, so that its closures are made only for requests with a signal.
  #follow(signal: AbortSignal, pending: PendingRequest): void {
    const cancel = (): void => this.cancel(pending, signal.reason as Error);
    signal.addEventListener('abort', cancel, { once: true });
    pending.release = () => signal.removeEventListener('abort', cancel);
  }

  /** Ends a request that is no longer awaited. */
  cancel(pending: PendingRequest, cause: Error): void {
    this.#stop(pending, new Cancelled({ cause }), CANCELLED);
  }

  #arm(due: number): void {
    if (due >= this.#armedFor) return;
    this.#disarm();
    this.#armedFor = due;
    const { clock } = this.#parts;
    const waitMs = Math.min(Math.max(1, due - clock.ticks()), LONGEST_TIMER_MS);
    this.#disarm = clock.after(waitMs, () => this.#sweep());
  }

  #sweep(): void {
    const now = this.#parts.clock.ticks();
    let next = Infinity;
    for (const pending of this.#pending.all()) {
      if (pending.due > now) next = Math.min(next, pending.due);
      else this.#stop(pending, new ToolTimeout(pending.overdueText), TIMED_OUT);
    }
    this.#armedFor = Infinity;
    this.#arm(next);
  }

  /** Lets the limit of a request begin anew, up to the absolute one. */
  extend(pending: PendingRequest): void {
    pending.due = Math.min(this.#parts.clock.ticks() + pending.stepMs, pending.until);
    this.#arm(pending.due);
  }

  #stop(pending: PendingRequest, error: ToolcribError, reason: string): void {
    if (pending.isOver) return;
    pending.fail(error);
    this.#abandon(pending, reason);
  }

  #abandon(pending: PendingRequest, reason: string): void {
    const { transport } = this.#parts;
    const text = transport.abandon(pending, reason);
    // Not awaited: if the server cannot be told, the request is over here all the same.
    if (text !== undefined) transport.post(text).catch(() => {});
  }

  #take(incoming: Incoming, pending: PendingRequest | undefined): void {
    switch (incoming.kind) {
      case 'answer':
        return this.#answer(incoming, pending);
      case 'notice':
        if (this.#isCounted(pending ?? this.#prolonged(incoming))) this.#notice(incoming, pending);
        return;
      case 'request':
        if (!this.#isCounted(pending)) return;
        return this.#parts.questions.take(incoming, pending ?? this.#pending.onlyCall(), (text) =>
          this.#parts.transport.post(text),
        );
      case 'unreadable': {
        const text = `${this.#parts.transport.label} sent a message that ${incoming.reason}.`;
        if (pending) pending.fail(new ToolcribError('invalid_answer', text));
        else this.#parts.onWarning(text);
      }
    }
  }

  // A server must not keep a request open for ever by sending messages.
  #isCounted(pending: PendingRequest | undefined): boolean {
    if (!pending) return true;
    if (++pending.messages <= this.#parts.limits.messagesPerRequest) return true;
    const text = `${this.#parts.transport.label} sent too many messages before its answer.`;
    this.#stop(pending, new ToolcribError('invalid_answer', text), CANCELLED);
    return false;
  }

  // On a stream that all requests share, only progress extends the time limit of one of them.
  #prolonged({ method, params }: Notice): PendingRequest | undefined {
    return method === 'notifications/progress' ? this.#pending.get(params['progressToken']) : undefined;
  }

  #answer({ id, received, error }: DecodedResponse, on: PendingRequest | undefined): void {
    const isOwn = on !== undefined && (id === on.outgoing.id || (error !== undefined && id === undefined));
    const pending = on ? (isOwn ? on : undefined) : this.#pending.get(id);
    if (!pending) {
      if (on)
        on.fail(
          new ToolcribError('invalid_answer', `${this.#parts.transport.label} answered another request.`),
        );
      return;
    }
    if (received) pending.settle(received);
    else if (this.#isOffered(error!, pending)) this.#parts.transport.send(pending);
    else pending.fail(new RemoteError(error!));
  }

  // A server that refuses a version, and yet lists it as supported, is asked once more.
  #isOffered({ code, data }: JsonObject, pending: PendingRequest): boolean {
    if (code !== -32022 || pending.isRepeated || this.dialect?.era !== 'modern') return false;
    const supported = isObject(data) ? data['supported'] : undefined;
    pending.isRepeated = true;
    return Array.isArray(supported) && supported.includes(this.dialect.version);
  }

  #notice(notice: Notice, on: PendingRequest | undefined): void {
    const { method, params } = notice;
    if (method === 'notifications/progress') return this.#progress(params, on);
    if (method === 'notifications/cancelled') this.#parts.questions.withdraw(params['requestId']);
    if (method === 'notifications/message') {
      noteData(params);
      if (this.#log(params, on)) return;
    }
    if (on?.onNotice) return on.onNotice(method, params);
    this.#parts.onNotice(notice);
  }

  #log({ level, data, logger }: JsonObject, on: PendingRequest | undefined): boolean {
    const call = on ?? this.#pending.onlyCall();
    const known = logLevels.find((name) => name === level);
    if (call === undefined || call === 'several' || !call.onLog || !known) return false;
    call.onLog(known, data, typeof logger === 'string' ? logger : undefined);
    return true;
  }

  #progress(params: JsonObject, on: PendingRequest | undefined): void {
    const { progressToken, progress, total, message } = params;
    const pending = on ?? this.#pending.get(progressToken);
    if (!pending?.onProgress || progressToken !== pending.outgoing.id || pending.isOver) return;
    if (typeof progress !== 'number' || progress <= pending.lastProgress) return;
    pending.lastProgress = progress;
    this.extend(pending);
    try {
      const report = {
        progress,
        ...(typeof total === 'number' && { total }),
        ...(typeof message === 'string' && { message }),
      };
      noteLongIntegers(report, notedLongIntegers(params));
      pending.onProgress(report);
    } catch (error) {
      this.#parts.onWarning(`onProgress failed: ${String(error)}`);
    }
  }
}

// The data is passed on alone, so its long integers are noted with it.
function noteData(params: JsonObject): void {
  const { data } = params;
  if (typeof data === 'object' && data !== null)
    noteLongIntegers(data, longIntegersAt(notedLongIntegers(params), 'data'));
}

function gone(label: string, cause: Error): ToolcribError {
  return new ToolcribError('upstream_unavailable', `The connection to ${label} was lost.`, { cause });
}
