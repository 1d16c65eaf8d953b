import { metaKeys } from '../../src/protocol/wire/meta.ts';
import { peek, send, toBytes, type RawAnswer, type RawRequest } from './raw-http.ts';
import type { Target } from './target.ts';

/** The revisions every attack is tried in. */
export const versions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** A version a request can be made in. */
export type Version = (typeof versions)[number];

/** The revisions that begin with a handshake. */
export const handshakeVersions = versions.filter((version) => version !== '2026-07-28');

/** A good call, changed in one way that must stop it. */
export interface Attack {
  readonly name: string;
  readonly change: (good: RawRequest, port: number) => RawRequest;
  readonly status: number;
  /** The JSON-RPC error number, where the answer has one. */
  readonly code?: number;
}

/** What a good call says. */
export interface GoodCall {
  readonly name?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

/** A well-formed call over HTTP that a server must run. */
export function goodCall(version: Version, port: number, call: GoodCall = {}): RawRequest {
  const { name = 'danger', headers = [] } = call;
  return {
    line: 'POST /mcp HTTP/1.1',
    headers: [
      ['Host', `127.0.0.1:${port}`],
      ['Content-Type', 'application/json'],
      ['Accept', 'application/json, text/event-stream'],
      ['MCP-Protocol-Version', version],
      ['Mcp-Method', 'tools/call'],
      ['Mcp-Name', name],
      ...headers,
      ['Connection', 'close'],
      ['Content-Length', 'auto'],
    ],
    body: callBody(version, call),
  };
}

/** The JSON text of a call, as a client would write it. */
export function callBody(version: Version, { name = 'danger', args = {} }: GoodCall = {}): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args, ...(version === '2026-07-28' && { _meta: modernMeta }) },
  });
}

/** The `_meta` every modern request carries. */
export const modernMeta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };

/** The same request with one header replaced, or added where it was not there. */
export function withHeader(request: RawRequest, name: string, value: string): RawRequest {
  const others = request.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase());
  return { ...request, headers: [[name, value], ...others] };
}

/** The same request with one more header line, whatever is there already. */
export function withExtra(request: RawRequest, name: string, value: string): RawRequest {
  return { ...request, headers: [...request.headers, [name, value]] };
}

/** The same request without a header. */
export function without(request: RawRequest, name: string): RawRequest {
  return {
    ...request,
    headers: request.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase()),
  };
}

/** The same request with another body. */
export function withBody(request: RawRequest, body: string | Uint8Array): RawRequest {
  return { ...request, body };
}

/** Sends a request, its length filled in, and counts what ran because of it. */
export async function deliver(
  target: Target,
  request: RawRequest,
): Promise<{ answer: RawAnswer; ran: number }> {
  const before = target.runs();
  const answer = await send(target.port, measured(request));
  return { answer, ran: target.runs() - before };
}

/** Sends a request that may open a stream, reads no more than how its answer begins, and counts what ran. */
export async function knock(target: Target, request: RawRequest): Promise<{ status: number; ran: number }> {
  const before = target.runs();
  const { status } = await peek(target.port, toBytes(measured(request)));
  return { status, ran: target.runs() - before };
}

/** The same request with its length filled in. */
export function measured(request: RawRequest): RawRequest {
  const headers = request.headers.map(([name, value]): [string, string] => [
    name,
    value === 'auto' ? String(Buffer.byteLength(request.body)) : value,
  ]);
  return { ...request, headers };
}

/** What an attack came to: its status, its error number and what ran. */
export async function launch(
  target: Target,
  attack: Attack,
  version: Version,
): Promise<{ status: number; code: number | undefined; ran: number }> {
  const { answer, ran } = await deliver(target, attack.change(goodCall(version, target.port), target.port));
  return { status: answer.status, code: answer.json?.error?.code, ran };
}

/** The names of the attacks that made a target run something. */
export async function gotThrough(
  target: Target,
  attacks: readonly Attack[],
  version: Version,
): Promise<string[]> {
  const names: string[] = [];
  for (const attack of attacks) {
    const { ran } = await deliver(target, attack.change(goodCall(version, target.port), target.port));
    if (ran > 0) names.push(attack.name);
  }
  return names;
}
