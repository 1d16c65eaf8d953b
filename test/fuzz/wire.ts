import { connect, type Socket } from 'node:net';
import type { Reply } from './case.ts';

// Of a stream that stays open no more is kept.
const MAX_KEPT = 262_144;

/** A connection over which any bytes go out, and which reads the answers as they come. */
export class Wire {
  /** Whole answers so far, in the order they came. */
  readonly replies: Reply[] = [];
  /** How many requests went out. */
  sent = 0;
  /** What came of an answer that is not whole yet; `undefined` before its head is there. */
  begun: Reply | undefined;
  isStream = false;
  isClosed = false;
  /** Whether the server took no connection, or took it away before anything was said. */
  isRefused = false;
  /** Why what came cannot be read, when it cannot. */
  garbage: string | undefined;
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #look: () => void = () => {};

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#read();
      this.#look();
    });
    this.#socket.on('error', () => {
      this.isRefused = this.replies.length === 0;
    });
    this.#socket.on('end', () => this.#socket.end());
    this.#socket.on('close', () => {
      this.isClosed = true;
      this.#look();
    });
  }

  write(bytes: Uint8Array): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes);
  }

  /** Ends what this side sends. */
  halfClose(): void {
    this.#socket.end();
  }

  /** Takes no more until told otherwise, as a client that does not read. */
  pause(): void {
    this.#socket.pause();
  }

  /** The newest whole answer. */
  get last(): Reply | undefined {
    return this.replies.at(-1);
  }

  /** Waits until all that was written has been handed on, or the connection is closed. */
  async flushed(): Promise<void> {
    // A connection that is gone says so in the same way.
    await new Promise<void>((resolve) => void this.#socket.write('', () => resolve()));
  }

  hangUp(): void {
    this.#socket.destroy();
  }

  /** Waits until something is so or the connection is closed; false when neither happens in time. */
  async until(isSo: () => boolean, ms: number): Promise<boolean> {
    const isOver = (): boolean => this.isClosed || this.garbage !== undefined || isSo();
    if (isOver()) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#look = () => {};
        resolve(false);
      }, ms);
      this.#look = () => {
        if (!isOver()) return;
        clearTimeout(timer);
        this.#look = () => {};
        resolve(true);
      };
    });
  }

  /** Waits until every request is answered; the beginning of a stream is an answer if `isStream` says so. */
  answered(ms: number, isStream = false): Promise<boolean> {
    return this.until(() => this.replies.length >= this.sent || (isStream && this.isStream), ms);
  }

  #read(): void {
    while (this.#received.length > 0 && this.garbage === undefined) {
      const found = readReply(this.#received);
      if (typeof found === 'string') {
        this.garbage = found;
        return;
      }
      this.begun = found?.reply;
      this.isStream = found?.isStream ?? false;
      if (found?.length === undefined) {
        if (this.isStream && this.#received.length > MAX_KEPT) this.hangUp();
        return;
      }
      this.#received = this.#received.subarray(found.length);
      this.isStream = false;
      this.begun = undefined;
      if (found.reply.status >= 200) this.replies.push(found.reply);
    }
  }
}

interface Found {
  readonly reply: Reply;
  readonly isStream: boolean;
  /** How many bytes it took; `undefined` while more are to come. */
  readonly length: number | undefined;
}

// The answer that some bytes begin with; nothing while its head is not whole, and a complaint when it is none.
function readReply(bytes: Buffer): Found | string | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0)
    return bytes.length > 32_768 ? `an endless head: ${bytes.toString('latin1', 0, 100)}` : undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
  if (!(status >= 100)) return `not HTTP: ${head.slice(0, 100)}`;
  const isStream = /^content-type: text\/event-stream/im.test(head);
  const start = headEnd + 4;
  if (/^transfer-encoding: chunked/im.test(head)) {
    const { text, length } = unchunk(bytes, start);
    return { reply: { status, text, head }, isStream, length };
  }
  const declared = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
  const end = start + declared;
  return {
    reply: { status, text: bytes.toString('utf8', start, end), head },
    isStream,
    length: bytes.length < end ? undefined : end,
  };
}

function unchunk(bytes: Buffer, start: number): { text: string; length: number | undefined } {
  const chunks: Buffer[] = [];
  const whole = (): string => Buffer.concat(chunks).toString();
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return { text: whole(), length: undefined };
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return { text: whole(), length: undefined };
    if (size === 0) return { text: whole(), length: next };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
