import type { Dispatcher, Pool } from 'undici';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import { encodeHeader } from '../../protocol/wire/headers.ts';
import { HttpFailure, SignInNeeded, ToolTimeout } from '../errors.ts';
import type { PendingRequest } from '../pending-request.ts';
import type { HttpOptions } from '../options.ts';
import type { TransportNeeds } from '../peer.ts';
import type { Dialect, Transport } from '../transport.ts';
import { cutOff, describeFailure, describeStatus, isReset, pageInstead } from './failure.ts';
import { RequestSink, type SendAttempt } from './request-sink.ts';
import { isRetryable, Credentials } from './credentials.ts';
import { openPool } from './pool.ts';
import { Reply } from './reply.ts';
import { streamBrokenOff, SessionStreams } from './session-streams.ts';

/** What a transport over HTTP is made of. */
export interface HttpParts extends TransportNeeds {
  readonly url: URL;
  readonly options: HttpOptions;
}

const CLOSE_MS = 2_000;
const LESS_THAN = 0x3c;
const NO_CREDENTIALS: readonly string[] = [];
// The methods that change nothing, and so may be sent again.
const READING: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'tasks/get',
  'ping',
]);

/** Streamable HTTP, with and without sessions. */
export class HttpTransport implements Transport {
  readonly label: string;
  readonly #parts: HttpParts;
  readonly #credentials: Credentials;
  readonly #path: string;
  readonly #fixed: readonly string[];
  readonly #streams: SessionStreams;
  #pool: Pool | undefined;
  #opening: Promise<Pool> | undefined;
  #dialect: Dialect | undefined;
  #session: string | undefined;
  #renewing: Promise<void> | undefined;
  #needsSignIn = false;
  #isClosed = false;

  constructor(parts: HttpParts) {
    const { url, options } = parts;
    this.#parts = parts;
    this.label = url.origin + url.pathname;
    this.#path = url.pathname + url.search;
    this.#credentials = new Credentials(url, options.authorizer);
    this.#fixed = [
      'accept',
      'application/json, text/event-stream',
      'accept-encoding',
      'identity',
      ...fixedHeaders(options.headers ?? {}),
    ];
    this.#streams = new SessionStreams({
      label: this.label,
      clock: parts.clock,
      maxBytes: parts.limits.messageBytes,
      receiver: parts.receiver,
      get: (reply, lastEventId) => this.#get(reply, lastEventId),
      onWarning: (text) => parts.onWarning(text),
      onGap: () => parts.onGap(),
    });
  }

  agree(dialect: Dialect): void {
    this.#dialect = dialect;
    if (dialect.era === 'modern') this.#session = undefined;
  }

  send(pending: PendingRequest): void {
    if (this.#renewing && pending.outgoing.method !== 'initialize')
      this.#sendAfter(this.#renewing, pending, 0);
    else this.#send(pending, { retries: 0, session: this.#session, own: NO_CREDENTIALS });
  }

  async post(text: string): Promise<void> {
    const [pool, own] = await Promise.all([this.#open(), this.#credentials.headers('POST', text)]);
    await new Promise<void>((resolve, reject) => {
      const done = this.#parts.clock.after(this.#parts.timeouts.callMs, () => {
        reply.stop();
        reject(new ToolTimeout(`${this.label} did not take a message in time.`));
      });
      const reply = new Reply(
        {
          onMessage() {},
          onEnd: ({ status }) => {
            done();
            if (status < 300) resolve();
            else reject(new HttpFailure(status, `${this.label} refused a message with status ${status}.`));
          },
          onFailure: (error) => {
            done();
            reject(describeFailure(error, this.label));
          },
        },
        65_536,
      );
      this.#dispatch(pool, reply, { method: 'POST', body: text, headers: this.#headers(undefined, own) });
    });
  }

  abandon(pending: PendingRequest, reason: string): string | undefined {
    pending.work?.stop();
    const { id, method } = pending.outgoing;
    // In the newest revision the end of the stream cancels; in older ones a message must.
    if (this.#dialect?.era !== 'legacy' || method === 'initialize' || this.#isClosed) return undefined;
    return encodeNotification('notifications/cancelled', { requestId: id, reason });
  }

  listen(): void {
    this.#streams.listen();
  }

  get isListening(): boolean {
    return this.#streams.isListening;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#streams.close();
    const pool = this.#pool ?? (await this.#opening?.catch(() => undefined));
    if (!pool) return;
    if (this.#session !== undefined) await this.#endSession(pool);
    await pool.destroy();
  }

  #open(): Promise<Pool> {
    return (this.#opening ??= openPool(
      this.#parts.url,
      this.#parts.options,
      this.#parts.timeouts.connectMs,
    ).then((pool) => (this.#pool = pool)));
  }

  #send(pending: PendingRequest, attempt: SendAttempt): void {
    const { body } = pending.outgoing;
    const own = this.#credentials.headers('POST', body);
    if (this.#pool && !(own instanceof Promise)) {
      this.#post(this.#pool, pending, own.length === 0 ? attempt : { ...attempt, own });
      return;
    }
    Promise.all([this.#open(), own]).then(
      ([pool, ready]) => this.#post(pool, pending, { ...attempt, own: ready }),
      (error: unknown) => pending.fail(describeFailure(error, this.label)),
    );
  }

  #post(pool: Pool, pending: PendingRequest, attempt: SendAttempt): void {
    if (pending.isOver) return;
    const reply = new Reply(new RequestSink(this, pending, attempt), this.#parts.limits.messageBytes);
    pending.work = reply;
    const { body } = pending.outgoing;
    this.#dispatch(pool, reply, { method: 'POST', body, headers: this.#headers(pending, attempt.own) });
  }

  #dispatch(
    pool: Pool,
    reply: Reply,
    request: Pick<Dispatcher.DispatchOptions, 'method' | 'body' | 'headers'>,
  ): void {
    try {
      pool.dispatch({ path: this.#path, bodyTimeout: this.#parts.timeouts.idleMs, ...request }, reply);
    } catch (error) {
      reply.onError(error as Error);
    }
  }

  #headers(pending: PendingRequest | undefined, own: readonly string[]): string[] {
    const headers = [...this.#fixed, ...own, 'content-type', 'application/json'];
    const dialect = this.#dialect;
    if (dialect && pending?.outgoing.method !== 'initialize')
      headers.push('mcp-protocol-version', dialect.version);
    if (dialect?.era === 'modern' && pending) {
      const { method, mcpName } = pending.outgoing;
      headers.push('mcp-method', method);
      if (mcpName !== undefined) headers.push('mcp-name', encodeHeader(mcpName));
      if (pending.outgoing.headers.length > 0) headers.push(...pending.outgoing.headers);
    } else if (this.#session !== undefined) headers.push('mcp-session-id', this.#session);
    return headers;
  }

  /** The head of an answer has come. */
  begin(pending: PendingRequest, reply: Reply): void {
    if (pending.outgoing.method === 'initialize' && reply.status < 300) this.#noteSession(reply);
  }

  /** A message came on the stream of a request. */
  take(pending: PendingRequest, data: Buffer): void {
    if (data.length > 0 && !pending.isOver) this.#parts.receiver().receive(data, pending);
    if (pending.isOver) pending.work?.stop();
  }

  /** A request came to nothing. */
  fail(
    pending: PendingRequest,
    ending: { readonly error: Error; readonly reply: Reply; readonly attempt: SendAttempt },
  ): void {
    const { error, reply, attempt } = ending;
    if (reply.isStream && this.#resume(pending, reply)) return;
    const canRepeat = READING.has(pending.outgoing.method) && attempt.retries === 0 && isReset(error);
    if (canRepeat) this.#send(pending, { ...attempt, retries: 1 });
    else if (isReset(error) && !READING.has(pending.outgoing.method)) pending.fail(cutOff(this.label, error));
    else pending.fail(describeFailure(error, this.label));
  }

  #noteSession(reply: Reply): void {
    const session = reply.header('mcp-session-id');
    this.#session = session !== undefined && /^[\x21-\x7e]{1,1024}$/.test(session) ? session : undefined;
  }

  /** All of an answer has come. */
  end(pending: PendingRequest, reply: Reply, attempt: SendAttempt): void {
    // A request and its reply that know each other outlive the call by several rounds of garbage collection.
    pending.work = undefined;
    if (pending.isOver) return;
    const { status } = reply;
    if (reply.isStream) {
      if (this.#resume(pending, reply)) pending.onStreamClosed?.();
      else pending.fail(streamBrokenOff(this.label));
    } else if (isRetryable(status) && this.#credentials.canAnswer(status, reply)) {
      this.#challenged(pending, reply, attempt);
    } else if (status === 404 && attempt.session !== undefined) {
      this.#renewFor(pending, attempt);
    } else if (status >= 200 && status < 300 && reply.bytes > 0) {
      if (this.#needsSignIn) this.#noteSignIn(undefined);
      const body = reply.takeBody();
      // No JSON begins like that; the headers of every answer would cost more to look at.
      const page = body[0] === LESS_THAN ? pageInstead(reply, this.label) : undefined;
      if (page) pending.fail(page);
      else this.#parts.receiver().receive(body, pending);
    } else this.#refused(pending, reply);
  }

  // An error of the protocol may come with any status; anything else is described by its status.
  #refused(pending: PendingRequest, reply: Reply): void {
    const failure = describeStatus(reply, this.label, this.#parts.options.headers);
    // Servers of the first revision take no handshake here, and may say so in a message.
    const isElsewhere = pending.outgoing.method === 'initialize' && [404, 405].includes(reply.status);
    const { work } = pending;
    if (failure.body && !isElsewhere) this.#parts.receiver().receive(failure.body, pending);
    if (failure.error instanceof SignInNeeded) this.#noteSignIn(failure.error);
    // What the message says may be a reason to send the request once more.
    if (pending.work === work) pending.fail(failure.error);
  }

  #challenged(pending: PendingRequest, reply: Reply, attempt: SendAttempt): void {
    pending.pause();
    this.#credentials.challenged(reply, { ...attempt, method: 'POST' }).then(
      () => {
        this.#parts.limit.restart();
        pending.extend();
        this.#send(pending, { ...attempt, retries: attempt.retries + 1, session: this.#session });
      },
      (error: unknown) => {
        if (error instanceof SignInNeeded) this.#noteSignIn(error);
        pending.fail(error);
      },
    );
  }

  #noteSignIn(needed: SignInNeeded | undefined): void {
    this.#needsSignIn = needed !== undefined;
    this.#parts.onSignIn(needed);
  }

  // The server said that it does not know the session, so it has not run the request either.
  #renewFor(pending: PendingRequest, attempt: SendAttempt): void {
    if (attempt.retries > 0) {
      pending.fail(new HttpFailure(404, `${this.label} forgets its sessions at once.`));
      return;
    }
    const isRenewed = attempt.session !== this.#session && !this.#renewing;
    this.#sendAfter(isRenewed ? Promise.resolve() : this.#renew(), pending, 1);
  }

  #sendAfter(renewed: Promise<void>, pending: PendingRequest, retries: number): void {
    renewed.then(
      () => this.#send(pending, { retries, session: this.#session, own: NO_CREDENTIALS }),
      (error: unknown) => pending.fail(error),
    );
  }

  #renew(): Promise<void> {
    if (this.#renewing) return this.#renewing;
    const before = this.#session;
    this.#session = undefined;
    this.#streams.forget();
    return (this.#renewing = this.#parts
      .renew()
      .catch((error: unknown) => {
        // With the old one the next request finds out again that a new one is needed.
        this.#session = before;
        throw error;
      })
      .finally(() => (this.#renewing = undefined)));
  }

  // The newest revision has nothing to come back to.
  #resume(pending: PendingRequest, reply: Reply): boolean {
    return this.#dialect?.era === 'legacy' && this.#streams.resume(pending, reply);
  }

  async #get(reply: Reply, lastEventId: string | undefined): Promise<void> {
    const [pool, own] = await Promise.all([this.#open(), this.#credentials.headers('GET')]);
    const headers = ['accept', 'text/event-stream', ...this.#fixed.slice(2), ...own];
    if (this.#dialect) headers.push('mcp-protocol-version', this.#dialect.version);
    if (this.#session !== undefined) headers.push('mcp-session-id', this.#session);
    if (lastEventId !== undefined) headers.push('last-event-id', lastEventId);
    this.#dispatch(pool, reply, { method: 'GET', headers });
  }

  async #endSession(pool: Pool): Promise<void> {
    const own = await this.#credentials.headers('DELETE');
    await new Promise<void>((resolve) => {
      const stop = this.#parts.clock.after(CLOSE_MS, resolve);
      const done = (): void => {
        stop();
        resolve();
      };
      const reply = new Reply({ onMessage() {}, onEnd: done, onFailure: done }, 65_536);
      this.#dispatch(pool, reply, { method: 'DELETE', headers: this.#headers(undefined, own) });
    });
  }
}

function fixedHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
}
