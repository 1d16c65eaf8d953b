import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Caller, JsonRpcMessage, Server } from '../../src/index.ts';
import { listen, serveStdio } from '../../src/node.ts';
import { parseEvents } from './events.ts';
import { conversation, talkInLines } from './lines.ts';

/** How one message is sent. */
export interface SendOptions {
  /** Hears what the server says before its answer, questions of its own included. */
  readonly onNotification?: (message: JsonRpcMessage) => void;
  /** Cancels in the transport's own way: by hanging up, or by a notification. */
  readonly signal?: AbortSignal;
  /** Hangs up, whatever that means, where there is something to hang up. */
  readonly hangUp?: AbortSignal;
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
  /** Opens the session's own stream, where it is apart from the answers. */
  follow?(onMessage: (message: JsonRpcMessage) => void): Promise<void>;
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
    close: async () => server.close(),
  };
};

/** Web-standard requests, with `server.fetch`; a client with a handshake keeps its session. */
export const openFetch: OpenWire = async (server, client) =>
  openWeb('http://localhost/mcp', client, {
    send: (request) => server.fetch(request),
    close: async () => server.close(),
    keepsSession: client.era === 'legacy',
  });

/** Web-standard requests of a client that shakes no hands. */
export const openFetchWithoutSession: OpenWire = async (server, client) =>
  openWeb('http://localhost/mcp', client, {
    send: (request) => server.fetch(request),
    close: async () => server.close(),
    keepsSession: false,
  });

/** Requests over a real socket, with `listen`; a client with a handshake keeps its session. */
export const openHttp: OpenWire = async (server, client) => {
  const listening = await listen(server, { port: 0 });
  return openWeb(listening.url, client, {
    send: (request) => fetch(request),
    close: () => listening.close(),
    keepsSession: client.era === 'legacy',
  });
};

/** The first HTTP transport: one stream for every answer, messages posted beside it. */
export const openSse: OpenWire = async (server) => {
  const listening = await listen(server, { port: 0, sse: true });
  const hangUp = new AbortController();
  const stream = await fetch(new URL('/sse', listening.url), { signal: hangUp.signal });
  const events = parseEvents(stream.body!);
  const endpoint = new URL((await events.next()).value as string, listening.url);
  const { talk, hear, end } = conversation(async (text, pieceBytes) => {
    const headers = { 'content-type': 'application/json' };
    await fetch(endpoint, { method: 'POST', headers, ...bodyOf(text, pieceBytes) });
  });
  const heardAll = (async () => {
    for await (const text of events) if (text !== '') hear(text);
  })();
  // The stream ends when the client hangs up, at the end of the test; one that just ended reports no abort.
  const over = Promise.race([heardAll.catch(() => {}), once(hangUp.signal, 'abort')]).then(end);
  return {
    ...talk,
    close: async () => {
      hangUp.abort();
      await over;
      await listening.close();
    },
  };
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
      server.close();
      await served;
    },
  };
};

/** How requests travel. */
export interface Web {
  send(request: Request): Promise<Response>;
  close(): Promise<void>;
  readonly keepsSession: boolean;
  /** Sent with every request, such as a credential. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client's end of anything that takes requests. */
export function openWeb(url: string, client: Pick<Client, 'version' | 'era'>, web: Web): Wire {
  const heard: string[] = [];
  const session = new Map<string, string>();
  const post = (text: string, options: SendOptions): Promise<Response> =>
    web.send(
      new Request(url, {
        method: 'POST',
        headers: {
          ...web.headers,
          ...headersFor(text, { ...client, version: options.version ?? client.version }),
          ...Object.fromEntries(session),
        },
        ...bodyOf(text, options.pieceBytes),
        ...(options.hangUp && { signal: options.hangUp }),
      }),
    );
  const receive = async (text: string, options: SendOptions): Promise<string | undefined> => {
    const response = await post(text, options);
    const opened = response.headers.get('mcp-session-id');
    if (web.keepsSession && opened !== null) session.set('mcp-session-id', opened);
    let answer: string | undefined;
    for await (const message of messagesOf(response)) {
      heard.push(message);
      if ('method' in JSON.parse(message)) options.onNotification?.(JSON.parse(message));
      else answer = message;
    }
    return answer;
  };

  return {
    lasting: web.keepsSession,
    carriesText: true,
    heard,
    async send(text, options = {}) {
      const { signal } = options;
      // A client with a session cancels by notification; the others have nothing but to hang up.
      if (signal && session.size > 0) {
        const params = { requestId: (JSON.parse(text) as { id: unknown }).id };
        const cancel = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
        signal.addEventListener('abort', () => void post(cancel, {}), { once: true });
        return receive(text, options);
      }
      const hangUp = signal ?? options.hangUp;
      try {
        return await receive(text, { ...options, ...(hangUp && { hangUp }) });
      } catch (error) {
        if (hangUp?.aborted) return undefined;
        throw error;
      }
    },
    async follow(onMessage) {
      const headers = { ...web.headers, accept: 'text/event-stream', ...Object.fromEntries(session) };
      const response = await web.send(new Request(url, { headers }));
      void (async () => {
        for await (const message of messagesOf(response)) onMessage(JSON.parse(message) as JsonRpcMessage);
      })();
    },
    close: () => web.close(),
  };
}

const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** The headers a well-behaved client of a revision sends with a message. */
export function headersFor(
  text: string,
  { version, era }: Pick<Client, 'version' | 'era'>,
): Record<string, string> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  // The version header came with 2025-06-18.
  if (era === 'legacy')
    return version < '2025-06-18' ? headers : { ...headers, 'mcp-protocol-version': version };
  const { method = '', params = {} } = JSON.parse(text) as {
    method?: string;
    params?: Record<string, unknown>;
  };
  const name = params[NAMED_BY[method] ?? ''];
  return {
    ...headers,
    'mcp-protocol-version': version,
    ...(method !== '' && { 'mcp-method': method }),
    ...(typeof name === 'string' && { 'mcp-name': name }),
  };
}

async function* messagesOf(response: Response): AsyncGenerator<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') {
    const text = await response.text();
    if (text !== '') yield text;
    return;
  }
  // An event without data is one to come back to, and a comment keeps the stream open; neither is a message.
  for await (const text of parseEvents(response.body!)) if (text !== '') yield text;
}

function bodyOf(text: string, pieceBytes: number | undefined): Pick<RequestInit, 'body'> {
  if (pieceBytes === undefined) return { body: text };
  return { body: inPieces(text, pieceBytes), duplex: 'half' } as RequestInit;
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
