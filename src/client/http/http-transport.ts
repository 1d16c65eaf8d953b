import type { Dispatcher, Pool } from 'undici';
import { ToolcribError } from '../../base/errors.ts';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import { encodeHeader } from '../../protocol/encode/header-value.ts';
import { HttpFailure, SignInNeeded } from '../errors.ts';
import type { Exchange } from '../pending-request.ts';
import type { HttpOptions } from '../options.ts';
import type { TransportNeeds } from '../peer.ts';
import type { Dialect, Transport } from '../transport.ts';
import { describeFailure, describeStatus, isReset } from './failure.ts';
import { isRetryable, Credentials } from './credentials.ts';
import { openPool } from './pool.ts';
import { Reply, type ReplySink } from './reply.ts';
import { brokenOff, SessionStreams } from './session-streams.ts';

/** What a transport over HTTP is made of. */
export interface HttpParts extends TransportNeeds {
  readonly url: URL;
  readonly options: HttpOptions;
}

const CLOSE_MS = 2_000;
const NO_CREDENTIALS: readonly string[] = [];
// Sent again only when they change nothing, whatever became of the first.
const READING: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
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
    });
  }

  agree(dialect: Dialect): void {
    this.#dialect = dialect;
    if (dialect.era === 'modern') this.#session = undefined;
  }

  send(exchange: Exchange): void {
    this.#send(exchange, { retries: 0, session: this.#session, own: NO_CREDENTIALS });
  }

  async post(text: string): Promise<void> {
    const [pool, own] = await Promise.all([this.#open(), this.#credentials.headers('POST', text)]);
    await new Promise<void>((resolve, reject) => {
      const done = this.#parts.clock.after(this.#parts.timeouts.callMs, () => {
        reply.stop();
        reject(new ToolcribError('timed_out', `${this.label} did not take a message in time.`));
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

  abandon(exchange: Exchange, reason: string): void {
    exchange.work?.stop();
    const { id, method } = exchange.outgoing;
    // On the newest revision the end of the stream says it; before, it has to be said.
    if (this.#dialect?.era !== 'legacy' || method === 'initialize' || this.#isClosed) return;
    this.post(encodeNotification('notifications/cancelled', { requestId: id, reason })).catch(() => {});
  }

  listen(): void {
    this.#streams.listen();
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

  #send(exchange: Exchange, attempt: Attempt): void {
    const { body } = exchange.outgoing;
    const own = this.#credentials.headers('POST', body);
    if (this.#pool && !(own instanceof Promise)) {
      this.#post(this.#pool, exchange, own.length === 0 ? attempt : { ...attempt, own });
      return;
    }
    Promise.all([this.#open(), own]).then(
      ([pool, ready]) => this.#post(pool, exchange, { ...attempt, own: ready }),
      (error: unknown) => exchange.fail(describeFailure(error, this.label)),
    );
  }

  #post(pool: Pool, exchange: Exchange, attempt: Attempt): void {
    if (exchange.isOver) return;
    const reply = new Reply(new Asked(this, exchange, attempt), this.#parts.limits.messageBytes);
    exchange.work = reply;
    const { body } = exchange.outgoing;
    this.#dispatch(pool, reply, { method: 'POST', body, headers: this.#headers(exchange, attempt.own) });
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

  #headers(exchange: Exchange | undefined, own: readonly string[]): string[] {
    const headers = [...this.#fixed, ...own, 'content-type', 'application/json'];
    const dialect = this.#dialect;
    if (dialect && exchange?.outgoing.method !== 'initialize')
      headers.push('mcp-protocol-version', dialect.version);
    if (dialect?.era === 'modern' && exchange) {
      const { method, subject } = exchange.outgoing;
      headers.push('mcp-method', method);
      if (subject !== undefined) headers.push('mcp-name', encodeHeader(subject));
      if (exchange.outgoing.headers.length > 0) headers.push(...exchange.outgoing.headers);
    } else if (this.#session !== undefined) headers.push('mcp-session-id', this.#session);
    return headers;
  }

  /** The head of an answer has come. */
  begin(exchange: Exchange, reply: Reply): void {
    if (exchange.outgoing.method === 'initialize' && reply.status < 300) this.#noteSession(reply);
  }

  /** A message came on the stream of a request. */
  take(exchange: Exchange, data: Buffer): void {
    if (data.length > 0 && !exchange.isOver) this.#parts.receiver().receive(data, exchange);
    if (exchange.isOver) exchange.work?.stop();
  }

  /** A request came to nothing. */
  fail(
    exchange: Exchange,
    ending: { readonly error: Error; readonly reply: Reply; readonly attempt: Attempt },
  ): void {
    const { error, reply, attempt } = ending;
    if (reply.isStream && this.#resume(exchange, reply)) return;
    const canRepeat = READING.has(exchange.outgoing.method) && attempt.retries === 0 && isReset(error);
    if (canRepeat) this.#send(exchange, { ...attempt, retries: 1 });
    else exchange.fail(describeFailure(error, this.label));
  }

  #noteSession(reply: Reply): void {
    const session = reply.header('mcp-session-id');
    this.#session = session !== undefined && /^[\x21-\x7e]{1,1024}$/.test(session) ? session : undefined;
  }

  /** All of an answer has come. */
  end(exchange: Exchange, reply: Reply, attempt: Attempt): void {
    // A request and its reply that know each other outlive the call by several rounds of garbage collection.
    exchange.work = undefined;
    if (exchange.isOver) return;
    const { status } = reply;
    if (reply.isStream) {
      if (this.#resume(exchange, reply)) exchange.onStreamClosed?.();
      else exchange.fail(brokenOff(this.label));
    } else if (isRetryable(status) && this.#credentials.canAnswer(status, reply)) {
      this.#challenged(exchange, reply, attempt);
    } else if (status === 404 && attempt.session !== undefined) {
      this.#renewFor(exchange, attempt);
    } else if (status >= 200 && status < 300 && reply.body.length > 0) {
      if (this.#needsSignIn) this.#noteSignIn(undefined);
      this.#parts.receiver().receive(reply.body, exchange);
    } else this.#refused(exchange, reply);
  }

  // An error of the protocol may come with any status; anything else is described by its status.
  #refused(exchange: Exchange, reply: Reply): void {
    const failure = describeStatus(reply, this.label);
    // Servers of the first revision take no handshake here, and may say so in a message.
    const isElsewhere = exchange.outgoing.method === 'initialize' && [404, 405].includes(reply.status);
    const { work } = exchange;
    if (failure.body && !isElsewhere) this.#parts.receiver().receive(failure.body, exchange);
    if (failure.error instanceof SignInNeeded) this.#noteSignIn(failure.error);
    // What the message says may be a reason to send the request once more.
    if (exchange.work === work) exchange.fail(failure.error);
  }

  #challenged(exchange: Exchange, reply: Reply, attempt: Attempt): void {
    exchange.pause();
    this.#credentials.challenged(reply, { ...attempt, method: 'POST' }).then(
      () => {
        exchange.extend();
        this.#send(exchange, { ...attempt, retries: attempt.retries + 1, session: this.#session });
      },
      (error: unknown) => {
        if (error instanceof SignInNeeded) this.#noteSignIn(error);
        exchange.fail(error);
      },
    );
  }

  #noteSignIn(needed: SignInNeeded | undefined): void {
    this.#needsSignIn = needed !== undefined;
    this.#parts.onSignIn(needed);
  }

  // The server said that it does not know the session, so it has not run the request either.
  #renewFor(exchange: Exchange, attempt: Attempt): void {
    if (attempt.retries > 0) {
      exchange.fail(new HttpFailure(404, `${this.label} forgets its sessions at once.`));
      return;
    }
    const isStale = attempt.session !== this.#session;
    (isStale ? Promise.resolve() : this.#renew()).then(
      () => this.#send(exchange, { ...attempt, retries: 1, session: this.#session }),
      (error: unknown) => exchange.fail(error),
    );
  }

  #renew(): Promise<void> {
    this.#session = undefined;
    this.#streams.forget();
    return (this.#renewing ??= this.#parts.renew().finally(() => (this.#renewing = undefined)));
  }

  // The newest revision has nothing to come back to.
  #resume(exchange: Exchange, reply: Reply): boolean {
    return this.#dialect?.era === 'legacy' && this.#streams.resume(exchange, reply);
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

interface Attempt {
  readonly retries: number;
  readonly session: string | undefined;
  /** The credentials it is sent with. */
  readonly own: readonly string[];
}

/** Tells the transport which request an answer is for; one object for a request, because it is made for each. */
class Asked implements ReplySink {
  readonly #transport: HttpTransport;
  readonly #exchange: Exchange;
  readonly #attempt: Attempt;

  constructor(transport: HttpTransport, exchange: Exchange, attempt: Attempt) {
    this.#transport = transport;
    this.#exchange = exchange;
    this.#attempt = attempt;
  }

  onHead(reply: Reply): void {
    this.#transport.begin(this.#exchange, reply);
  }

  onMessage(data: Buffer, name: string): void {
    if (name === 'message') this.#transport.take(this.#exchange, data);
  }

  onEnd(reply: Reply): void {
    this.#transport.end(this.#exchange, reply, this.#attempt);
  }

  onFailure(error: Error, reply: Reply): void {
    this.#transport.fail(this.#exchange, { error, reply, attempt: this.#attempt });
  }
}

function fixedHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
}
