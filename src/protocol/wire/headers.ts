import { ToolcribError } from '../../base/errors.ts';
import { mirrorsOf } from '../../schema/mirrors.ts';
import { isObject } from '../../base/json.ts';
import type { JsonObject, RequestMessage } from './json-rpc.ts';

/** Request headers by lower-case name. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The value of a header that must not be repeated, trimmed. */
export function headerValue(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? trimBlanks(value) : undefined;
}

/**
 * Refuses a modern request whose headers are missing or contradict its body (2026-07-28, header validation).
 */
export function checkMirrors(message: RequestMessage, version: string, headers: Headers): void {
  requireEqual('MCP-Protocol-Version', headerValue(headers, 'mcp-protocol-version'), version);
  requireEqual('Mcp-Method', headerValue(headers, 'mcp-method'), message.method);
  const mcpName = mcpNameOf(message.method, message.params);
  if (mcpName !== undefined)
    requireEqual('Mcp-Name', decodeHeader('Mcp-Name', headerValue(headers, 'mcp-name')), mcpName);
}

/** The tool, prompt, resource or task of a request, which the header `Mcp-Name` repeats. */
export function mcpNameOf(method: string, params: JsonObject | undefined): string | undefined {
  const member = NAMED_BY.get(method);
  const mcpName = member === undefined ? undefined : params?.[member];
  return typeof mcpName === 'string' ? mcpName : undefined;
}

const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** Compares the `Mcp-Param-*` headers with the arguments that the tool's schema mirrors into them. */
export function checkParamMirrors(inputSchema: JsonObject, args: JsonObject, headers: Headers): void {
  for (const { header, path } of mirrorsOf(inputSchema)) {
    const name = `Mcp-Param-${header}`;
    const sent = decodeHeader(name, headerValue(headers, name.toLowerCase()));
    const value = path.reduce<unknown>(
      (node, key) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
      args,
    );
    if (value === undefined || value === null) {
      if (sent !== undefined) mismatch(`${name} is set, but its argument is not`);
      continue;
    }
    if (sent === undefined) mismatch(`${name} is missing`);
    if (!isSame(sent, value)) mismatch(`${name} differs from its argument`);
  }
}

function isSame(sent: string, value: unknown): boolean {
  if (sent === (typeof value === 'string' ? value : JSON.stringify(value))) return true;
  // 42 and 42.0 are the same integer; forms that only JavaScript reads as numbers are not.
  return typeof value === 'number' && INTEGER.test(sent) && Number(sent) === value;
}

const INTEGER = /^-?\d+(?:\.0+)?$/;

/** A text as a header value: unchanged, or in base64 if a header cannot hold it or would be read differently. */
export function encodeHeader(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?');
  return isPlain ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}

/** Decodes the base64 form for values a header cannot hold; malformed ones are refused. */
export function decodeHeader(name: string, value: string | undefined): string | undefined {
  if (value === undefined || !value.startsWith('=?base64?') || !value.endsWith('?=') || value.length < 11)
    return value;
  const encoded = value.slice(9, -2);
  const bytes = Buffer.from(encoded, 'base64');
  // Node decodes leniently; only the canonical form is accepted, or two readers could disagree.
  if (bytes.toString('base64') !== encoded) mismatch(`${name} is not canonical base64`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    mismatch(`${name} is not UTF-8`);
  }
}

function requireEqual(name: string, sent: string | undefined, expected: string): void {
  if (sent === undefined) mismatch(`${name} is missing`);
  if (sent !== expected) mismatch(`${name} differs from the message`);
}

function mismatch(problem: string): never {
  throw new ToolcribError('header_mismatch', `The headers and the message disagree: ${problem}.`);
}

function trimBlanks(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charCodeAt(start))) start++;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--;
  return start === 0 && end === value.length ? value : value.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
