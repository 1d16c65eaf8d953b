import { connect } from 'node:net';
import { within } from '../within.ts';
import { leaksIn } from './leaks.ts';

/** A request as it goes over the wire, every byte chosen by the test. */
export interface RawRequest {
  readonly line: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
}

/** One HTTP answer. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** The body as JSON, where it is. */
  readonly json: JsonRpcAnswer | undefined;
}

/** What a JSON-RPC answer may hold. */
export interface JsonRpcAnswer {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Every answer that told something it should not; stays empty unless a target leaks. */
export const leakedAnswers: string[] = [];

/** The bytes of a request. */
export function toBytes({ line, headers, body }: RawRequest): Buffer {
  const head = [line, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body as string)]);
}

/** Sends a request that asks for the connection to be closed, and returns its one answer. */
export async function send(port: number, request: RawRequest): Promise<RawAnswer> {
  const answers = await talk(port, toBytes(request));
  if (answers.length !== 1) throw new Error(`${answers.length} answers to ${request.line}`);
  return answers[0]!;
}

/**
 * Writes bytes in slices until the server answers, and reads until it closes; a reset counts as closing.
 * With `end`, the writing side is closed after the last byte, so that an unfinished request does not wait for more.
 */
export async function talk(port: number, bytes: Uint8Array, { end = false } = {}): Promise<RawAnswer[]> {
  const received: Buffer[] = [];
  const over = new Promise<void>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve());
    const write = (start: number): void => {
      if (received.length > 0 || socket.destroyed) return;
      if (start < bytes.length)
        socket.write(bytes.subarray(start, start + SLICE), () => write(start + SLICE));
      else if (end) socket.end();
    };
    write(0);
  });
  await within(ANSWER_MS, `the end of the answers to ${shown(bytes)}`, over);
  return readAnswers(Buffer.concat(received));
}

const SLICE = 65_536;
// Less than a test may take, so that a failure says what was not answered.
const ANSWER_MS = 15_000;

/** The beginning of a message, for a complaint about it. */
export function shown(bytes: Uint8Array): string {
  return JSON.stringify(Buffer.from(bytes).toString('latin1', 0, 600));
}

/** Sends a request and hangs up as soon as the first answer has begun: for streams, which do not end of themselves. */
export async function peek(
  port: number,
  bytes: Uint8Array,
): Promise<{ status: number; type: string | undefined }> {
  const begun = new Promise<string>((resolve) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.includes('\r\n\r\n')) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
  const head = await within(ANSWER_MS, `an answer to ${shown(bytes)}`, begun);
  if (leaksIn(head).length > 0) leakedAnswers.push(head);
  const type = /^content-type: (.*?)\r?$/im.exec(head)?.[1];
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]), type };
}

/** Reads all answers off what a server sent before it closed. */
export function readAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) throw new Error(`Half an answer: ${rest.toString('latin1')}`);
    const [line = '', ...fields] = rest.toString('latin1', 0, headEnd).split('\r\n');
    const headers = new Map(fields.map(splitField));
    const isChunked = headers.get('transfer-encoding') === 'chunked';
    const after = rest.subarray(headEnd + 4);
    const declared = line === 'HTTP/1.1 100 Continue' ? '0' : headers.get('content-length');
    const { body, length } = isChunked ? unchunk(after) : cut(after, declared);
    answers.push(toAnswer(line, headers, body));
    rest = after.subarray(length);
  }
  return answers;
}

function splitField(field: string): [string, string] {
  const colon = field.indexOf(':');
  return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
}

function cut(bytes: Buffer, declared: string | undefined): { body: string; length: number } {
  const length = declared === undefined ? bytes.length : Number(declared);
  return { body: bytes.toString('utf8', 0, length), length };
}

function unchunk(bytes: Buffer): { body: string; length: number } {
  let body = '';
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size >= 0)) throw new Error('A broken chunk.');
    const next = lineEnd + 2 + size + 2;
    if (size === 0) return { body, length: next };
    body += bytes.toString('utf8', lineEnd + 2, lineEnd + 2 + size);
    at = next;
  }
}

function toAnswer(line: string, headers: ReadonlyMap<string, string>, body: string): RawAnswer {
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
  if (leaksIn(body).length > 0) leakedAnswers.push(body);
  return { status, headers, body, json: parseJson(body) };
}

function parseJson(text: string): JsonRpcAnswer | undefined {
  try {
    return JSON.parse(text) as JsonRpcAnswer;
  } catch {
    return undefined;
  }
}
