import { rowOf, ToolcribError } from '../../base/errors.ts';
import {
  exactText,
  longIntegersOf,
  noteLongIntegers,
  notedLongIntegers,
  writeWithLongIntegers,
  type LongIntegers,
} from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { parseEscapedKeys } from '../../base/parse-json.ts';
import type { JsonScanner } from './json-scan.ts';
import { bytesAsBuffer } from './key-memory.ts';

/** A JSON object with unknown members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A message that expects a response. */
export interface RequestMessage {
  readonly kind: 'request';
  readonly id: string | number;
  /** The id exactly as written, to be echoed. */
  readonly idText: string;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Integers that a number cannot hold, by their place in the message. */
  longIntegers?: LongIntegers | undefined;
}

/** A message that expects no response. */
export interface NotificationMessage {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** The client's response to a request of the server. */
export interface ResponseMessage {
  readonly kind: 'response';
  readonly id: unknown;
  readonly result: unknown;
  readonly error: unknown;
}

/** Several messages in one body, in the one revision that allows it. */
export interface Batch {
  readonly kind: 'batch';
  readonly messages: readonly Message[];
}

/** A message that could not be parsed, and the request id it seems to have. */
export interface InvalidMessage {
  readonly kind: 'invalid';
  readonly idText: string | undefined;
  readonly error: ToolcribError;
}

/** A message from the wire. */
export type Message = RequestMessage | NotificationMessage | ResponseMessage | InvalidMessage;

const MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const MAX_ID_BYTES = 128;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses one message; never throws, so that a refusal can still carry the request's id. */
export function parseMessage(bytes: Uint8Array, scanner: JsonScanner): Message | Batch {
  const problem = scanner.scan(bytes);
  if (problem) return invalid('invalid_request', `The message ${problem}.`);
  let value: unknown;
  let longs: LongIntegers | undefined;
  try {
    const text = decode(bytes, scanner.ascii);
    value = scanner.escapedKeys ? parseEscapedKeys(text) : JSON.parse(text);
    if (scanner.longNumbers) longs = longIntegersOf(text);
  } catch {
    return invalid('parse_error', 'The message is not valid JSON in UTF-8.');
  }
  if (Array.isArray(value)) return readBatch(value);
  if (!isObject(value)) return invalid('invalid_request', 'A message must be a JSON object.');
  const message = readMessage(value, rawIdOf(bytes, scanner));
  if (longs && message.kind === 'request') message.longIntegers = longs;
  return message;
}

/** Frees the parameters of a request once they are read: a request may stay open for hours. */
export function dropParams(message: RequestMessage): void {
  (message as { params: JsonObject | undefined }).params = undefined;
}

/** A success response around an encoded result. */
export function encodeResult(idText: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${idText},"result":${result}}`;
}

/** An error response; the id is left out if it could not be read. */
export function encodeError(
  idText: string | undefined,
  error: ToolcribError,
  number = error.number ?? rowOf(error.code).number,
): string {
  return `{"jsonrpc":"2.0",${idText === undefined ? '' : `"id":${idText},`}"error":${writeFacts(error, number)}}`;
}

/** An error as it is sent, with its long integers noted. */
export function errorFacts(
  error: ToolcribError,
  number = error.number ?? rowOf(error.code).number,
): JsonObject {
  const { message, data, remote } = error;
  const facts = { ...remote, code: number ?? -32603, message, ...(data && { data }) };
  const longs = { ...(remote && notedLongIntegers(remote)) };
  const below = data && notedLongIntegers(data);
  if (below) longs['data'] = below;
  if (Object.keys(longs).length > 0) noteLongIntegers(facts, longs);
  return facts;
}

// Data that is not JSON is left out: a refusal must not fail because of its details.
function writeFacts(error: ToolcribError, number: number | undefined): string {
  try {
    return exactText(errorFacts(error, number));
  } catch {
    return JSON.stringify({ ...error.remote, code: number ?? -32603, message: error.message });
  }
}

/** A notification as text; `longs` are the long integers of its parameters. */
export function encodeNotification(method: string, params?: JsonObject, longs?: LongIntegers): string {
  const message = { jsonrpc: '2.0', method, ...(params && { params }) };
  return writeWithLongIntegers(message, longs && { params: longs });
}

function readBatch(values: readonly unknown[]): Batch | InvalidMessage {
  if (values.length === 0) return invalid('invalid_request', 'A batch needs at least one message.');
  const messages = values.map((value) =>
    isObject(value)
      ? readMessage(value, undefined)
      : invalid('invalid_request', 'A message must be a JSON object.'),
  );
  return { kind: 'batch', messages };
}

function readMessage(value: JsonObject, rawId: string | undefined): Message {
  const idText = isGoodId(value['id']) ? (rawId ?? JSON.stringify(value['id'])) : undefined;
  const problem = findProblem(value);
  if (problem) return { ...invalid('invalid_request', problem), idText };
  const { id, method, params } = value;
  if (typeof method !== 'string')
    return { kind: 'response', id, result: value['result'], error: value['error'] };
  if (params !== undefined && !isObject(params))
    return { ...invalid('invalid_params', '"params" must be an object.'), idText };
  if (id === undefined) return { kind: 'notification', method, params };
  return { kind: 'request', id: id as string | number, idText: idText!, method, params };
}

function findProblem(value: JsonObject): string | undefined {
  if (value['jsonrpc'] !== '2.0') return '"jsonrpc" must be "2.0".';
  for (const key in value) if (!MEMBERS.has(key)) return `A message has no member "${key.slice(0, 40)}".`;
  if ('id' in value && !isGoodId(value['id']))
    return '"id" must be a finite number or a string of at most 128 bytes.';
  const isAnswer = 'result' in value || 'error' in value;
  if (!('method' in value)) return 'id' in value && isAnswer ? undefined : 'A request needs a "method".';
  if (typeof value['method'] !== 'string') return '"method" must be a string.';
  return isAnswer ? 'A message is either a request or a response.' : undefined;
}

function isGoodId(id: unknown): id is string | number {
  return typeof id === 'string' ? Buffer.byteLength(id) <= MAX_ID_BYTES : Number.isFinite(id);
}

function invalid(code: 'parse_error' | 'invalid_request' | 'invalid_params', text: string): InvalidMessage {
  return { kind: 'invalid', idText: undefined, error: new ToolcribError(code, text) };
}

function rawIdOf(bytes: Uint8Array, { ascii, idStart, idEnd }: JsonScanner): string | undefined {
  if (idStart < 0) return undefined;
  return ascii ? latin1(bytes, idStart, idEnd) : strictUtf8.decode(bytes.subarray(idStart, idEnd));
}

function decode(bytes: Uint8Array, ascii: boolean): string {
  return ascii ? latin1(bytes, 0, bytes.length) : strictUtf8.decode(bytes);
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return bytesAsBuffer(bytes).toString('latin1', start, end);
}
