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
    const response = this.#response;
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
}

function byteLength(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
}
