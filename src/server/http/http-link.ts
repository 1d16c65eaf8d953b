import type { Caller } from '../../core/caller.ts';
import { Cancellation } from '../../base/cancellation.ts';
import { encodeEvent, encodePriming, KEEP_ALIVE } from '../../protocol/wire/event-stream.ts';
import type { Headers } from '../../protocol/wire/headers.ts';
import { encodeError } from '../../protocol/wire/json-rpc.ts';
import type { Accidents } from '../accidents.ts';
import { acceptedForms, corsHeaders, namesStreams, STREAM_HEADERS, type Head } from './endpoint.ts';
import { textOf, type Answer, type Body } from '../answer.ts';
import { hungUp, type Link } from '../link.ts';
import type { KeepAlive } from '../sessions/keep-alive.ts';
import type { Session } from '../sessions/session.ts';
import type { ResumableStream, Sink } from '../sessions/stream.ts';

/** The response to one HTTP request: one of `node:http`, or a web-standard one. */
export interface Port {
  /** Whether the client is still there. */
  readonly isOpen: boolean;
  /** Begins an event stream. */
  startStream(headers: Readonly<Record<string, string>>): void;
  write(text: string): void;
  end(): void;
  /** Sends a whole answer. */
  send(status: number, headers: Record<string, string>, body: Body | undefined): void;
  /** Sends this in place of a failed answer, or cuts the connection if a part of that was sent; never throws. */
  replace(text: string): void;
  /** Told if the answer cannot be sent after `send` has returned. */
  sender: Sender | undefined;
  readonly accidents: Accidents;
}

/** Who sends a response, and is told if that fails. */
export interface Sender {
  readonly caller: Caller;
  fail(error: unknown): void;
}

const RETRY_MS = 500;

/** The way back for one HTTP request: one JSON body, or an event stream once anything is sent before the answer. */
export class HttpLink implements Link, Sink, Sender {
  readonly caller: Caller;
  readonly cancellation = new Cancellation();
  readonly headers: Headers;
  session: Session | undefined = undefined;
  hangUpCancels = false;
  hasBegun = false;
  answered = false;
  idText: string | undefined = undefined;
  size = 0;
  isGone = false;
  looks = 0;
  /** Where it is among the requests of its connection. */
  place = 0;
  readonly #head: Head;
  readonly #port: Port;
  #streaming = false;
  #stream: ResumableStream | undefined;
  #still: (() => void) | undefined;

  constructor(head: Head, port: Port, caller: Caller) {
    this.caller = caller;
    this.headers = head.headers;
    this.#head = head;
    this.#port = port;
    port.sender = this;
  }

  get canStream(): boolean {
    return acceptedForms(this.headers).stream;
  }

  notify(message: string): void {
    if (!this.canStream) return;
    if (this.session) this.#resumable(this.session).send(message);
    else this.#write(encodeEvent(message));
  }

  closeStream(): void {
    if (this.session?.revision?.features.resumableFromStart && this.canStream)
      this.#resumable(this.session).close();
  }

  keepAlive(): void {
    if (this.#streaming) this.#write(KEEP_ALIVE);
  }

  breakSilence(): void {
    // A client that did not name event streams may read nothing but one body.
    if (this.isGone || !this.#port.isOpen || !namesStreams(this.headers)) return;
    if (this.session && !this.#streaming) this.#resumable(this.session);
    this.#write(KEEP_ALIVE);
  }

  event(text: string, id: string): void {
    this.#write(text === '' ? encodePriming(id, RETRY_MS) : encodeEvent(text, id));
  }

  end(): void {
    this.#still?.();
    this.#write('');
    this.#close();
  }

  /** Sends the rest of a stream that was begun on another connection. */
  follow(stream: ResumableStream, keepAlive: KeepAlive): void {
    this.#stream = stream;
    this.#write('');
    if (this.#port.isOpen && !this.isGone) this.#still = keepAlive.add(() => this.keepAlive());
    else {
      // The client left while its session was looked up; no event will tell.
      stream.detach(this);
      this.end();
    }
  }

  /** Sends the answer: on the stream if there is one, otherwise as the body. Never throws. */
  finish(answer: Answer): void {
    try {
      this.#send(answer);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Answers with an internal error, because the answer could not be sent. */
  fail(error: unknown): void {
    const text = encodeError(this.idText, this.#port.accidents.report(error));
    if (this.#stream) {
      this.#stream.send(text);
      this.#stream.end();
    } else if (this.#streaming) {
      this.#write(encodeEvent(text));
      this.#close();
    } else this.#port.replace(text);
  }

  #send({ status, body, headers }: Answer): void {
    if (this.#stream) {
      if (body !== undefined) this.#stream.send(textOf(body));
      this.#stream.end();
      return;
    }
    if (!this.#port.isOpen) return;
    if (this.#streaming || (status === 200 && body !== undefined && !acceptedForms(this.headers).json)) {
      if (body !== undefined) this.#write(encodeEvent(textOf(body)), headers);
      this.#close();
    } else this.#port.send(status, { ...this.#cors(), ...headers }, body);
  }

  /** The connection is closed; streams that a session's client can resume continue. */
  hangUp(): void {
    this.isGone = true;
    this.#still?.();
    this.#stream?.detach(this);
    if (this.hangUpCancels) this.cancellation.withdraw(hungUp());
  }

  #resumable(session: Session): ResumableStream {
    if (!this.#stream) {
      this.#stream = session.openStream();
      this.#stream.attach(this);
      // The first event has an id, so that a client that loses the connection can come back.
      if (session.revision?.features.resumableFromStart) this.#stream.send('');
    }
    return this.#stream;
  }

  // A source that announces a change must not fail because this client's connection does.
  #write(text: string, headers: Answer['headers'] = {}): void {
    if (!this.#port.isOpen) return;
    try {
      if (!this.#streaming) {
        this.#streaming = true;
        this.#port.startStream({ ...this.#cors(), ...headers, ...STREAM_HEADERS });
      }
      this.#port.write(text);
    } catch (error) {
      this.#port.replace(encodeError(this.idText, this.#port.accidents.report(error)));
    }
  }

  // Writing may have cut the connection of a client that does not read.
  #close(): void {
    try {
      if (this.#port.isOpen) this.#port.end();
    } catch (error) {
      this.#port.replace(encodeError(this.idText, this.#port.accidents.report(error)));
    }
  }

  #cors(): Record<string, string> {
    return this.headers['origin'] === undefined ? {} : corsHeaders(this.#head);
  }
}
