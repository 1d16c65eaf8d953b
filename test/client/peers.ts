import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions as TlsOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import {
  connect,
  createServer,
  ToolRegistry,
  type Client,
  type HttpOptions,
  type ServerOptions,
  type Tool,
  type ToolSource,
} from '../../src/index.ts';
import { listen } from '../../src/node.ts';

/** Serves tools with our own server until the test ends, and returns its address. */
export async function serve(
  source: ToolRegistry | readonly Tool<never>[],
  options: Partial<ServerOptions> = {},
): Promise<string> {
  return serveSource(
    source instanceof ToolRegistry ? source : new ToolRegistry().registerTool(...source),
    options,
  );
}

/** Serves any source until the test ends, and returns its address. */
export async function serveSource(source: ToolSource, options: Partial<ServerOptions> = {}): Promise<string> {
  const listening = await listen(createServer({ name: 'bench', source, ...options }), { port: 0 });
  onTestFinished(() => listening.close());
  return listening.url;
}

/** Connects until the test ends. */
export async function open(url: string, options: HttpOptions = {}): Promise<Client> {
  const client = await connect(url, options);
  onTestFinished(() => client.close());
  return client;
}

/** One request a made-up server got. */
export interface Got {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Readonly<Record<string, unknown>>;
  /** The body as it came. */
  readonly text: string;
  /** Answers with a result. */
  reply(result: object): void;
  /** Answers with an error. */
  refuse(code: number, message: string, more?: { data?: unknown; status?: number }): void;
  /** Begins an event stream. */
  stream(): (message: object, id?: string) => void;
}

/** A scripted server over real sockets, which keeps the requests it got. */
export interface MadeUp {
  readonly url: string;
  readonly got: Got[];
  /** The methods it was asked for. */
  methods(): string[];
}

/** Starts a server whose answers are made up by the test; what it leaves out is answered like a modern server would. */
export async function makeUp(answer: (got: Got) => boolean | void, tls?: TlsOptions): Promise<MadeUp> {
  const seen: Got[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    void readBody(request).then((text) => {
      const got = gotOf(request, response, text);
      seen.push(got);
      if (answer(got) !== false) return;
      standard(got);
    });
  };
  const server = tls ? createHttpsServer(tls, handle) : createHttpServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http${tls ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, got: seen, methods: () => seen.map(({ body }) => String(body['method'])) };
}

/** Answers the requests every modern server answers. */
export function standard({ body, reply, refuse }: Got): void {
  switch (body['method']) {
    case 'server/discover':
      return reply({
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: 'private',
      });
    case 'tools/list':
      return reply({ tools: [ECHO], ttlMs: 60_000, cacheScope: 'private' });
    default:
      return refuse(-32601, 'No such method.', { status: 404 });
  }
}

/** A tool that made-up servers list. */
export const ECHO = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
};

/** The result of a call that only says something. */
export function said(text: string): object {
  return { resultType: 'complete', content: [{ type: 'text', text }] };
}

function gotOf(request: IncomingMessage, response: ServerResponse, text: string): Got {
  const body = text === '' ? {} : (JSON.parse(text) as Got['body']);
  const { id } = body;
  const send = (status: number, message: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...message }));
  };
  return {
    request,
    response,
    body,
    text,
    reply: (result) => send(200, { result: { resultType: 'complete', ...result } }),
    refuse: (code, message, { data, status = 200 } = {}) =>
      send(status, { error: { code, message, ...(data !== undefined && { data }) } }),
    stream: () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return (message, eventId) => {
        const data = JSON.stringify({ jsonrpc: '2.0', ...message });
        response.write(`${eventId === undefined ? '' : `id: ${eventId}\n`}data: ${data}\n\n`);
      };
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
