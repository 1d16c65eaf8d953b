import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { describe, onTestFinished } from 'vitest';
import { createServer, ToolRegistry, type Caller, type Server } from '../../src/index.ts';
import { listen, type Listening } from '../../src/node.ts';
import type { Setup } from './matrix.ts';
import type { Answer, Json } from './peer.ts';
import { requireTaskNotification, requireTaskResult } from './task-schemas.ts';

/** One HTTP request; a body that is not text is sent as JSON, and nothing is added to the headers but a host. */
export interface DoorRequest {
  readonly method?: string;
  readonly path?: string;
  /** Headers with the value `undefined` are left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

/** A server that can be reached over HTTP, or as if it were. */
export interface Door {
  readonly server: Server;
  /** Absent where there is no network. */
  readonly listening?: Listening;
  send(request: DoorRequest): Promise<Response>;
}

/** Opens the door to a server that ends with the test. */
export type OpenDoor = (setup?: Setup & { readonly sse?: boolean }) => Promise<Door>;

/** Who may come in: the name is the bearer token. */
export const people = {
  ada: person('ada', 'acme'),
  bob: person('bob', 'acme'),
  eve: person('ada', 'evil'),
} as const;

/** The name of an accepted caller. */
export type Person = keyof typeof people;

/** States what an HTTP client sees, for `server.fetch` and for `listen`. */
export function describeDoors(state: (open: OpenDoor) => void): void {
  describe('over fetch:', () => state(openFetchDoor));
  describe('over HTTP:', () => state(openHttpDoor));
}

/** A server on a real socket. */
export const openHttpDoor: OpenDoor = async (setup) => {
  const { sse = false } = setup ?? {};
  const server = serve(setup);
  const listening = await listen(server, { port: 0, sse });
  onTestFinished(() => listening.close());
  return { server, listening, send: (request) => sendOverSocket(listening.url, request) };
};

const openFetchDoor: OpenDoor = async (setup) => {
  const server = serve(setup);
  onTestFinished(() => server.close());
  const send: Door['send'] = ({ method = 'POST', path = '/mcp', headers = {}, body }) =>
    server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: present(headers),
        ...(body !== undefined && { body: textOf(body) }),
      }),
    );
  return { server, send };
};

/** A server that knows its people by their names. */
export function serve({
  tools = [],
  sse: _sse,
  ...options
}: Setup & { readonly sse?: boolean } = {}): Server {
  return createServer({
    source: new ToolRegistry().registerTool(...tools),
    authenticate: ({ headers }) => people[String(headers['authorization']).slice(7) as Person],
    log: () => {},
    ...options,
  });
}

/** Sends one request over a socket of its own. */
export function sendOverSocket(url: string, request: DoorRequest): Promise<Response> {
  const { method = 'POST', path = '/mcp', headers = {}, body } = request;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(new URL(path, url), { method, headers: present(headers), agent: false });
    sent.on('error', reject);
    sent.on('response', (message) => {
      const pairs = Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      const stream = message.statusCode === 204 ? null : (Readable.toWeb(message) as ReadableStream);
      resolve(new Response(stream, { status: message.statusCode!, headers: pairs }));
    });
    sent.end(body === undefined ? undefined : textOf(body));
  });
}

/** One event of a stream as it came; a comment has no data. */
export interface StreamedEvent {
  readonly id?: string;
  readonly retry?: string;
  readonly event?: string;
  readonly data?: string;
  readonly comment?: string;
}

/** Reads a stream event by event. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = '';

  constructor(response: Response) {
    if (response.headers.get('content-type') !== 'text/event-stream')
      throw new Error(`This is no stream: ${response.status} ${response.headers.get('content-type')}`);
    this.#reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next event or comment; nothing at the end. */
  async next(): Promise<StreamedEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return parseBlock(block);
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
    }
  }

  /** The next message and its event id. */
  async message(): Promise<{ id: string | undefined; message: Json & Partial<Answer> }> {
    for (let event = await this.next(); event; event = await this.next()) {
      if (!event.data) continue;
      const message = JSON.parse(event.data) as Json & Partial<Answer>;
      requireTaskNotification(message);
      return { id: event.id, message };
    }
    throw new Error('The stream ended before the next message.');
  }

  /** The messages up to and including the first that fits. */
  async until(fits: (message: Json & Partial<Answer>) => boolean): Promise<(Json & Partial<Answer>)[]> {
    const messages = [];
    for (;;) {
      const { message } = await this.message();
      messages.push(message);
      if (fits(message)) return messages;
    }
  }

  /** Everything up to the end of the stream. */
  async rest(): Promise<StreamedEvent[]> {
    const events = [];
    for (let event = await this.next(); event; event = await this.next()) events.push(event);
    return events;
  }

  /** Hangs up. */
  async hangUp(): Promise<void> {
    await this.#reader.cancel();
  }
}

function parseBlock(block: string): StreamedEvent {
  const fields = block.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return [colon === 0 ? 'comment' : line.slice(0, colon), line.slice(colon + 2)];
  });
  return Object.fromEntries(fields) as StreamedEvent;
}

/** How a session is opened. */
export interface SessionOptions {
  readonly version?: string;
  readonly as?: Person;
  readonly capabilities?: Json;
  /** More headers of the handshake. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** A client of a handshake revision with a session of its own. */
export class SessionClient {
  readonly id: string;
  readonly #door: Pick<Door, 'send'>;
  readonly #headers: Readonly<Record<string, string | undefined>>;
  #lastId = 100;

  constructor(
    door: Pick<Door, 'send'>,
    id: string,
    { version = '2025-11-25', as = 'ada' }: SessionOptions = {},
  ) {
    this.id = id;
    this.#door = door;
    this.#headers = { ...postHeaders(as), 'mcp-protocol-version': version, 'mcp-session-id': id };
  }

  /** Posts a message, or several at once. */
  post(body: unknown, headers: DoorRequest['headers'] = {}): Promise<Response> {
    return this.#door.send({ headers: { ...this.#headers, ...headers }, body });
  }

  /** Posts a request. */
  request(method: string, params: Json = {}, id: string | number = ++this.#lastId): Promise<Response> {
    return this.post({ jsonrpc: '2.0', id, method, params });
  }

  /** Posts a call with a progress token. */
  call(name: string, args: Json = {}, id: string | number = ++this.#lastId): Promise<Response> {
    return this.request('tools/call', { name, arguments: args, _meta: { progressToken: id } }, id);
  }

  /** The answer to a request, which comes as one body. */
  async answer(method: string, params?: Json): Promise<Answer> {
    return (await (await this.request(method, params)).json()) as Answer;
  }

  notify(method: string, params: Json = {}): Promise<Response> {
    return this.post({ jsonrpc: '2.0', method, params });
  }

  /** Sends a GET. */
  get(headers: DoorRequest['headers'] = {}): Promise<Response> {
    const defaults = { ...this.#headers, accept: 'text/event-stream', 'content-type': undefined };
    return this.#door.send({ method: 'GET', headers: { ...defaults, ...headers } });
  }

  /** Opens the session's stream, or comes back to one after an event. */
  async stream(lastEventId?: string): Promise<EventReader> {
    return new EventReader(await this.get({ 'last-event-id': lastEventId }));
  }

  /** Ends the session. */
  end(): Promise<Response> {
    return this.#door.send({ method: 'DELETE', headers: { ...this.#headers, 'content-type': undefined } });
  }
}

/** Sends the handshake and nothing else. */
export function initialize(door: Pick<Door, 'send'>, options: SessionOptions = {}): Promise<Response> {
  const { version = '2025-11-25', as = 'ada', capabilities = {}, headers } = options;
  const params = { protocolVersion: version, capabilities, clientInfo: { name: 'test', version: '1.0.0' } };
  return door.send({
    headers: { ...postHeaders(as), ...headers },
    body: { jsonrpc: '2.0', id: 1, method: 'initialize', params },
  });
}

/** Opens a session, handshake complete. */
export async function openSession(
  door: Pick<Door, 'send'>,
  options: SessionOptions = {},
): Promise<SessionClient> {
  const response = await initialize(door, options);
  const client = new SessionClient(door, response.headers.get('mcp-session-id')!, options);
  await client.notify('notifications/initialized');
  return client;
}

/** How a modern request is sent. */
export interface ModernOptions {
  readonly id?: string | number;
  readonly as?: Person;
  readonly capabilities?: Json;
  readonly headers?: DoorRequest['headers'];
}

/** The body of a request of 2026-07-28. */
export function modernBody(
  method: string,
  params: Json = {},
  { id = 1, capabilities = {} }: ModernOptions = {},
) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...(params['_meta'] as Json),
  };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } } as const;
}

/** Sends a request of 2026-07-28, with the headers it needs. */
export function sendModern(
  door: Door,
  [method, params = {}]: readonly [string, Json?],
  options: ModernOptions = {},
): Promise<Response> {
  const name = params['name'] ?? params['uri'] ?? params['taskId'];
  return door.send({
    headers: {
      ...postHeaders(options.as ?? 'ada'),
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...options.headers,
    },
    body: modernBody(method, params, options),
  });
}

/** The answer to a request of 2026-07-28, which comes as one body. */
export async function askModern(
  door: Door,
  request: readonly [string, Json?],
  options?: ModernOptions,
): Promise<Answer> {
  const answer = (await (await sendModern(door, request, options)).json()) as Answer;
  requireTaskResult(request[0], answer);
  return answer;
}

/** The headers every client of this machine sends with a message. */
export function postHeaders(as: Person): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${as}`,
  };
}

function person(id: string, tenant: string): Caller {
  return { id, tenant: { id: tenant, name: tenant, data: {} }, scopes: [], roles: [] };
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function present(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
