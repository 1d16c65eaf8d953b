import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { within } from '../within.ts';

/** How a call is made. */
export interface CallOptions {
  /** Goes into `_meta` beside what every call carries. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly id?: number;
  readonly signal?: AbortSignal;
}

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly id: unknown;
  /** The text of the result, or the message of the error. */
  readonly text: string;
  /** Whether the tool did what it was asked. */
  readonly isDone: boolean;
}

/** Where a client connects, and how. */
export interface ClientOptions {
  readonly port: number;
  readonly key?: string;
  /** How many connections it keeps open. */
  readonly connections?: number;
  /** Whether a request is sent again when the server closed its kept connection meanwhile, as usual clients do. */
  readonly sendsAgain?: boolean;
}

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A client of 2026-07-28 that keeps its connections. */
export class Client {
  readonly #port: number;
  readonly #agent: Agent;
  readonly #sendsAgain: boolean;
  readonly #credential: Readonly<Record<string, string>>;
  #lastId = 0;

  constructor({ port, key, connections = 16, sendsAgain = false }: ClientOptions) {
    this.#sendsAgain = sendsAgain;
    this.#port = port;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.#credential = key === undefined ? {} : { authorization: `Bearer ${key}` };
  }

  /** Calls a tool; fails when the connection does. */
  async call(name: string, args: object, options: CallOptions = {}): Promise<Answer> {
    const sent = this.#toolCall(name, args, options);
    const { response, text } = await this.#ask(sent, options.signal);
    return readAnswer(response.statusCode ?? 0, text);
  }

  /** Begins a subscription; resolves when it has been opened. */
  async listen(): Promise<IncomingMessage> {
    const params = { _meta: modernMeta, notifications: { toolsListChanged: true } };
    const sent = this.#message('subscriptions/listen', params, ++this.#lastId);
    return this.#within(sent, this.#send(sent));
  }

  /** Sends any bytes as a request of some revision, and returns the status with the whole answer. */
  async post(
    body: string | Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ response: IncomingMessage; text: string }> {
    const sent = {
      method: 'POST',
      body: body as string,
      headers: { ...common, ...this.#credential, ...headers },
    };
    return this.#ask(sent);
  }

  /** Sends any bytes, and returns the answer; of a stream, which may never end, only what comes first. */
  async begin(
    body: Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ status: number; text: string }> {
    const all = { ...common, ...this.#credential, ...headers };
    const sent = { method: 'POST', body: body as unknown as string, headers: all };
    const response = await this.#within(sent, this.#send(sent));
    const status = response.statusCode ?? 0;
    if (response.headers['content-type'] !== 'text/event-stream')
      return { status, text: await this.#within(sent, readAll(response)) };
    const [first] = (await this.#within(sent, once(response, 'data'))) as [Buffer];
    response.destroy();
    return { status, text: first.toString() };
  }

  /** Hangs up, whatever is under way. */
  close(): void {
    this.#agent.destroy();
  }

  #toolCall(name: string, args: object, { meta, id = ++this.#lastId }: CallOptions): Sent {
    const sent = this.#message(
      'tools/call',
      { name, arguments: args, _meta: { ...modernMeta, ...meta } },
      id,
    );
    return { ...sent, headers: { ...sent.headers, 'mcp-name': name } };
  }

  #message(method: string, params: object, id: number): Sent {
    const headers = {
      ...common,
      ...this.#credential,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    };
    return { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id, method, params }) };
  }

  #ask(sent: Sent, signal?: AbortSignal): Promise<{ response: IncomingMessage; text: string }> {
    const answer = async (): Promise<{ response: IncomingMessage; text: string }> => {
      const response = await this.#send(sent, signal);
      return { response, text: await readAll(response) };
    };
    return this.#within(sent, answer());
  }

  // Every request must be answered; an error names the request that was not.
  #within<T>({ body }: Sent, answer: Promise<T>): Promise<T> {
    return within(ANSWER_MS, `an answer to ${body.slice(0, 300)}`, answer);
  }

  #send({ method, headers, body }: Sent, signal?: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port: this.#port,
          path: '/mcp',
          method,
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
          agent: this.#agent,
          ...(signal && { signal }),
        },
        resolve,
      );
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        const isKept = outgoing.reusedSocket && error.code === 'ECONNRESET';
        if (this.#sendsAgain && isKept) resolve(this.#send({ method, headers, body }, signal));
        else reject(error);
      });
      outgoing.end(body);
    });
  }
}

/** Reads an answer to its end; fails when it is cut short. */
export async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  if (!response.complete) throw new Error('The answer was cut short.');
  return Buffer.concat(chunks).toString();
}

function readAnswer(status: number, text: string): Answer {
  const { id, result, error } = JSON.parse(text) as {
    id: unknown;
    result?: { content?: { text?: string }[]; isError?: boolean };
    error?: { message: string };
  };
  const said = error?.message ?? result?.content?.map((block) => block.text ?? '').join('') ?? '';
  return {
    status,
    id,
    text: said,
    isDone: status === 200 && result !== undefined && result.isError !== true,
  };
}

// Longer than any tool of the fault tests takes, however many wait before it.
const ANSWER_MS = 120_000;

const common = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** The `_meta` of every request on 2026-07-28. */
export const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'faults', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
