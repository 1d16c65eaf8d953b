import type { ServerResponse } from 'node:http';
import { encodeError } from '../../protocol/wire/json-rpc.ts';
import type { Accidents } from '../accidents.ts';
import type { Port, Sender } from './http-link.ts';
import type { Body } from '../answer.ts';
import { ReadingPace } from './reading-pace.ts';
import type { UnreadAnswers } from './unread-answers.ts';

/** A `node:http` response. */
export class NodePort implements Port {
  readonly accidents: Accidents;
  sender: Sender | undefined = undefined;
  readonly #response: ServerResponse;
  readonly #unread: UnreadAnswers | undefined;
  #pace: ReadingPace | undefined;
  #status = 0;
  #headers: Record<string, string | number> | undefined;
  #body: Body | undefined;

  constructor(response: ServerResponse, accidents: Accidents, unread?: UnreadAnswers) {
    this.#response = response;
    this.#unread = unread;
    this.accidents = accidents;
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
    this.#watch();
  }

  send(status: number, headers: Record<string, string | number>, body: Body | undefined): void {
    this.#status = status;
    this.#headers = headers;
    this.#body = body;
    if (outbox.push(this) === 1) setImmediate(sendAll);
  }

  replace(text: string): void {
    const response = this.#response;
    try {
      if (response.headersSent) response.destroy();
      else if (!response.destroyed) writeWhole(response, { status: 200, headers: {}, body: text });
    } catch {
      response.destroy();
    }
  }

  /** Sends the answer given to `send`. Never throws, or the other answers of the turn would be lost. */
  flush(): void {
    if (this.#response.destroyed) return;
    try {
      writeWhole(this.#response, { status: this.#status, headers: this.#headers!, body: this.#body });
      this.#watch();
    } catch (error) {
      if (this.sender) this.sender.fail(error);
      else this.replace(encodeError(undefined, this.accidents.report(error)));
    }
  }

  #watch(): void {
    if (this.#response.writableLength > 0 && this.sender)
      this.#unread?.watch(this.#response, this.sender.caller);
  }
}

let outbox: NodePort[] = [];

// Answers of one turn go out together: a write between two reads wakes the other side each time, which costs as much as
// the call.
function sendAll(): void {
  const ports = outbox;
  outbox = [];
  for (const port of ports) port.flush();
}

interface Whole {
  readonly status: number;
  readonly headers: Record<string, string | number>;
  readonly body: Body | undefined;
}

function writeWhole(response: ServerResponse, { status, headers, body }: Whole): void {
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
