import { PassThrough } from 'node:stream';
import type { Caller, JsonRpcMessage, Server } from '../../src/index.ts';
import { listen, serveStdio } from '../../src/node.ts';
import { parseEvents } from './events.ts';
import { talkInLines } from './lines.ts';

/** How one message is sent. */
export interface SendOptions {
  /** Hears what the server says before its answer. */
  readonly onNotification?: (message: JsonRpcMessage) => void;
  /** Cancels in the transport's own way: by hanging up, or by a notification. */
  readonly signal?: AbortSignal;
  /** Cuts the message into pieces of so many bytes, which arrive one by one. */
  readonly pieceBytes?: number;
  /** Names another version in the header, where there are headers. */
  readonly version?: string;
}

/** A client's end of a transport, which carries text and knows nothing of its meaning. */
export interface Wire {
  /** Whether the connection remembers a handshake. */
  readonly lasting: boolean;
  /** Whether text arrives as it was sent; within a process messages are objects. */
  readonly carriesText: boolean;
  /** Every message the server sent, in order. */
  readonly heard: readonly string[];
  /** Sends one message; the answer, or nothing where there is none. */
  send(text: string, options?: SendOptions): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Who is at the client's end, and what it speaks. */
export interface Client {
  readonly version: string;
  readonly era: 'modern' | 'legacy';
  readonly caller: Caller;
}

/** Connects a client to a server. */
export type OpenWire = (server: Server, client: Client) => Promise<Wire>;

/** Messages handed over as objects, with `server.handle`. */
export const openInProcess: OpenWire = async (server, { caller }) => {
  const heard: string[] = [];
  return {
    lasting: false,
    carriesText: false,
    heard,
    async send(text, { onNotification, signal } = {}) {
      const notify = (message: JsonRpcMessage): void => {
        heard.push(JSON.stringify(message));
        onNotification?.(message);
      };
      const message = JSON.parse(text) as JsonRpcMessage;
      const answer = await server.handle(message, { caller, notify, ...(signal && { signal }) });
      if (answer) heard.push(JSON.stringify(answer));
      return answer && JSON.stringify(answer);
    },
    close: async () => {},
  };
};

/** Web-standard requests, with `server.fetch`. */
export const openFetch: OpenWire = async (server, client) =>
  openWeb('http://localhost/mcp', client, {
    send: (request) => server.fetch(request),
    close: async () => {},
  });

/** Requests over a real socket, with `listen`. */
export const openHttp: OpenWire = async (server, client) => {
  const listening = await listen(server, { port: 0 });
  return openWeb(listening.url, client, {
    send: (request) => fetch(request),
    close: () => listening.close(),
  });
};

/** Lines over a pair of streams, with `serveStdio`. */
export const openStdio: OpenWire = async (server, { caller }) => {
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(server, { input, output, caller });
  const talk = talkInLines(input, output);
  return {
    ...talk,
    close: async () => {
      input.end();
      await served;
    },
  };
};

interface Web {
  send(request: Request): Promise<Response>;
  close(): Promise<void>;
}

function openWeb(url: string, client: Client, web: Web): Wire {
  const heard: string[] = [];
  return {
    lasting: false,
    carriesText: true,
    heard,
    async send(text, { onNotification, signal, pieceBytes, version = client.version } = {}) {
      const request = new Request(url, {
        method: 'POST',
        headers: headersFor(text, { ...client, version }),
        ...(pieceBytes === undefined ? { body: text } : { body: inPieces(text, pieceBytes), duplex: 'half' }),
        ...(signal && { signal }),
      });
      try {
        let answer: string | undefined;
        for await (const message of messagesOf(await web.send(request))) {
          heard.push(message);
          if ('method' in JSON.parse(message)) onNotification?.(JSON.parse(message));
          else answer = message;
        }
        return answer;
      } catch (error) {
        if (signal?.aborted) return undefined;
        throw error;
      }
    },
    close: () => web.close(),
  };
}

/** The headers a well-behaved client of a revision sends with a message. */
export function headersFor(
  text: string,
  { version, era }: Pick<Client, 'version' | 'era'>,
): Record<string, string> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
  };
  if (era === 'legacy') return headers;
  const { method, params } = JSON.parse(text) as { method?: string; params?: { name?: string } };
  return {
    ...headers,
    ...(method !== undefined && { 'mcp-method': method }),
    ...(method === 'tools/call' && typeof params?.name === 'string' && { 'mcp-name': params.name }),
  };
}

async function* messagesOf(response: Response): AsyncGenerator<string> {
  if (response.headers.get('content-type') === 'text/event-stream') yield* parseEvents(response.body!);
  else {
    const text = await response.text();
    if (text !== '') yield text;
  }
}

function inPieces(text: string, bytes: number): ReadableStream<Uint8Array> {
  const whole = Buffer.from(text);
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(whole.subarray(sent, (sent += bytes)));
      if (sent >= whole.length) controller.close();
    },
  });
}
