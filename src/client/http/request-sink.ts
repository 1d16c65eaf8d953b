import type { PendingRequest } from '../pending-request.ts';
import type { HttpTransport } from './http-transport.ts';
import type { Reply, ReplySink } from './reply.ts';

/** One of the times a request is sent. */
export interface SendAttempt {
  readonly retries: number;
  readonly session: string | undefined;
  /** The credentials it is sent with. */
  readonly own: readonly string[];
}

/** Tells the transport which request an answer is for; one object for a request, because it is made for each. */
export class RequestSink implements ReplySink {
  readonly #transport: HttpTransport;
  readonly #pending: PendingRequest;
  readonly #attempt: SendAttempt;

  constructor(transport: HttpTransport, pending: PendingRequest, attempt: SendAttempt) {
    this.#transport = transport;
    this.#pending = pending;
    this.#attempt = attempt;
  }

  onHead(reply: Reply): void {
    this.#transport.begin(this.#pending, reply);
  }

  onMessage(data: Buffer, name: string): void {
    if (name === 'message') this.#transport.take(this.#pending, data);
  }

  onEnd(reply: Reply): void {
    this.#transport.end(this.#pending, reply, this.#attempt);
  }

  onFailure(error: Error, reply: Reply): void {
    this.#transport.fail(this.#pending, { error, reply, attempt: this.#attempt });
  }
}
