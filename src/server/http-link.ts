import type { Caller } from '../core/caller.ts';
import { Cancellation } from '../core/cancellation.ts';
import { ToolcribError } from '../core/errors.ts';
import { encodeEvent, encodePriming, KEEP_ALIVE } from '../protocol/event-stream.ts';
import type { Headers } from '../protocol/headers.ts';
import { acceptedForms, corsHeaders, STREAM_HEADERS, type Head } from './endpoint.ts';
import { textOf, type Answer, type Body, type Link } from './link.ts';
import type { Pulse } from './pulse.ts';
import type { Session } from './session.ts';
import type { ResumableStream, Sink } from './stream.ts';

/** One HTTP response, whatever it is made of. */
export interface Port {
  /** Whether the client is still there. */
  readonly isOpen: boolean;
  /** Begins an event stream. */
  startStream(headers: Readonly<Record<string, string>>): void;
  write(text: string): void;
  end(): void;
  /** Sends a whole answer. */
  send(status: number, headers: Record<string, string>, body: Body | undefined): void;
}

const RETRY_MS = 500;

/** One HTTP request's way back: a JSON body, or an event stream once anything is said first. */
export class HttpLink implements Link, Sink {
  readonly caller: Caller;
  readonly cancellation = new Cancellation();
  readonly headers: Headers;
  session: Session | undefined = undefined;
  hangUpCancels = false;
  answered = false;
  readonly #head: Head;
  readonly #port: Port;
  #streaming = false;
  #stream: ResumableStream | undefined;
  #still: (() => void) | undefined;
  #gone = false;

  constructor(head: Head, port: Port, caller: Caller) {
    this.caller = caller;
    this.headers = head.headers;
    this.#head = head;
    this.#port = port;
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

  event(text: string, id: string): void {
    this.#write(text === '' ? encodePriming(id, RETRY_MS) : encodeEvent(text, id));
  }

  end(): void {
    this.#still?.();
    this.#write('');
    if (this.#port.isOpen) this.#port.end();
  }

  /** Becomes the connection of a stream that is there already. */
  follow(stream: ResumableStream, pulse: Pulse): void {
    this.#stream = stream;
    this.#write('');
    if (this.#port.isOpen && !this.#gone) this.#still = pulse.add(() => this.keepAlive());
    else {
      // Gone while its session was looked up: nothing else will say so.
      stream.detach(this);
      this.end();
    }
  }

  /** Sends the answer: on the stream if there is one, otherwise as the body. */
  finish({ status, body, headers }: Answer): void {
    if (this.#stream) {
      if (body !== undefined) this.#stream.send(textOf(body));
      this.#stream.end();
      return;
    }
    if (!this.#port.isOpen) return;
    if (this.#streaming || (status === 200 && body !== undefined && !acceptedForms(this.headers).json)) {
      if (body !== undefined) this.#write(encodeEvent(textOf(body)), headers);
      this.#port.end();
    } else this.#port.send(status, { ...this.#cors(), ...headers }, body);
  }

  /** The connection is gone; what a session's client may come back to goes on. */
  hangUp(): void {
    this.#gone = true;
    this.#still?.();
    this.#stream?.detach(this);
    if (this.hangUpCancels) this.cancellation.abort(new ToolcribError('cancelled', 'The client hung up.'));
  }

  #resumable(session: Session): ResumableStream {
    if (!this.#stream) {
      this.#stream = session.openStream();
      this.#stream.attach(this);
      // An event to come back to, before anything can be lost.
      if (session.revision?.features.resumableFromStart) this.#stream.send('');
    }
    return this.#stream;
  }

  #write(text: string, headers: Answer['headers'] = {}): void {
    if (!this.#port.isOpen) return;
    if (!this.#streaming) {
      this.#streaming = true;
      this.#port.startStream({ ...this.#cors(), ...headers, ...STREAM_HEADERS });
    }
    this.#port.write(text);
  }

  #cors(): Record<string, string> {
    return this.headers['origin'] === undefined ? {} : corsHeaders(this.#head);
  }
}
