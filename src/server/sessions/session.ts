import { notedLongIntegers, writeWithLongIntegers } from '../../base/exact-json.ts';
import type { ClientFacts, ClientLogLevel } from '../../core/call.ts';
import { andThen, orElse, type Awaitable } from '../../base/awaitable.ts';
import { endEach, type Cancellation } from '../../base/cancellation.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { EventLog } from '../../core/memory/memory.ts';
import type { JsonObject, ResponseMessage } from '../../protocol/wire/json-rpc.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import { ResumableStream } from './stream.ts';

const MAX_STREAMS = 64;
const MAX_UNDER_WAY = 1_000;

/** What a handshake agreed on, and the requests under way; over HTTP it has an id, over stdio the process has one. */
export class Session {
  readonly id: string;
  readonly caller: Caller;
  revision: Revision | undefined;
  client: ClientFacts | undefined;
  /** Whether the handshake is complete, so that unasked notifications may be sent. */
  ready = false;
  logLevel: ClientLogLevel = 'info';
  /** The beginning of the ids of its questions. */
  askedAs = 'ask';
  /** Called when the session is over. */
  onEnd: () => void = () => {};
  /** Called when the client closes its end of a lasting connection. */
  readonly onHangUp = new Set<() => void>();
  /** The resources its client follows, and how to give back the room they take up. */
  readonly subscriptions = new Map<string, () => void>();
  /** The stream for messages that are not about one request; the client opens it with GET. */
  readonly serverStream: ResumableStream;
  // Requests under way, by id.
  readonly #underWay = new Map<string | number, Cancellation>();
  readonly #streams = new Map<string, ResumableStream>();
  readonly #events: EventLog;
  readonly #asked = new Map<string, Asked>();
  #lastAsked = 0;
  #unanswered = 0;
  #isEnding = false;
  #isClosing = false;
  #isOver = false;

  constructor(id: string, caller: Caller, events: EventLog) {
    this.id = id;
    this.caller = caller;
    this.#events = events;
    // Under the session's own name, so that it goes on where an earlier process left off, with new event ids.
    this.serverStream = new ResumableStream(events, { key: id, owner: ownerOf(caller) });
    this.#streams.set(this.serverStream.id, this.serverStream);
  }

  /** Whether it has ended, so that nothing may begin on it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether a request is under way on it. */
  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /** Performs a request while it is kept by its id, under which its client cancels. */
  perform<T>(id: string | number, cancellation: Cancellation, work: () => Awaitable<T>): Awaitable<T> {
    const underWay = this.#underWay;
    // The session ended after it was found: nothing would stop a request that begins now.
    if (this.#isOver)
      throw new ToolcribError('unknown_session', 'The session has ended; send "initialize" to open another.');
    if (underWay.has(id))
      throw new ToolcribError('invalid_request', 'A request with this id is still under way.');
    if (underWay.size >= MAX_UNDER_WAY) {
      throw new ToolcribError('too_many', `At most ${MAX_UNDER_WAY} requests of a session may be under way.`);
    }
    underWay.set(id, cancellation);
    const result = orElse(work, (error) => {
      underWay.delete(id);
      throw error;
    });
    return andThen(result, (value) => {
      underWay.delete(id);
      return value;
    });
  }

  /** Stops a request that its client cancelled. */
  cancel(id: string | number): void {
    const reason = new ToolcribError('cancelled', 'The client cancelled the request.');
    this.#underWay.get(id)?.withdraw(reason);
  }

  /** Follows a resource, for which `take` makes room. */
  follow(uri: string, take: () => () => void): void {
    // An ended session would never give the room back.
    if (!this.#isOver && !this.subscriptions.has(uri)) this.subscriptions.set(uri, take());
  }

  /** Follows a resource no longer. */
  unfollow(uri: string): void {
    this.subscriptions.get(uri)?.();
    this.subscriptions.delete(uri);
  }

  /** A stream for one request's messages. */
  openStream(): ResumableStream {
    const id = ResumableStream.newId();
    const stream = new ResumableStream(this.#events, this.#placeOf(id), id);
    // A client that comes back names its last event, and gets the rest from the log.
    stream.waits = false;
    this.#streams.set(stream.id, stream);
    for (const old of this.#streams.values()) {
      if (this.#streams.size <= MAX_STREAMS) break;
      if (old !== this.serverStream && old.ended) this.forgetStream(old);
    }
    return stream;
  }

  /**
   * The streams of this session an event id may belong to; whether one of them has that event is for its log to say.
   */
  streamsOf(eventId: string): readonly ResumableStream[] {
    const id = ResumableStream.idOf(eventId);
    const known = this.#streams.get(id);
    if (known) return [known];
    // Of an earlier process: the server's own stream continues; the stream of one request has ended.
    const former = new ResumableStream(this.#events, this.#placeOf(id), id);
    former.end();
    return [this.serverStream, former];
  }

  /** Removes a stream that can no longer be resumed. */
  forgetStream(stream: ResumableStream): void {
    this.#streams.delete(stream.id);
    stream.forget();
  }

  /** Asks the client and waits for its answer; `send` puts the request on the wire. */
  ask(
    request: { readonly method: string; readonly params?: JsonObject },
    send: (message: string) => void,
    cancellation: Cancellation,
  ): Promise<unknown> {
    const id = `${this.askedAs}-${++this.#lastAsked}`;
    const longs = request.params && notedLongIntegers(request.params);
    const text = writeWithLongIntegers({ jsonrpc: '2.0', id, ...request }, longs && { params: longs });
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
    });
    send(text);
    return cancellation.race(answer).finally(() => this.#asked.delete(id));
  }

  /** Takes the client's answer to a question; an answer without a question is ignored. */
  take({ id, result, error }: ResponseMessage): void {
    const asked = this.#asked.get(String(id));
    if (!asked) return;
    if (error === undefined) asked.resolve(result);
    else
      asked.reject(
        new ToolcribError('cannot_ask', 'The client could not answer a question that this needs.', {
          cause: error,
        }),
      );
  }

  /** The client has closed its end: it answers no more questions and gets no more notifications. */
  hangUp(): void {
    this.onHangUp.forEach((stop) => stop());
    const reason = new ToolcribError('cannot_ask', 'The client hung up before it answered.');
    for (const { reject } of this.#asked.values()) reject(reason);
  }

  /**
   * Closes the connections of callers whose access has ended, if they used another credential than the one that
   * opened the session.
   */
  dismiss(isGone: (caller: Caller) => boolean): void {
    for (const stream of this.#streams.values()) stream.dismiss(isGone);
  }

  /** Notes that an answer will come on the session's own stream, which stays open for it. */
  expectAnswer(): void {
    this.#unanswered++;
  }

  /** Notes that such an answer was sent. */
  noteAnswered(): void {
    this.#unanswered--;
    if (this.#isEnding) this.endStream();
    else if (this.#isClosing) this.closeStream();
  }

  /** Closes the session's own stream, to which its client may come back, as soon as every such answer was sent. */
  closeStream(): void {
    this.#isClosing = this.#unanswered > 0;
    if (!this.#isClosing) this.serverStream.close();
  }

  /** Ends the session's own stream, as soon as every answer that belongs on it was sent. */
  endStream(): void {
    this.#isEnding = true;
    if (this.#unanswered === 0) this.serverStream.end();
  }

  /**
   * Stops everything that is under way; each request is still answered, with an error, and its stream ends with that.
   */
  end(): void {
    this.#isOver = true;
    const reason = new ToolcribError('cancelled', 'The session has ended, and with it everything under way.');
    const endings = [
      () => this.onEnd(),
      ...[...this.subscriptions.keys()].map((uri) => () => this.unfollow(uri)),
      ...[...this.#underWay.values()].map((cancellation) => () => cancellation.abort(reason)),
      ...[...this.#asked.values()].map(
        ({ reject }) =>
          () =>
            reject(reason),
      ),
      () => this.endStream(),
      ...[...this.#streams.values()].map((stream) => () => stream.forget()),
    ];
    endEach(endings, (end) => end());
  }

  // The session is part of the key, so that event ids of one session mean nothing in another.
  #placeOf(streamId: string): { readonly key: string; readonly owner: string } {
    return { key: `${this.id}/${streamId}`, owner: ownerOf(this.caller) };
  }
}

interface Asked {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}
