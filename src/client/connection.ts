import type { Cancellation } from '../base/cancellation.ts';
import type { Clock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import { logLevels, type ClientLogLevel } from '../core/call.ts';
import { ownerOf, type Caller } from '../core/caller.ts';
import { isObject } from '../base/json.ts';
import { decodeMessages, type Answer, type Incoming, type Notice } from '../protocol/decode/message.ts';
import { subjectOf } from '../protocol/wire/headers.ts';
import { encodeNotification, type JsonObject } from '../protocol/wire/json-rpc.ts';
import { Cancelled, RemoteError, ToolTimeout } from './errors.ts';
import { Exchange, type ExchangeKeeper, type Received } from './pending-request.ts';
import type { Limits, RequestOptions, Timeouts } from './options.ts';
import { Pending } from './pending-requests.ts';
import { writeRequest } from './request-text.ts';
import type { ServerQuestions } from './server-questions.ts';
import type { Dialect, Receiver, Transport } from './transport.ts';

/** What a request may say besides its parameters. */
export interface SendOptions extends RequestOptions {
  /** Headers that repeat arguments, names and values in turn. */
  readonly headers?: readonly string[];
  readonly onNotice?: Exchange['onNotice'];
  readonly onQuestion?: Exchange['onQuestion'];
  readonly onLog?: Exchange['onLog'];
  readonly onStreamClosed?: Exchange['onStreamClosed'];
  /** Whom the request is passed on for. */
  readonly caller?: Caller;
  /** Stops it, in place of a signal. */
  readonly cancellation?: Cancellation;
  /** What the client behind this request can do, instead of what the connection declares. */
  readonly capabilities?: JsonObject;
  /** The least important log entries to be told of, instead of those the connection asks for. */
  readonly logLevel?: ClientLogLevel;
  /** How long to wait for its first sign of life, where that is less than `timeoutMs`. */
  readonly withinMs?: number | undefined;
  /** The longest it may take, whatever progress it reports. */
  readonly absoluteMs?: number;
  /** A stream that stays open: the server may say as much on it as it likes. */
  readonly isEndless?: boolean;
}

/** What a connection is made of. */
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
// A timer set for longer fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Requests and their answers, over any transport. Every request ends: with an answer, a failure or a limit of time. */
export class Connection implements Receiver, ExchangeKeeper {
  readonly #parts: ConnectionParts;
  readonly #pending = new Pending();
  #armedFor = Infinity;
  #disarm: () => void = () => {};
  #closed: ToolcribError | undefined;
  dialect: Dialect | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Forgets a request that is over. */
  forget(exchange: Exchange): void {
    this.#pending.delete(exchange);
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
      const exchange = this.#begin(method, params, { options, resolve, reject });
      this.#pending.add(exchange);
      this.#limit(exchange, options);
      this.#parts.transport.send(exchange);
    });
  }

  /** Sends a notification. */
  async notify(method: string, params?: JsonObject): Promise<void> {
    if (!this.#closed) await this.#parts.transport.post(encodeNotification(method, params));
  }

  receive(message: Buffer, exchange: Exchange | undefined): void {
    for (const incoming of decodeMessages(message)) this.#take(incoming, message, exchange);
  }

  lost(error: Error): void {
    const cause = error instanceof ToolcribError ? error : gone(this.#parts.transport.label, error);
    for (const exchange of this.#pending.all()) exchange.fail(cause);
    if (!this.#closed) this.#parts.onLost(cause);
  }

  /** Ends every request and the transport. */
  async close(): Promise<void> {
    this.#closed ??= new ToolcribError('upstream_unavailable', 'The connection is closed.');
    for (const exchange of this.#pending.all()) {
      this.#parts.transport.abandon(exchange, CANCELLED);
      exchange.fail(this.#closed);
    }
    this.#parts.questions.close();
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
  ): Exchange {
    const id = this.#pending.nextId();
    const { dialect } = this;
    const text = writeRequest(id, method, {
      params,
      meta: options.meta,
      trace: this.#parts.trace?.(),
      base: dialect && this.#parts.metaText(dialect, options),
      wantsProgress: options.onProgress !== undefined,
    });
    const subject = subjectOf(method, params);
    const headers = options.headers ?? NO_HEADERS;
    const exchange = new Exchange({ id, method, body: text, subject, headers }, this, { resolve, reject });
    exchange.onProgress = options.onProgress;
    exchange.onNotice = options.onNotice;
    exchange.onQuestion = options.onQuestion;
    exchange.onLog = options.onLog;
    exchange.onStreamClosed = options.onStreamClosed;
    exchange.caller = options.caller;
    if (options.isEndless === true) exchange.messages = -Infinity;
    return exchange;
  }

  // No timer, closure or listener of its own for a request that needs none: each would cost as much as sending it.
  #limit(exchange: Exchange, options: SendOptions): void {
    const { clock, timeouts } = this.#parts;
    const stepMs = options.timeoutMs ?? timeouts.callMs;
    const now = clock.ticks();
    exchange.stepMs = stepMs;
    exchange.until = now + Math.max(stepMs, options.absoluteMs ?? timeouts.absoluteMs);
    exchange.due = now + Math.min(stepMs, options.withinMs ?? stepMs);
    this.#arm(exchange.due);
    const { signal, cancellation } = options;
    exchange.cancellation = cancellation;
    cancellation?.watch(exchange);
    if (signal) this.#follow(signal, exchange);
  }

  // Apart: closures made where every request passes would be made for every request.
  #follow(signal: AbortSignal, exchange: Exchange): void {
    const cancel = (): void => this.cancel(exchange, signal.reason as Error);
    signal.addEventListener('abort', cancel, { once: true });
    exchange.release = () => signal.removeEventListener('abort', cancel);
  }

  /** Ends a request that nobody waits for any more. */
  cancel(exchange: Exchange, cause: Error): void {
    this.#stop(exchange, new Cancelled({ cause }), CANCELLED);
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
    for (const exchange of this.#pending.all()) {
      if (exchange.due > now) next = Math.min(next, exchange.due);
      else this.#stop(exchange, new ToolTimeout(tookTooLong(exchange, exchange.stepMs)), TIMED_OUT);
    }
    this.#armedFor = Infinity;
    this.#arm(next);
  }

  /** Lets the limit of a request begin anew, up to the absolute one. */
  extend(exchange: Exchange): void {
    exchange.due = Math.min(this.#parts.clock.ticks() + exchange.stepMs, exchange.until);
    this.#arm(exchange.due);
  }

  #stop(exchange: Exchange, error: ToolcribError, reason: string): void {
    if (exchange.isOver) return;
    exchange.fail(error);
    this.#parts.transport.abandon(exchange, reason);
  }

  #take(incoming: Incoming, bytes: Buffer, exchange: Exchange | undefined): void {
    switch (incoming.kind) {
      case 'answer':
        return this.#answer(incoming, bytes, exchange);
      case 'notice':
        if (this.#isCounted(exchange)) this.#notice(incoming, exchange);
        return;
      case 'request':
        if (!this.#isCounted(exchange)) return;
        return this.#parts.questions.take(incoming, exchange ?? this.#onlyCall(), (text) =>
          this.#parts.transport.post(text),
        );
      case 'unreadable': {
        const text = `${this.#parts.transport.label} sent a message that ${incoming.reason}.`;
        if (exchange) exchange.fail(new ToolcribError('invalid_answer', text));
        else this.#parts.onWarning(text);
      }
    }
  }

  // A server must not keep a request going for ever by talking.
  #isCounted(exchange: Exchange | undefined): boolean {
    if (!exchange) return true;
    if (++exchange.messages <= this.#parts.limits.messagesPerRequest) return true;
    const text = `${this.#parts.transport.label} sent too many messages before its answer.`;
    this.#stop(exchange, new ToolcribError('invalid_answer', text), CANCELLED);
    return false;
  }

  #answer(answer: Answer, bytes: Uint8Array, on: Exchange | undefined): void {
    const { id, result, error, hasLongNumbers, json } = answer;
    const isOwn = on !== undefined && (id === on.outgoing.id || (error !== undefined && id === undefined));
    const exchange = on ? (isOwn ? on : undefined) : this.#pending.get(id);
    if (!exchange) {
      if (on)
        on.fail(
          new ToolcribError('invalid_answer', `${this.#parts.transport.label} answered another request.`),
        );
      return;
    }
    if (result) exchange.settle({ result, bytes, hasLongNumbers, json });
    else if (this.#isOffered(error!, exchange)) this.#parts.transport.send(exchange);
    else exchange.fail(new RemoteError(error!));
  }

  // A server that refuses a version and then names it is asked once more.
  #isOffered({ code, data }: JsonObject, exchange: Exchange): boolean {
    if (code !== -32022 || exchange.isRepeated || this.dialect?.era !== 'modern') return false;
    const supported = isObject(data) ? data['supported'] : undefined;
    exchange.isRepeated = true;
    return Array.isArray(supported) && supported.includes(this.dialect.version);
  }

  #notice(notice: Notice, on: Exchange | undefined): void {
    const { method, params } = notice;
    if (method === 'notifications/progress') return this.#progress(params, on);
    if (method === 'notifications/cancelled') this.#parts.questions.withdraw(params['requestId']);
    if (method === 'notifications/message' && this.#log(params, on)) return;
    if (on?.onNotice) return on.onNotice(method, params);
    this.#parts.onNotice(notice);
  }

  // What comes on no stream of its own belongs to a call only where there is no other.
  #onlyCall(): Exchange | 'several' | undefined {
    const calls = this.#pending.all().filter(({ onQuestion }) => onQuestion);
    if (calls.length <= 1) return calls[0];
    // A call that waits for its answer asks nothing more; the person asked is the same one at any rate.
    const [only, ...others] = calls.filter(({ questions }) => questions === 0);
    return only && others.length === 0 && areOfOneCaller(calls) ? only : 'several';
  }

  #log({ level, data, logger }: JsonObject, on: Exchange | undefined): boolean {
    const call = on ?? this.#onlyCall();
    const known = logLevels.find((name) => name === level);
    if (call === undefined || call === 'several' || !call.onLog || !known) return false;
    call.onLog(known, data, typeof logger === 'string' ? logger : undefined);
    return true;
  }

  #progress({ progressToken, progress, total, message }: JsonObject, on: Exchange | undefined): void {
    const exchange = on ?? this.#pending.get(progressToken);
    if (!exchange?.onProgress || progressToken !== exchange.outgoing.id || exchange.isOver) return;
    if (typeof progress !== 'number' || progress <= exchange.lastProgress) return;
    exchange.lastProgress = progress;
    this.extend(exchange);
    try {
      exchange.onProgress({
        progress,
        ...(typeof total === 'number' && { total }),
        ...(typeof message === 'string' && { message }),
      });
    } catch (error) {
      this.#parts.onWarning(`onProgress failed: ${String(error)}`);
    }
  }
}

function tookTooLong({ outgoing: { method, subject } }: Exchange, ms: number): string {
  const what = subject === undefined ? method : `${method} ${subject}`;
  return `${what} had no answer within ${ms / 1000} s.`;
}

function gone(label: string, cause: Error): ToolcribError {
  return new ToolcribError('upstream_unavailable', `The connection to ${label} was lost.`, { cause });
}

function areOfOneCaller(calls: readonly Exchange[]): boolean {
  const [first, ...rest] = calls.map(({ caller }) => caller && ownerOf(caller));
  return first !== undefined && rest.every((owner) => owner === first);
}
