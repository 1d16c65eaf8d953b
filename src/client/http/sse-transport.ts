import type { Dispatcher, Pool } from 'undici';
import { ToolcribError } from '../../base/errors.ts';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import { SignInNeeded, ToolTimeout } from '../errors.ts';
import type { PendingRequest } from '../pending-request.ts';
import type { Transport } from '../transport.ts';
import { Credentials, isRetryable, type Refused } from './credentials.ts';
import { describeFailure, describeStatus } from './failure.ts';
import type { HttpParts } from './http-transport.ts';
import { MAX_CONNECTIONS, openPool } from './pool.ts';
import { Reply } from './reply.ts';
import { SseStream } from './sse-stream.ts';

type Post = Pick<Dispatcher.DispatchOptions, 'path' | 'body' | 'headers'>;

/** The transport of 2024-11-05: one stream for everything the server sends, and an address to post to. */
export class SseTransport implements Transport {
  readonly label: string;
  readonly #parts: HttpParts;
  readonly #credentials: Credentials;
  readonly #fixed: readonly string[];
  #opening: Promise<Pool> | undefined;
  #stream: SseStream | undefined;
  #target: { readonly path: string; readonly credentials: Credentials } | undefined;
  #renewing: Promise<void> | undefined;
  #needsSignIn = false;
  #isClosed = false;

  constructor(parts: HttpParts) {
    const { url, options } = parts;
    this.#parts = parts;
    this.label = url.origin + url.pathname;
    this.#credentials = new Credentials(url, options.authorizer);
    this.#fixed = ['accept-encoding', 'identity', ...Object.entries(options.headers ?? {}).flat()];
  }

  agree(): void {}

  send(pending: PendingRequest): void {
    this.#carry(pending).catch((error: unknown) => pending.fail(error));
  }

  post(text: string): Promise<void> {
    return this.#post(text);
  }

  abandon(pending: PendingRequest, reason: string): string | undefined {
    pending.work?.stop();
    const { id, method } = pending.outgoing;
    // Without a stream, or while one is opened, it was not sent, or the server has forgotten it.
    if (method === 'initialize' || this.#isClosed || !this.#target || this.#renewing) return undefined;
    return encodeNotification('notifications/cancelled', { requestId: id, reason });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#drop();
    const pool = await this.#opening?.catch(() => undefined);
    await pool?.destroy();
  }

  async #carry(pending: PendingRequest): Promise<void> {
    if (pending.outgoing.method === 'initialize') await this.#open(pending);
    else if (!this.#target || this.#renewing) await this.#renew();
    if (!pending.isOver) await this.#post(pending.outgoing.body, pending);
  }

  // A stream is a session: on a new one the server takes nothing before the handshake.
  #renew(): Promise<void> {
    return (this.#renewing ??= this.#parts
      .renew()
      .catch((error: unknown) => {
        this.#lose(describeFailure(error, this.label));
        throw error;
      })
      .finally(() => (this.#renewing = undefined)));
  }

  async #open(pending: PendingRequest): Promise<void> {
    const { url, timeouts, limits, receiver } = this.#parts;
    this.#drop();
    for (let retries = 0; ; retries++) {
      const own = await this.#credentials.headers('GET');
      const pool = await this.#pool();
      if (pending.isOver) return;
      const stream = new SseStream({
        url,
        label: this.label,
        maxBytes: limits.messageBytes,
        onMessage: (data) => receiver().receive(data, undefined),
        onLost: (error) => {
          if (this.#stream === stream) this.#lose(error);
        },
      });
      pending.work = this.#stream = stream;
      const headers = ['accept', 'text/event-stream', ...this.#fixed, ...own];
      const path = url.pathname + url.search;
      dispatch(pool, stream.reply, { path, method: 'GET', headers, bodyTimeout: timeouts.idleMs });
      const opened = await stream.opened;
      pending.work = undefined;
      if (opened instanceof URL) {
        // It may have ended at once.
        if (this.#stream !== stream)
          throw new ToolcribError('upstream_unavailable', `${this.label} ended its stream.`);
        const credentials = new Credentials(opened, this.#parts.options.authorizer);
        this.#target = { path: opened.pathname + opened.search, credentials };
        return;
      }
      await this.#answer(opened, { retries, method: 'GET', own, credentials: this.#credentials }, pending);
    }
  }

  async #post(text: string, pending?: PendingRequest): Promise<void> {
    const target = this.#target;
    if (!target) throw new ToolcribError('upstream_unavailable', `${this.label} has no stream open.`);
    const { path, credentials } = target;
    for (let retries = 0; ; retries++) {
      const own = await credentials.headers('POST', text);
      const pool = await this.#pool();
      if (pending?.isOver === true) return;
      const headers = [...this.#fixed, ...own, 'content-type', 'application/json'];
      const reply = await this.#ask(pool, { path, body: text, headers }, pending);
      if (reply.status < 300) {
        this.#noteTaken();
        return;
      }
      if (reply.status === 404 && this.#target === target)
        this.#lose(describeStatus(reply, this.label).error);
      await this.#answer(reply, { retries, method: 'POST', own, credentials }, pending);
    }
  }

  // Its answer comes on the stream; this one only says that the message was taken.
  #ask(pool: Pool, post: Post, pending: PendingRequest | undefined): Promise<Reply> {
    const { clock, timeouts } = this.#parts;
    return new Promise((resolve, reject) => {
      const end = (error: unknown, ended?: Reply): void => {
        done();
        if (pending) pending.work = undefined;
        if (ended) resolve(ended);
        else reject(describeFailure(error, this.label));
      };
      const reply = new Reply(
        {
          onMessage() {},
          onEnd: (ended) => end(undefined, ended),
          onFailure: (error) => end(error),
        },
        65_536,
      );
      const stop = (): void => {
        reply.stop();
        end(new ToolTimeout(`${this.label} did not take a message in time.`));
      };
      const done = clock.after(timeouts.callMs, stop);
      if (pending) pending.work = { stop };
      dispatch(pool, reply, { ...post, method: 'POST' });
    });
  }

  // What was refused can be sent again, or this fails.
  async #answer(
    reply: Reply,
    { credentials, ...refused }: Refused & { readonly credentials: Credentials },
    pending: PendingRequest | undefined,
  ): Promise<void> {
    try {
      if (!isRetryable(reply.status) || !credentials.canAnswer(reply.status, reply))
        throw describeStatus(reply, this.label, this.#parts.options.headers).error;
      pending?.pause();
      await credentials.challenged(reply, refused);
      this.#parts.limit.restart();
      pending?.extend();
    } catch (error) {
      if (error instanceof SignInNeeded) this.#noteSignIn(error);
      throw error;
    }
  }

  #noteSignIn(needed: SignInNeeded): void {
    this.#needsSignIn = true;
    this.#parts.onSignIn(needed);
  }

  // During a handshake it is not yet certain that the connection works.
  #noteTaken(): void {
    if (this.#needsSignIn && !this.#renewing) this.#parts.onSignIn(undefined);
    this.#needsSignIn = false;
  }

  #pool(): Promise<Pool> {
    const { url, options, timeouts } = this.#parts;
    if (this.#isClosed) throw new ToolcribError('upstream_unavailable', 'The connection is closed.');
    // The stream takes one of them for itself.
    const maxConnections = Math.max(2, options.maxConnections ?? MAX_CONNECTIONS);
    return (this.#opening ??= openPool(url, { ...options, maxConnections }, timeouts.connectMs));
  }

  #drop(): void {
    this.#stream?.stop();
    this.#stream = undefined;
    this.#target = undefined;
  }

  #lose(error: ToolcribError): void {
    this.#drop();
    if (!this.#isClosed) this.#parts.receiver().lost(error);
  }
}

function dispatch(pool: Pool, reply: Reply, request: Dispatcher.DispatchOptions): void {
  try {
    pool.dispatch(request, reply);
  } catch (error) {
    reply.onError(error as Error);
  }
}
