import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Caller } from '../core/caller.ts';
import { Cancellation } from '../core/cancellation.ts';
import { ToolcribError } from '../core/errors.ts';
import { encodeEvent } from '../protocol/event-stream.ts';
import type { Headers } from '../protocol/headers.ts';
import { acceptedForms, corsHeaders, STREAM_HEADERS } from './endpoint.ts';
import { textOf, type Answer, type Body, type Link } from './link.ts';

/** One `node:http` request's way back: a JSON body, or an event stream once anything is said first. */
export class NodeLink implements Link {
  readonly caller: Caller;
  readonly cancellation = new Cancellation();
  readonly headers: Headers;
  hangUpCancels = false;
  answered = false;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #open: Set<NodeLink>;

  constructor(request: IncomingMessage, response: ServerResponse, caller: Caller) {
    this.caller = caller;
    this.headers = request.headers;
    this.#request = request;
    this.#response = response;
    this.#open = linksOf(request.socket);
    this.#open.add(this);
  }

  notify(message: string): void {
    if (!acceptedForms(this.headers).stream || this.#response.destroyed) return;
    this.#startStream();
    this.#response.write(encodeEvent(message));
  }

  /** Sends the answer. */
  finish({ status, body }: Answer): void {
    this.#open.delete(this);
    const response = this.#response;
    if (response.destroyed) return;
    if (response.headersSent || (status === 200 && body !== undefined && !acceptedForms(this.headers).json)) {
      this.#startStream();
      response.end(body === undefined ? undefined : encodeEvent(textOf(body)));
    } else this.#sendBody(status, body);
  }

  /** The connection is gone. */
  hangUp(): void {
    if (this.hangUpCancels) this.cancellation.abort(new ToolcribError('cancelled', 'The client hung up.'));
  }

  #sendBody(status: number, body: Body | undefined): void {
    const response = this.#response;
    const headers: Record<string, string | number> = this.headers['origin'] === undefined ? {} : this.#cors();
    if (body === undefined) {
      response.writeHead(status, headers).end();
      return;
    }
    headers['content-type'] = 'application/json';
    headers['content-length'] = byteLength(body);
    response.writeHead(status, headers);
    if (typeof body === 'string') {
      response.end(body);
      return;
    }
    response.cork();
    for (const piece of body) response.write(piece);
    response.end();
    response.uncork();
  }

  #startStream(): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, { ...this.#cors(), ...STREAM_HEADERS });
  }

  #cors(): Record<string, string> {
    return corsHeaders({ method: this.#request.method!, target: this.#request.url!, headers: this.headers });
  }
}

const openLinks = Symbol('openLinks');

// One listener per connection, not per request: a listener costs more than the rest of the bookkeeping.
function linksOf(socket: Socket & { [openLinks]?: Set<NodeLink> }): Set<NodeLink> {
  let links = socket[openLinks];
  if (!links) {
    links = socket[openLinks] = new Set();
    socket.once('close', () => {
      for (const link of links!) link.hangUp();
    });
  }
  return links;
}

function byteLength(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
}
