import { request as httpRequest } from 'node:http';

/** A POST that the load generator repeats. */
export interface BenchRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** API keys that take turns, one a request; left out, nobody signs in. */
  readonly keys?: readonly string[];
}

/** What came back to one POST. */
export interface BenchAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly sessionId: string | undefined;
  readonly body: string;
}

/** The revisions the targets are called on. */
export type Revision = '2026-07-28' | '2025-06-18';

/** The two tools that are called. */
export type EchoTool = 'echo' | 'echo_object';

/** Every tool that is called; the bulky ones answer with 32 kB. */
export type BenchTool = EchoTool | 'bulk_text' | 'bulk_object';

/** The text that the calls carry. */
export const echoText = 'The quick brown fox jumps over the lazy dog.';

/** A `tools/call` of an echo tool on one revision. */
export function callRequest(tool: BenchTool, revision: Revision): BenchRequest {
  const body = JSON.stringify(callMessage(1, tool, revision));
  const headers = { ...commonHeaders, 'mcp-protocol-version': revision };
  if (revision === '2025-06-18') return { headers, body };
  return { headers: { ...headers, 'mcp-method': 'tools/call', 'mcp-name': tool }, body };
}

/** A call of the ready-made tool `ping`. */
export function pingRequest(): BenchRequest {
  const params = { name: 'ping', arguments: {}, _meta: modernMeta };
  const headers = {
    ...commonHeaders,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'ping',
  };
  return { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) };
}

/** Asks a server what it can do, which needs none of its tools. */
export function discoverRequest(): BenchRequest {
  const method = 'server/discover';
  const headers = { ...commonHeaders, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
  return { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: modernMeta } }) };
}

/** The same request from a client that accepts only JSON, although the specification asks for event streams too. */
export function acceptingJsonOnly({ headers, body }: BenchRequest): BenchRequest {
  return { headers: { ...headers, accept: 'application/json' }, body };
}

/** The same request from callers with API keys, who take turns. */
export function withKeys({ headers, body }: BenchRequest, keys: readonly string[]): BenchRequest {
  return { headers, body, keys };
}

/** The headers of a request with one of its keys. */
export function headersOf({ headers, keys }: BenchRequest, turn: number): Readonly<Record<string, string>> {
  if (keys === undefined) return headers;
  return { ...headers, authorization: `Bearer ${keys[turn % keys.length]}` };
}

/** A `tools/list` on 2026-07-28. */
export function listRequest(): BenchRequest {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: modernMeta } };
  return {
    headers: { ...commonHeaders, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    body: JSON.stringify(message),
  };
}

/** The JSON-RPC message of a `tools/call`. */
export function callMessage(id: number, tool: BenchTool, revision: Revision): object {
  const params = { name: tool, arguments: { text: echoText } };
  const meta = revision === '2026-07-28' ? { _meta: modernMeta } : {};
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { ...params, ...meta } };
}

/** Opens a session on 2025-11-25 and returns its id. */
export async function openSession(url: string): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const { sessionId } = await post(url, { headers: commonHeaders, body });
  if (sessionId === undefined) throw new Error('The server opened no session.');
  return sessionId;
}

/** Sends one request and reads the whole answer. */
export function post(url: string, request: BenchRequest): Promise<BenchAnswer> {
  const headers = headersOf(request, 0);
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      url,
      { method: 'POST', headers, agent: false, timeout: 10_000 },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const contentType = response.headers['content-type'] ?? '';
          const session = response.headers['mcp-session-id'];
          resolve({
            status: response.statusCode ?? 0,
            contentType,
            sessionId: typeof session === 'string' ? session : undefined,
            body: Buffer.concat(chunks).toString(),
          });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${url} did not answer within 10 s.`)));
    outgoing.end(request.body);
  });
}

const commonHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** The `_meta` of every request on 2026-07-28. */
export const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
