import { ToolcribError } from '../../base/errors.ts';
import { GatheredBytes } from '../../base/gathered-bytes.ts';
import { EventParser } from '../../protocol/decode/event-parser.ts';

/** Takes the parts of an answer over HTTP. */
export interface ReplySink {
  /** A message of an event stream. */
  onMessage(data: Buffer, name: string): void;
  /** The head of the answer has come. */
  onHead?(reply: Reply): void;
  /** All of it has come. */
  onEnd(reply: Reply): void;
  /** It broke off, or never came. */
  onFailure(error: Error, reply: Reply): void;
}

const MAX_INTERIM = 16;

/** One answer over HTTP, written to by the connection: a whole body, or a stream of events. */
export class Reply {
  readonly #sink: ReplySink;
  readonly #maxBytes: number;
  #abort: ((error?: Error) => void) | undefined;
  #rawHeaders: readonly Buffer[] = [];
  #parser: EventParser | undefined;
  readonly #body = new GatheredBytes();
  #bytes = 0;
  #interim = 0;
  #isStopped = false;
  status = 0;
  /** The last event that can be come back to. */
  lastEventId: string | undefined;
  retryMs: number | undefined;

  constructor(sink: ReplySink, maxBytes: number) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  /** Whether this is a stream of events. */
  get isStream(): boolean {
    return this.#parser !== undefined;
  }

  /** How much came of a body that is no stream. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The body, if it is not a stream; it is returned once, and not kept. */
  takeBody(): Buffer {
    return this.#body.take();
  }

  /** The value of a header, all of them joined if it is repeated. */
  header(name: string): string | undefined {
    const values: string[] = [];
    for (let at = 0; at + 1 < this.#rawHeaders.length; at += 2) {
      const key = this.#rawHeaders[at]!;
      if (key.length === name.length && key.toString('latin1').toLowerCase() === name)
        values.push(this.#rawHeaders[at + 1]!.toString('latin1'));
    }
    return values.length === 0 ? undefined : values.join(', ');
  }

  /** Aborts it; no further events follow. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#abort?.(STOPPED);
  }

  // The methods below are called by the connection.

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    if (this.#isStopped) abort(STOPPED);
  }

  onHeaders(status: number, rawHeaders: readonly Buffer[]): boolean {
    if (status < 200) {
      if (++this.#interim > MAX_INTERIM) this.#refuse('sends interim answers without end');
      return true;
    }
    this.status = status;
    this.#rawHeaders = rawHeaders;
    const encoding = this.header('content-encoding');
    if (encoding !== undefined && encoding !== 'identity') {
      this.#refuse('sends compressed answers, which were not asked for');
      return true;
    }
    if (status < 300 && isEventStream(this.header('content-type'))) this.#parser = this.#openParser();
    this.#sink.onHead?.(this);
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.#isStopped) return true;
    if (this.#parser) {
      this.#parser.push(chunk);
      return true;
    }
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.#refuse(`sends an answer of over ${this.#maxBytes} bytes`);
    else this.#body.add(chunk);
    return true;
  }

  onComplete(): void {
    if (!this.#isStopped) this.#sink.onEnd(this);
  }

  onError(error: Error): void {
    if (!this.#isStopped) this.#sink.onFailure(error, this);
  }

  #openParser(): EventParser {
    return new EventParser(
      {
        onEvent: ({ name, data }) => {
          if (!this.#isStopped) this.#sink.onMessage(data, name);
        },
        onId: (id) => (this.lastEventId = id === '' ? undefined : id),
        onRetry: (ms) => (this.retryMs = ms),
        onTooLong: () => this.#refuse(`sends an event of over ${this.#maxBytes} bytes`),
      },
      this.#maxBytes,
    );
  }

  #refuse(problem: string): void {
    const error = new ToolcribError('invalid_answer', `The server ${problem}.`);
    this.stop();
    this.#sink.onFailure(error, this);
  }
}

const STOPPED = new ToolcribError('cancelled', 'Nobody waits for this answer any more.');

function isEventStream(type: string | undefined): boolean {
  return type !== undefined && /^text\/event-stream\s*(?:;|$)/i.test(type);
}
