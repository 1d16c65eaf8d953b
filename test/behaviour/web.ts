import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { describe, onTestFinished } from 'vitest';
import { createServer, type Server } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { toServerOptions, type Setup } from './matrix.ts';
import { modernMeta, type Json } from './peer.ts';
import { headersFor } from './wires.ts';

/** One HTTP request; nothing is added to its headers but a host. */
export interface WebRequest {
  readonly method?: string;
  readonly path?: string;
  /** Headers with the value `undefined` are left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Buffer | Readable;
}

/** An endpoint that can be sent anything. */
export interface Site {
  readonly server: Server;
  readonly logged: { message: string; facts: Json | undefined }[];
  send(request: WebRequest): Promise<Response>;
}

/** The two ways to serve HTTP. */
export type Face = 'fetch' | 'HTTP';

/** States what an HTTP client sees, for `listen` and for `server.fetch`. */
export function describeWeb(state: (open: (setup?: Setup) => Promise<Site>, face: Face) => void): void {
  describe('over fetch:', () => state((setup) => openSite(setup, openFetchFace), 'fetch'));
  describe('over HTTP:', () => state((setup) => openSite(setup, openHttpFace), 'HTTP'));
}

/** A request of 2026-07-28, headers and all; more headers change or remove those. */
export function modernPost(
  method: string,
  params: Json = {},
  headers: WebRequest['headers'] = {},
): WebRequest {
  const meta = { ...modernMeta(), ...(params['_meta'] as Json) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } });
  return { headers: { ...headersFor(body, { version: '2026-07-28', era: 'modern' }), ...headers }, body };
}

/** A request of 2025-06-18, headers and all; more headers change or remove those. */
export function legacyPost(method: string, params?: Json, headers: WebRequest['headers'] = {}): WebRequest {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });
  return { headers: { ...headersFor(body, { version: '2025-06-18', era: 'legacy' }), ...headers }, body };
}

type Send = Site['send'];

async function openSite(setup: Setup = {}, open: (server: Server) => Promise<Send>): Promise<Site> {
  const logged: Site['logged'] = [];
  const server = createServer({
    log: (_level, message, facts) => logged.push({ message, facts }),
    ...toServerOptions(setup),
  });
  return { server, logged, send: await open(server) };
}

async function openFetchFace(server: Server): Promise<Send> {
  return async ({ method = 'POST', path = '/mcp', headers = {}, body }) =>
    server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: present(headers),
        ...(body !== undefined && { body: body instanceof Readable ? toWeb(body) : body, duplex: 'half' }),
      }),
    );
}

async function openHttpFace(server: Server): Promise<Send> {
  const listening = await listen(server, { port: 0 });
  onTestFinished(() => listening.close());
  return sendTo(listening.url);
}

/** Sends requests over a real socket, one connection each. */
export function sendTo(url: string): Send {
  return ({ method = 'POST', path = '/mcp', headers = {}, body }) =>
    new Promise((resolve, reject) => {
      const request = httpRequest(new URL(path, url), { method, headers: present(headers), agent: false });
      request.on('error', reject);
      request.on('response', (message) => {
        const answer = {
          status: message.statusCode!,
          headers: Object.entries(message.headersDistinct).flatMap(pairs),
        };
        const hasBody = ![202, 204].includes(answer.status);
        resolve(new Response(hasBody ? (Readable.toWeb(message) as ReadableStream) : null, answer));
      });
      request.flushHeaders();
      if (body instanceof Readable) body.pipe(request);
      else request.end(body);
    });
}

function pairs([name, values]: [string, string[] | undefined]): [string, string][] {
  return (values ?? []).map((value) => [name, value]);
}

function present(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

// Read only on demand, so that a test can tell whether anybody did.
function toWeb(body: Readable): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value as Uint8Array);
      },
    },
    { highWaterMark: 0 },
  );
}
