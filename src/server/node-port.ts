import type { ServerResponse } from 'node:http';
import type { Port } from './http-link.ts';
import type { Body } from './link.ts';
import { ReadingPace } from './reading-pace.ts';

/** A `node:http` response. */
export class NodePort implements Port {
  readonly #response: ServerResponse;
  #pace: ReadingPace | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  startStream(headers: Readonly<Record<string, string>>): void {
    this.#response.writeHead(200, headers);
  }

  write(text: string): void {
    this.#pace ??= new ReadingPace(() => this.#response.writableLength);
    if (this.#pace.keepsUp) this.#response.write(text);
    else this.#response.destroy();
  }

  end(): void {
    this.#response.end();
  }

  send(status: number, headers: Record<string, string | number>, body: Body | undefined): void {
    if (outbox.push({ response: this.#response, status, headers, body }) === 1) setImmediate(sendAll);
  }
}

interface Sending {
  readonly response: ServerResponse;
  readonly status: number;
  readonly headers: Record<string, string | number>;
  readonly body: Body | undefined;
}

let outbox: Sending[] = [];

// Answers of one turn go out together: a write between two reads wakes the other side each time, which costs as much as the call.
function sendAll(): void {
  const sendings = outbox;
  outbox = [];
  for (const sending of sendings) if (!sending.response.destroyed) sendOne(sending);
}

function sendOne({ response, status, headers, body }: Sending): void {
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

function byteLength(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
}
