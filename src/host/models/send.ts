import type { Pool } from 'undici';
import { nothing } from '../../base/awaitable.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { Cancelled } from '../../client/errors.ts';
import { Reply, type ReplySink } from '../../client/http/reply.ts';
import type { Endpoint } from './endpoint.ts';
import { answerSetback, brokenOff, connectionSetback, eventSetback, Setback } from './endpoint-failure.ts';
import type { ModelEvent } from './model.ts';

/** One event of a stream, as the endpoint sent it. */
export type WireEvent = Readonly<Record<string, unknown>>;

/** What is sent, and how the end of the answer is recognised. */
export interface Sending {
  readonly body: object;
  readonly signal: AbortSignal;
  readonly isLast: (event: WireEvent) => boolean;
}

/** Stands for the line that ends the streams of some endpoints. */
export const DONE: WireEvent = Object.freeze({});

type Heard =
  | Extract<ModelEvent, { readonly type: 'waiting' }>
  | { readonly type: 'event'; readonly event: WireEvent };

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 20_000;
const LINGER_MS = 1_000;
// Only so that the process stays alive meanwhile.
const LONG_MS = 2 ** 30;

/**
 * Sends a request and gives the events of its answer. It is sent again only before the first event; an answer that
 * ends before its last event is an error.
 */
export async function* send(endpoint: Endpoint, sending: Sending): AsyncGenerator<Heard, void, undefined> {
  const text = JSON.stringify(sending.body);
  const { signal } = sending;
  let waitedMs = 0;
  for (let retries = 0; ; retries++) {
    const attempt = new Attempt(endpoint, signal);
    let hasBegun = false;
    try {
      await attempt.open(text);
      for (;;) {
        const event = await attempt.next();
        if (event === undefined) throw brokenOff(endpoint);
        hasBegun = true;
        if (sending.isLast(event)) attempt.finish();
        yield { type: 'event', event };
        if (sending.isLast(event)) return;
      }
    } catch (error) {
      if (!(error instanceof Setback)) throw error;
      if (hasBegun || !error.isPassing || retries >= endpoint.limits.retries) throw error.error;
      const ms = error.waitMs === undefined ? backOff(retries) : withJitter(error.waitMs);
      waitedMs += ms;
      if (waitedMs > endpoint.limits.waitMs) throw error.error;
      yield { type: 'waiting', ms, reason: error.message };
      await pause(ms, endpoint, signal);
    } finally {
      attempt.release();
    }
  }
}

/** One request and its answer. */
class Attempt implements ReplySink {
  readonly #endpoint: Endpoint;
  readonly #signal: AbortSignal;
  readonly #reply: CountedReply;
  readonly #abort: () => void;
  readonly #stopTimer: () => void;
  #events: Buffer[] = [];
  #at = 0;
  #failure: Error | undefined;
  #isOver = false;
  #isFinished = false;
  #wake = nothing;

  constructor(endpoint: Endpoint, signal: AbortSignal) {
    this.#endpoint = endpoint;
    this.#signal = signal;
    this.#reply = new CountedReply(this, endpoint);
    this.#abort = () => this.#fail(new Cancelled({ cause: signal.reason }));
    this.#stopTimer = endpoint.clock.after(endpoint.limits.totalMs, () => this.#fail(tooSlow(endpoint)));
    signal.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) this.#abort();
  }

  async open(body: string): Promise<void> {
    const { url, headers, limits } = this.#endpoint;
    let pool: Pool;
    try {
      pool = await this.#endpoint.pool();
    } catch (error) {
      throw connectionSetback(error as Error, this.#endpoint);
    }
    if (this.#failure) return;
    pool.dispatch(
      {
        method: 'POST',
        path: url.pathname + url.search,
        headers: [...headers],
        body,
        headersTimeout: limits.idleMs,
        bodyTimeout: limits.idleMs,
      },
      this.#reply,
    );
  }

  /** The next event; `undefined` at the end of the stream. */
  async next(): Promise<WireEvent | undefined> {
    for (;;) {
      if (this.#failure) throw this.#failure;
      const data = this.#take();
      if (data !== undefined) {
        const event = this.#read(data);
        if (event !== undefined) return event;
      } else if (this.#isOver) return undefined;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** The answer is complete: the rest of the stream is not awaited. */
  finish(): void {
    this.#isFinished = true;
  }

  /** Lets go of the connection; after a complete answer it gets a moment to end, so that it can be used again. */
  release(): void {
    this.#signal.removeEventListener('abort', this.#abort);
    this.#stopTimer();
    if (this.#isOver) return;
    if (!this.#isFinished || this.#failure) this.#reply.stop();
    else this.#endpoint.clock.after(LINGER_MS, () => this.#reply.stop());
  }

  onMessage(data: Buffer): void {
    if (this.#isFinished) return;
    this.#events.push(data);
    this.#wake();
  }

  onEnd(reply: Reply): void {
    this.#isOver = true;
    if (!reply.isStream) this.#failure ??= answerSetback(reply, this.#endpoint);
    this.#wake();
  }

  onFailure(error: Error): void {
    this.#isOver = true;
    this.#failure ??= connectionSetback(error, this.#endpoint);
    this.#wake();
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#reply.stop();
    this.#wake();
  }

  #take(): Buffer | undefined {
    const data = this.#events[this.#at];
    if (data === undefined) {
      this.#events = [];
      this.#at = 0;
    } else this.#at++;
    return data;
  }

  #read(data: Buffer): WireEvent | undefined {
    const text = data.toString('utf8');
    if (text.trim() === '') return undefined;
    if (text === '[DONE]') return DONE;
    let event: unknown;
    try {
      event = parseJson(text);
    } catch {
      event = undefined;
    }
    if (!isObject(event))
      throw new ToolcribError('invalid_answer', `${this.#endpoint.label} sends an event that is not JSON.`);
    if (isObject(event['error']) || event['type'] === 'error') throw eventSetback(event, this.#endpoint);
    return event;
  }
}

/** A reply that fails after so many bytes in all: comments would not be counted as events. */
class CountedReply extends Reply {
  readonly #sink: ReplySink;
  readonly #endpoint: Endpoint;
  #total = 0;

  constructor(sink: ReplySink, endpoint: Endpoint) {
    super(sink, endpoint.limits.eventBytes);
    this.#sink = sink;
    this.#endpoint = endpoint;
  }

  override onData(chunk: Buffer): boolean {
    const { label, limits } = this.#endpoint;
    this.#total += chunk.length;
    if (this.#total <= limits.totalBytes) return super.onData(chunk);
    this.stop();
    const problem = `${label} sends an answer of over ${limits.totalBytes} bytes.`;
    this.#sink.onFailure(new ToolcribError('invalid_answer', problem), this);
    return true;
  }
}

function tooSlow({ label, limits }: Endpoint): ToolcribError {
  return new ToolcribError('timed_out', `${label} took over ${limits.totalMs / 1_000} s for one answer.`);
}

function backOff(retries: number): number {
  return Math.round(Math.min(FIRST_WAIT_MS * 2 ** retries, LONGEST_WAIT_MS) * (0.75 + Math.random() / 4));
}

// A little longer than the endpoint asked for, so that not everybody comes back at once.
function withJitter(ms: number): number {
  return Math.round(ms + Math.random() * Math.min(ms / 10, 1_000));
}

async function pause(ms: number, { clock }: Endpoint, signal: AbortSignal): Promise<void> {
  const alive = setInterval(nothing, LONG_MS);
  let stop = nothing;
  try {
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.after(ms, resolve);
      stop = () => {
        cancel();
        reject(new Cancelled({ cause: signal.reason }));
      };
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
    });
  } finally {
    clearInterval(alive);
    signal.removeEventListener('abort', stop);
  }
}
