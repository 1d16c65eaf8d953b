import type { Pool } from 'undici';
import { ToolcribError } from '../../base/errors.ts';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import type { Exchange } from '../pending-request.ts';
import type { Transport } from '../transport.ts';
import { Credentials } from './credentials.ts';
import { describeFailure, describeStatus } from './failure.ts';
import type { HttpParts } from './http-transport.ts';
import { openPool } from './pool.ts';
import { Reply } from './reply.ts';

/** The transport of 2024-11-05: one stream for everything the server says, and an address for what it is told. */
export class SseTransport implements Transport {
  readonly label: string;
  readonly #parts: HttpParts;
  readonly #credentials: Credentials;
  readonly #fixed: readonly string[];
  #opened: Promise<{ readonly pool: Pool; readonly path: string }> | undefined;
  #stream: Reply | undefined;
  #pool: Pool | undefined;
  #isClosed = false;

  constructor(parts: HttpParts) {
    const { url, options } = parts;
    this.#parts = parts;
    this.label = url.origin + url.pathname;
    this.#credentials = new Credentials(url, options.authorizer);
    this.#fixed = ['accept-encoding', 'identity', ...Object.entries(options.headers ?? {}).flat()];
  }

  agree(): void {}

  send(exchange: Exchange): void {
    this.#post(exchange.outgoing.body).catch((error: unknown) => exchange.fail(error));
  }

  post(text: string): Promise<void> {
    return this.#post(text);
  }

  abandon({ outgoing: { id, method } }: Exchange, reason: string): void {
    if (method === 'initialize' || this.#isClosed) return;
    this.#post(encodeNotification('notifications/cancelled', { requestId: id, reason })).catch(() => {});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stream?.stop();
    await this.#pool?.destroy();
  }

  async #post(text: string): Promise<void> {
    const { pool, path } = await (this.#opened ??= this.#open());
    const own = await this.#credentials.headers('POST', text);
    const headers = [...this.#fixed, ...own, 'content-type', 'application/json'];
    await new Promise<void>((resolve, reject) => {
      const reply = new Reply(
        {
          onMessage() {},
          onEnd: (ended) =>
            ended.status < 300 ? resolve() : reject(describeStatus(ended, this.label).error),
          onFailure: (error) => reject(describeFailure(error, this.label)),
        },
        65_536,
      );
      pool.dispatch(
        { path, method: 'POST', body: text, headers, headersTimeout: this.#parts.timeouts.callMs },
        reply,
      );
    });
  }

  // The first event names the address; one on another origin would get our credentials, so it is refused.
  async #open(): Promise<{ readonly pool: Pool; readonly path: string }> {
    const { url, options, timeouts, limits } = this.#parts;
    const pool = (this.#pool = await openPool(url, options, timeouts.connectMs));
    const own = await this.#credentials.headers('GET');
    const headers = ['accept', 'text/event-stream', ...this.#fixed, ...own];
    return new Promise((resolve, reject) => {
      const stream = new Reply(
        {
          onMessage: (data, name) => {
            if (name === 'message') this.#parts.receiver().receive(data, undefined);
            if (name !== 'endpoint') return;
            const text = data.toString('utf8');
            const target = URL.canParse(text, url.href) ? new URL(text, url) : undefined;
            if (target?.origin === url.origin) resolve({ pool, path: target.pathname + target.search });
            else reject(new ToolcribError('refused', `${this.label} sends messages to another origin.`));
          },
          onEnd: (ended) => this.#ended(describeStatus(ended, this.label).error, reject),
          onFailure: (error) => this.#ended(describeFailure(error, this.label), reject),
        },
        limits.messageBytes,
      );
      this.#stream = stream;
      const path = url.pathname + url.search;
      pool.dispatch({ path, method: 'GET', headers, bodyTimeout: timeouts.idleMs }, stream);
    });
  }

  #ended(error: ToolcribError, reject: (error: Error) => void): void {
    reject(error);
    this.#opened = undefined;
    if (!this.#isClosed) this.#parts.receiver().lost(error);
  }
}
