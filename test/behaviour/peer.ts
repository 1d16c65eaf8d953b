import type { JsonRpcMessage } from '../../src/index.ts';
import { within } from '../within.ts';
import type { SendOptions, Wire } from './wires.ts';

/** A JSON object as it came. */
export type Json = Readonly<Record<string, unknown>>;

/** A tool's result as it came. */
export interface ToolResult extends Json {
  readonly content: readonly (Json & { readonly type: string; readonly text: string })[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** An answer as it came; which of result and error it has is for the test to say. */
export interface Answer {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result: Json;
  readonly error: { readonly code: number; readonly message: string; readonly data?: Json };
}

/** A client of one revision that hides nothing: what it returns is what was on the wire. */
export interface Peer {
  readonly wire: Wire;
  /** What the server logged. */
  readonly logged: { level: string; message: string; facts: Json | undefined }[];
  /** The answer to the handshake, on a connection that has one. */
  readonly introduction: Json | undefined;
  /** Sends a request in the revision's own form; nothing comes back from one that was cancelled. */
  request(method: string, params?: Json, options?: SendOptions): Promise<Answer | undefined>;
  /** The result of a request that must succeed. */
  result(method: string, params?: Json, options?: SendOptions): Promise<Json>;
  /** The error of a request that must be refused. */
  error(method: string, params?: Json): Promise<Answer['error']>;
  /** The result of calling a tool. */
  call(name: string, args?: Json, options?: SendOptions): Promise<ToolResult>;
  /** The first page of the tools. */
  list(params?: Json): Promise<Json & { readonly tools: readonly Json[] }>;
  notify(method: string, params?: Json): Promise<void>;
}

/** What a peer speaks. */
export interface PeerOptions {
  readonly version: string;
  readonly era: 'modern' | 'legacy';
  readonly logged?: Peer['logged'];
  /** What the client says it can do; nothing unless told. */
  readonly capabilities?: Json;
}

/** Speaks a revision over a wire, handshake included where there is one. */
export async function openPeer(wire: Wire, options: PeerOptions): Promise<Peer> {
  const { version, era, logged = [], capabilities = {} } = options;
  let lastId = 0;
  const send = async (message: JsonRpcMessage, sending?: SendOptions): Promise<Answer | undefined> => {
    const text = JSON.stringify(message);
    // A little less than a test may take, so that a request without an answer is named.
    const answer = await within(18_000, `an answer to ${text.slice(0, 500)}`, wire.send(text, sending));
    return answer === undefined ? undefined : (JSON.parse(answer) as Answer);
  };
  const request: Peer['request'] = (method, params, sending) =>
    send({ jsonrpc: '2.0', id: ++lastId, method, ...withMeta(params, options) }, sending);
  const result: Peer['result'] = async (method, params, sending) => {
    const answer = await request(method, params, sending);
    if (answer?.result) return answer.result;
    throw new Error(`${method} has no result: ${JSON.stringify(answer)}`);
  };
  const notify: Peer['notify'] = async (method, params) => {
    await send({ jsonrpc: '2.0', method, ...(params && { params }) });
  };

  return {
    wire,
    logged,
    introduction: wire.lasting && era === 'legacy' ? await shakeHands() : undefined,
    request,
    result,
    async error(method, params) {
      const answer = await request(method, params);
      if (answer?.error) return answer.error;
      throw new Error(`${method} was not refused: ${JSON.stringify(answer)}`);
    },
    call: async (name, args = {}, sending) =>
      (await result('tools/call', { name, arguments: args }, sending)) as ToolResult,
    list: async (params) => (await result('tools/list', params)) as Json & { tools: readonly Json[] },
    notify,
  };

  async function shakeHands(): Promise<Json> {
    const clientInfo = { name: 'peer', version: '1.0.0' };
    const introduction = await result('initialize', {
      protocolVersion: version,
      capabilities,
      clientInfo,
    });
    await notify('notifications/initialized');
    return introduction;
  }
}

/** The `_meta` of a modern request. */
export function modernMeta(version = '2026-07-28', capabilities: Json = {}): Json {
  return {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'peer', version: '1.0.0' },
  };
}

function withMeta(params: Json | undefined, options: PeerOptions): { params?: Json } {
  if (options.era === 'legacy') return params ? { params } : {};
  const meta = modernMeta(options.version, options.capabilities);
  return { params: { ...params, _meta: { ...meta, ...(params?.['_meta'] as Json) } } };
}
