import {
  longIntegersAt,
  longIntegersOf,
  noteLongIntegers,
  notedLongIntegers,
  type LongIntegers,
} from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { RelayedJson } from '../../core/result.ts';
import type { JsonObject } from '../wire/json-rpc.ts';
import { JsonScanner } from '../wire/json-scan.ts';
import { lateIn, LateResult, type Late, type Received } from './received.ts';

/** A server's response to a request. */
export interface DecodedResponse {
  readonly kind: 'answer';
  readonly id: unknown;
  /** The result, unless it is an error. */
  readonly received: Received | undefined;
  readonly error: JsonObject | undefined;
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
export type Incoming = DecodedResponse | ServerRequest | Notice | Unreadable;

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
  const json = resultJson(bytes);
  const { brokenText, longNumbers, longTexts } = scanner;
  const late = json && !brokenText && !longNumbers ? lateIn(json, longTexts) : undefined;
  let value: unknown;
  try {
    const text = late ? late.outline : decodeText(bytes);
    value = parseJson(text);
    // Those of a result are read where somebody wants them.
    if (longNumbers && !json) noteParts(value, longIntegersOf(text));
  } catch {
    return [unreadable('is not JSON in UTF-8')];
  }
  const message = { bytes, json, late };
  return Array.isArray(value)
    ? value.map((one) => readMessage(one, { bytes }))
    : [readMessage(value, message)];
}

function noteParts(value: unknown, longs: LongIntegers | undefined): void {
  if (!longs) return;
  if (Array.isArray(value)) value.forEach((one, index) => noteParts(one, longIntegersAt(longs, index)));
  else if (isObject(value))
    for (const name of ['params', 'error', 'result']) {
      const part = value[name];
      if (isObject(part)) noteLongIntegers(part, longIntegersAt(longs, name));
    }
}

/** A message, and what was seen of its result before it was parsed. */
interface Scanned {
  readonly bytes: Uint8Array;
  readonly json?: RelayedJson | undefined;
  readonly late?: Late | undefined;
}

function resultJson(bytes: Uint8Array): RelayedJson | undefined {
  const { resultStart: start, resultEnd: end, resultMembers: members } = scanner;
  return end < 0 ? undefined : { message: bytes, start, end, members, isAscii: scanner.ascii };
}

/** A result, whose long integers are noted of it. */
export function notedResult(received: Received): JsonObject {
  const { result } = received;
  noteLongIntegers(result, longIntegersIn(received));
  return result;
}

/** The long integers of a result. */
export function longIntegersIn(received: Received): LongIntegers | undefined {
  if (received.hasLongNumbers !== true) return undefined;
  const known = notedLongIntegers(received.result);
  const text = known ? undefined : rawResultOf(received.bytes);
  return text === undefined ? known : longIntegersOf(text);
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

function readMessage(value: unknown, message: Scanned): Incoming {
  if (!isObject(value)) return unreadable('is not an object');
  if (value['jsonrpc'] !== '2.0') return unreadable('is not JSON-RPC 2.0');
  const { id, method, params } = value;
  if (method === undefined) return readAnswer(value, message);
  if (typeof method !== 'string') return unreadable('has a method that is not text');
  if (params !== undefined && !isObject(params)) return unreadable('has parameters that are not an object');
  if (id === undefined) return { kind: 'notice', method, params: params ?? {} };
  if (typeof id !== 'string' && typeof id !== 'number')
    return unreadable('has an id that is neither text nor number');
  return { kind: 'request', id, method, params: params ?? {} };
}

function readAnswer({ id, result, error }: JsonObject, { bytes, json, late }: Scanned): Incoming {
  if (result !== undefined && error !== undefined) return unreadable('is both a result and an error');
  if (result !== undefined) {
    if (!isObject(result)) return unreadable('has a result that is not an object');
    const received =
      json && late
        ? new LateResult(result, late.members, json)
        : { result, bytes, hasLongNumbers: scanner.longNumbers, json };
    return { kind: 'answer', id, received, error: undefined };
  }
  if (!isObject(error)) return unreadable('is neither a request nor an answer');
  return { kind: 'answer', id, received: undefined, error };
}

function decodeText(bytes: Uint8Array): string {
  if (!scanner.ascii) return strictUtf8.decode(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function unreadable(reason: string): Unreadable {
  return { kind: 'unreadable', reason };
}
