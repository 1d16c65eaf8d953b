import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { RelayedJson } from '../../core/result.ts';
import type { JsonObject } from '../wire/json-rpc.ts';
import { JsonScanner } from '../wire/json-scan.ts';

/** A server's response to a request. */
export interface Answer {
  readonly kind: 'answer';
  readonly id: unknown;
  readonly result: JsonObject | undefined;
  readonly error: JsonObject | undefined;
  /** Whether a number of the message has more digits than parsing keeps for sure. */
  readonly hasLongNumbers: boolean;
  /** The result as it came, where it is the only message. */
  readonly json: RelayedJson | undefined;
}

/** A request of a server to the client. */
export interface ServerRequest {
  readonly kind: 'request';
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

/** A notification of a server. */
export interface Notice {
  readonly kind: 'notice';
  readonly method: string;
  readonly params: JsonObject;
}

/** A message that is none of the three; the reason continues the sentence "The server sent a message that". */
export interface Unreadable {
  readonly kind: 'unreadable';
  readonly reason: string;
}

/** One message from a server. */
export type Incoming = Answer | ServerRequest | Notice | Unreadable;

// Far above what a sensible server sends; the size in bytes is limited before.
const scanner = new JsonScanner({
  depth: 128,
  values: 1_000_000,
  keys: 20_000,
  items: 500_000,
  stringBytes: 64 * 1_048_576,
  numberBytes: 400,
});
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses what a server sent; never throws. One revision may send several messages in an array. */
export function decodeMessages(bytes: Uint8Array): readonly Incoming[] {
  const problem = scanner.scan(bytes);
  if (problem !== undefined) return [unreadable(problem)];
  let value: unknown;
  try {
    value = parseJson(decodeText(bytes));
  } catch {
    return [unreadable('is not JSON in UTF-8')];
  }
  return Array.isArray(value) ? value.map((one) => readMessage(one)) : [readMessage(value, bytes)];
}

function resultJson(bytes: Uint8Array): RelayedJson | undefined {
  const { resultStart: start, resultEnd: end, resultMembers: members } = scanner;
  return end < 0 ? undefined : { message: bytes, start, end, members, isAscii: scanner.ascii };
}

/** The text of the `result` member of a message, unchanged. */
export function rawResultOf(message: Uint8Array): string | undefined {
  const text = Buffer.from(message.buffer, message.byteOffset, message.byteLength).toString('utf8');
  let depth = 0;
  let start: number | undefined;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === '"') {
      const end = endOfString(text, at);
      if (depth === 1 && start === undefined && text.slice(at, end + 1) === '"result"') {
        const colon = /^\s*:\s*/.exec(text.slice(end + 1, end + 100));
        if (colon) start = end + 1 + colon[0].length;
        at = start === undefined ? end : start - 1;
        continue;
      }
      at = end;
    } else if (letter === '{' || letter === '[') depth++;
    else if (letter === '}' || letter === ']') depth--;
    if (start !== undefined && at >= start && depth === 1 && isEndOfValue(text, at, start))
      return text.slice(start, at + 1);
  }
  return undefined;
}

function isEndOfValue(text: string, at: number, start: number): boolean {
  if ('{["'.includes(text[start]!)) return '}]"'.includes(text[at]!);
  return /[,}\s]/.test(text[at + 1] ?? ',');
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

function readMessage(value: unknown, bytes?: Uint8Array): Incoming {
  if (!isObject(value)) return unreadable('is not an object');
  if (value['jsonrpc'] !== '2.0') return unreadable('is not JSON-RPC 2.0');
  const { id, method, params } = value;
  if (method === undefined) return readAnswer(value, bytes && resultJson(bytes));
  if (typeof method !== 'string') return unreadable('has a method that is not text');
  if (params !== undefined && !isObject(params)) return unreadable('has parameters that are not an object');
  if (id === undefined) return { kind: 'notice', method, params: params ?? {} };
  if (typeof id !== 'string' && typeof id !== 'number')
    return unreadable('has an id that is neither text nor number');
  return { kind: 'request', id, method, params: params ?? {} };
}

function readAnswer({ id, result, error }: JsonObject, json: RelayedJson | undefined): Incoming {
  if (result !== undefined && error !== undefined) return unreadable('is both a result and an error');
  if (result !== undefined)
    return isObject(result)
      ? { kind: 'answer', id, result, error: undefined, hasLongNumbers: scanner.longNumbers, json }
      : unreadable('has a result that is not an object');
  if (!isObject(error)) return unreadable('is neither a request nor an answer');
  return { kind: 'answer', id, result: undefined, error, hasLongNumbers: scanner.longNumbers, json };
}

function decodeText(bytes: Uint8Array): string {
  if (!scanner.ascii) return strictUtf8.decode(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function unreadable(reason: string): Unreadable {
  return { kind: 'unreadable', reason };
}
