import { GatheredBytes } from '../../base/gathered-bytes.ts';

/** One server-sent event. */
export interface ServerEvent {
  /** `message` unless the event has a name. */
  readonly name: string;
  /** The data lines, joined by line feeds. */
  readonly data: Buffer;
}

/** Receives what an event stream contains. */
export interface EventSink {
  onEvent(event: ServerEvent): void;
  /** The stream can be resumed after the event of this id. */
  onId?(id: string): void;
  /** How long to wait before reconnecting. */
  onRetry?(ms: number): void;
  /** An event or a line is longer than allowed; nothing more is read. */
  onTooLong(): void;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const MAX_ID_LENGTH = 1_024;
const LONGEST_RETRY_MS = 3_600_000;

/** Splits the bytes of an event stream into events, whatever the chunks; the memory it uses is limited. */
export class EventParser {
  readonly #sink: EventSink;
  readonly #maxBytes: number;
  readonly #line = new GatheredBytes();
  readonly #data = new GatheredBytes();
  #hasData = false;
  #bytes = 0;
  #name = '';
  #afterReturn = false;
  #isFirst = true;
  #isOver = false;

  constructor(sink: EventSink, maxBytes: number) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  /** Reads the next bytes and reports every event they complete. */
  push(chunk: Buffer): void {
    let start = 0;
    // A line feed after a carriage return belongs to it, also in the next chunk.
    if (this.#afterReturn && chunk.length > 0) {
      this.#afterReturn = false;
      if (chunk[0] === LINE_FEED) start = 1;
    }
    while (!this.#isOver) {
      const end = endOfLine(chunk, start);
      if (end < 0) break;
      this.#complete(chunk.subarray(start, end));
      start = end + 1;
      if (chunk[end] !== CARRIAGE_RETURN) continue;
      if (start === chunk.length) this.#afterReturn = true;
      else if (chunk[start] === LINE_FEED) start++;
    }
    if (start < chunk.length && !this.#isOver) this.#hold(chunk.subarray(start));
  }

  #hold(bytes: Buffer): void {
    // Copied, because a slice would keep the whole chunk of the connection in memory.
    this.#line.add(Buffer.from(bytes));
    this.#count(bytes.length);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#maxBytes || this.#isOver) return;
    this.#isOver = true;
    this.#line.drop();
    this.#data.drop();
    this.#sink.onTooLong();
  }

  #complete(tail: Buffer): void {
    let line = tail;
    if (this.#line.length > 0) {
      this.#line.add(tail);
      line = this.#line.take();
    }
    if (this.#isFirst) {
      this.#isFirst = false;
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
    }
    if (line.length === 0) this.#dispatch();
    else if (line[0] !== COLON) this.#field(line);
  }

  #dispatch(): void {
    const [hasData, name] = [this.#hasData, this.#name];
    this.#hasData = false;
    this.#name = '';
    this.#bytes = 0;
    if (hasData) this.#sink.onEvent({ name: name || 'message', data: this.#data.take() });
  }

  #field(line: Buffer): void {
    const colon = line.indexOf(COLON);
    const end = colon < 0 ? line.length : colon;
    const start = colon < 0 ? line.length : line[colon + 1] === SPACE ? colon + 2 : colon + 1;
    const value = line.subarray(start);
    switch (line.toString('latin1', 0, end)) {
      case 'data':
        if (this.#hasData) this.#data.add(FEED);
        this.#hasData = true;
        this.#data.add(Buffer.from(value));
        this.#count(value.length + 1);
        return;
      case 'event':
        this.#name = value.toString('utf8', 0, 100);
        return;
      case 'id':
        if (value.length <= MAX_ID_LENGTH && !value.includes(0)) this.#sink.onId?.(value.toString('utf8'));
        return;
      case 'retry': {
        const text = value.toString('latin1', 0, 20);
        if (/^\d+$/.test(text)) this.#sink.onRetry?.(Math.min(Number(text), LONGEST_RETRY_MS));
      }
    }
  }
}

function endOfLine(chunk: Buffer, start: number): number {
  const feed = chunk.indexOf(LINE_FEED, start);
  // Lines almost always end with a line feed, so a carriage return is only searched before it.
  const before = feed < 0 ? chunk.subarray(start) : chunk.subarray(start, feed);
  const carriage = before.indexOf(CARRIAGE_RETURN);
  return carriage < 0 ? feed : start + carriage;
}

const FEED = Buffer.from([LINE_FEED]);
