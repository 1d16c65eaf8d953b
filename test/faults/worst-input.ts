import { modernMeta } from './client.ts';

/** A request that is as costly as a legal one can be, in one of the ways in which it can be. */
export interface WorstInput {
  readonly kind: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** What its answer must say, or it was refused before it came to what it is to try. */
  readonly shows: RegExp;
  /** On a session of 2025-03-26 or beside a stream of 2024-11-05; a request by itself unless set. */
  readonly on?: 'session' | 'stream';
}

export const SIZE = 1_000_000;

/** What an answer of a tool that did what it was asked says. */
export const DONE = /"isError":false/;
/** What an answer says that was made after the arguments were checked. */
export const INVALID = /Invalid arguments for \w+: \w+(?:\[0\]|\.|: must)/;

/** A call on 2026-07-28, with arguments as they are written. */
export function call({
  kind,
  tool,
  args,
  shows = DONE,
}: {
  readonly kind: string;
  readonly tool: string;
  readonly args: string;
  readonly shows?: RegExp;
}): WorstInput {
  const params = `{"_meta":${JSON.stringify(modernMeta)},"name":"${tool}","arguments":{"nonce":"x",${args}}}`;
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  return { kind, body: Buffer.from(body), headers: headersOf('tools/call', tool), shows };
}

/** Any request on 2026-07-28. */
export function modern(
  kind: string,
  shows: RegExp,
  { method, ...params }: Readonly<Record<string, unknown>> & { readonly method: string },
): WorstInput {
  const meta = { ...modernMeta, ...(params['_meta'] as object | undefined) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } });
  const { name, uri } = params as { name?: string; uri?: string };
  return { kind, body: Buffer.from(body), headers: headersOf(method, name ?? uri), shows };
}

/** A message, or a list of them, on 2025-03-26. */
export function old(kind: string, shows: RegExp, messages: readonly string[]): Omit<WorstInput, 'on'> {
  const body = messages.length === 1 ? messages[0]! : `[${messages.join(',')}]`;
  return { kind, body: Buffer.from(body), headers: { 'mcp-protocol-version': '2025-03-26' }, shows };
}

/** The text of a request before 2026-07-28, with its parameters as they are written. */
export function request(method: string, params: string, id = 1): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
}

function headersOf(method: string, name?: string): Record<string, string> {
  const named = name === undefined ? {} : { 'mcp-name': name };
  return { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...named };
}
