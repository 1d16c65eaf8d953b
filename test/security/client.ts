import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { TASKS_EXTENSION } from '../../src/core/requirement.ts';
import type { Caller } from '../../src/core/caller.ts';
import { metaKeys } from '../../src/protocol/wire/meta.ts';
import { within } from '../within.ts';
import type { Version } from './attack.ts';
import { leaksIn } from './leaks.ts';
import { ada, tokenOf } from './people.ts';
import { leakedAnswers, type JsonRpcAnswer } from './raw-http.ts';

const agent = new Agent({ keepAlive: true });
// Less than a test may take, so that a failure says what was not answered.
const ANSWER_MS = 15_000;

/** Everything a client can say it can do. */
export const ableClient = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: {},
  extensions: { [TASKS_EXTENSION]: {} },
};

/** What came back: enough to tell two answers apart. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly json: JsonRpcAnswer | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** How a request is made. */
export interface RequestOptions {
  readonly method?: 'POST' | 'GET' | 'DELETE';
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** A well-behaved client of one caller, which attacks by using what is not its own. */
export class Client {
  readonly caller: Caller;
  readonly #target: { readonly port: number };
  #lastId = 0;

  constructor(target: { readonly port: number }, caller: Caller = ada) {
    this.#target = target;
    this.caller = caller;
  }

  /** Asked for each time: a target that was started again has another one. */
  get port(): number {
    return this.#target.port;
  }

  /** Sends a request and reads its answer to the end. */
  async send({ method = 'POST', path = '/mcp', body, ...options }: RequestOptions): Promise<Reply> {
    const headers = this.#headers({ body, ...options });
    // Not with fetch, which takes several times as long.
    const begun = new Promise<IncomingMessage>((resolve, reject) => {
      const target = { host: '127.0.0.1', port: this.port, method, path, headers, agent };
      request(target, resolve).on('error', reject).end(body);
    });
    const what = `${method} ${path} ${body?.slice(0, 600) ?? ''}`;
    const response = await within(ANSWER_MS, `an answer to ${what}`, begun);
    const text = await within(ANSWER_MS, `the end of the answer to ${what}`, readText(response));
    if (leaksIn(text).length > 0) leakedAnswers.push(text);
    return { status: response.statusCode!, body: text, json: parse(text), headers: response.headers };
  }

  /** Sends a request and leaves its answer to be read. */
  open({ method = 'POST', path = '/mcp', body, ...options }: RequestOptions): Promise<Response> {
    const headers = this.#headers({ body, ...options });
    return fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
  }

  #headers({ headers, body }: RequestOptions): Record<string, string> {
    return {
      authorization: tokenOf(this.caller),
      accept: 'application/json, text/event-stream',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    };
  }

  /** A modern request, complete. */
  modern(
    method: string,
    params: Readonly<Record<string, unknown>> = {},
    id: unknown = ++this.#lastId,
  ): RequestOptions {
    const named = NAMED_BY.map((member) => params[member]).find((name) => typeof name === 'string');
    return {
      headers: {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(named !== undefined && {
          'mcp-name': `=?base64?${Buffer.from(named).toString('base64')}?=`,
        }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id,
        method,
        params: {
          ...params,
          _meta: {
            [metaKeys.protocolVersion]: '2026-07-28',
            [metaKeys.clientCapabilities]: ableClient,
            ...(params['_meta'] as object | undefined),
          },
        },
      }),
    };
  }

  /** Asks in the modern way. */
  ask(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<Reply> {
    return this.send(this.modern(method, params));
  }

  /** Opens a session and completes its handshake. */
  async startSession(version: Version): Promise<string> {
    const params = {
      protocolVersion: version,
      clientInfo: { name: 'x', version: '1' },
      capabilities: ableClient,
    };
    const { headers, status } = await this.send(this.old('initialize', params));
    const id = headers['mcp-session-id'];
    if (typeof id !== 'string') throw new Error(`No session: ${status}`);
    await this.send({
      headers: { 'mcp-session-id': id },
      body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    });
    return id;
  }

  /** A request of the handshake revisions. */
  old(
    method: string,
    params: object = {},
    { id = ++this.#lastId, session = '' }: { id?: unknown; session?: string } = {},
  ): RequestOptions {
    return {
      headers: session === '' ? {} : { 'mcp-session-id': session },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    };
  }
}

/** The JSON-RPC messages on an event stream, one by one. */
export class Events {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';
  /** The id of the last event that had one. */
  lastId: string | undefined;

  constructor(response: Response) {
    if (response.headers.get('content-type') !== 'text/event-stream')
      throw new Error(`No stream: ${response.status}`);
    this.#reader = response.body!.getReader();
  }

  /** The data of the next event that has any; `undefined` at the end. */
  async nextData(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const event = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        this.lastId = /^id: (.*)$/m.exec(event)?.[1] ?? this.lastId;
        const data = /^data: (.+)$/m.exec(event)?.[1];
        if (data !== undefined) return data;
        continue;
      }
      const { value, done } = await this.#reader.read();
      if (done) return undefined;
      this.#text += Buffer.from(value).toString();
    }
  }

  /** The next message. */
  async next(): Promise<(JsonRpcAnswer & { method?: string; params?: Record<string, unknown> }) | undefined> {
    const data = await this.nextData();
    if (data !== undefined && leaksIn(data).length > 0) leakedAnswers.push(data);
    return data === undefined ? undefined : (JSON.parse(data) as JsonRpcAnswer);
  }

  /** Hangs up. */
  close(): Promise<void> {
    return this.#reader.cancel();
  }
}

const NAMED_BY = ['name', 'uri', 'taskId'];

function parse(body: string): JsonRpcAnswer | undefined {
  try {
    return JSON.parse(body) as JsonRpcAnswer;
  } catch {
    return undefined;
  }
}
