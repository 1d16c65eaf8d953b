import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Caller } from '../core/caller.ts';
import { ToolcribError } from '../core/errors.ts';
import { andThen } from '../core/source.ts';
import type { Server } from './create-server.ts';
import { checkFraming, checkRawHeaders, type Head } from './endpoint.ts';
import { Gate, type HttpAnswer } from './gate.ts';
import { NodeLink } from './node-link.ts';

/** Where to listen. */
export interface ListenOptions {
  /** `127.0.0.1` unless set; anything beyond loopback needs `authenticate` and `allowedHosts`. */
  readonly host?: string;
  /** 8484 unless set; 0 picks a free one. */
  readonly port?: number;
  /** `/mcp` unless set. */
  readonly path?: string;
}

/** A server that listens. */
export interface Listening {
  readonly url: string;
  /** Stops accepting, lets calls under way finish for up to `graceMs` (5 seconds unless set), then closes what is left. */
  close(graceMs?: number): Promise<void>;
}

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  // The gate refuses a request without a Host, as it refuses everything else.
  requireHostHeader: false,
};
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/** Puts a server on the network, straight on `node:http`. */
export async function listen(server: Server, options: ListenOptions = {}): Promise<Listening> {
  const { host = '127.0.0.1', port = 8484, path = '/mcp' } = options;
  checkExposure(server, host);
  const http = createHttpServer(LIMITS);
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, resolve);
  });
  const bound = (http.address() as AddressInfo).port;
  const allowedHosts = server.options.allowedHosts ?? loopbackHosts(bound);
  const endpoint = new NodeEndpoint(server, new Gate(server.options, { path, allowedHosts }));
  http.on('request', (request, response) => endpoint.take(request, response));
  // Answered here, so that a refused client is never told to go on with its body.
  http.on('checkContinue', (request, response) => endpoint.take(request, response));
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}${path}`,
    close: (graceMs = 5_000) => closeGently(http, graceMs),
  };
}

/** Takes requests off `node:http` and brings answers back. */
class NodeEndpoint {
  readonly #server: Server;
  readonly #gate: Gate;
  readonly #closing = new WeakSet<Socket>();

  constructor(server: Server, gate: Gate) {
    this.#server = server;
    this.#gate = gate;
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    const head: Head = { method: request.method!, target: request.url!, headers: request.headers };
    try {
      checkFraming(request.httpVersion, head.headers);
      checkRawHeaders(request.rawHeaders);
      if (head.method === 'OPTIONS') {
        response.writeHead(204, this.#gate.preflight(head)).end();
        return;
      }
      const entered = this.#gate.enter(head);
      if (!(entered instanceof Promise)) this.#read(request, response, entered);
      else {
        entered.then(
          (caller) => this.#read(request, response, caller),
          (error: unknown) => this.#refuse(head, response, error),
        );
      }
    } catch (error) {
      this.#refuse(head, response, error);
    }
  }

  #read(request: IncomingMessage, response: ServerResponse, caller: Caller): void {
    // What was sent behind a refused request is not run: its client was told that the connection ends there.
    if (this.#closing.has(request.socket)) return;
    const { maxBodyBytes } = this.#server.options;
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) {
      this.#refuseLarge(request, response);
      return;
    }
    if (request.headers.expect !== undefined) response.writeContinue();
    let chunks: Buffer[] | undefined;
    let first: Buffer | undefined;
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBodyBytes) {
        request.removeAllListeners('data').removeAllListeners('end');
        this.#refuseLarge(request, response);
      } else if (first) (chunks ??= [first]).push(chunk);
      else first = chunk;
    });
    request.on('end', () => {
      const bytes = chunks ? Buffer.concat(chunks) : (first ?? Buffer.alloc(0));
      const link = new NodeLink(request, response, caller);
      void andThen(this.#server.exchange.answer(bytes, link), (answer) => link.finish(answer));
    });
  }

  #refuseLarge(request: IncomingMessage, response: ServerResponse): void {
    const head = { method: request.method!, target: request.url!, headers: request.headers };
    this.#refuse(
      head,
      response,
      new ToolcribError(
        'too_large',
        `A message may have at most ${this.#server.options.maxBodyBytes} bytes.`,
      ),
    );
  }

  // The rest of a refused body is not read: the connection ends with the answer.
  #refuse(head: Head, response: ServerResponse, error: unknown): void {
    const { status, body, headers }: HttpAnswer = this.#gate.refuse(head, error);
    const text = body as string;
    this.#closing.add(response.req.socket);
    response
      .writeHead(status, {
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        connection: 'close',
      })
      .end(text);
  }
}

function checkExposure({ options }: Server, host: string): void {
  if (LOOPBACK.has(host)) return;
  if (!options.authenticate) {
    throw new ToolcribError(
      'invalid_setup',
      `Listening on ${host} would open every tool to the network: pass authenticate to createServer.`,
    );
  }
  if (!options.allowedHosts) {
    throw new ToolcribError(
      'invalid_setup',
      `Listening on ${host} needs the host names clients use: allowedHosts: ['tools.example.com'].`,
    );
  }
}

function loopbackHosts(port: number): string[] {
  const names = ['localhost', '127.0.0.1', '[::1]'];
  return port === 80 ? names : names.map((name) => `${name}:${port}`);
}

async function closeGently(http: HttpServer, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    http.close(() => resolve());
  });
  // Connections that finish their last answer from now on are idle, and idle ones would hold the server open.
  const sweep = setInterval(() => http.closeIdleConnections(), 20);
  const force = setTimeout(() => http.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(force);
}
