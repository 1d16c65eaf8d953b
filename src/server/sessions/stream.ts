import { randomBytes } from 'node:crypto';
import type { Caller } from '../../core/caller.ts';
import type { EventLog, StreamEvent } from '../../core/memory/memory.ts';
import { andThen, orElse, type Awaitable } from '../../base/awaitable.ts';

const MAX_WAITING = 1_000;
const MAX_WAITING_CHARACTERS = 1_048_576;
const MAX_ON_THEIR_WAY = 64;
// A longer event has the place of several.
const CHARACTERS_A_PLACE = 16_384;

/** Where the events of a stream go while the client is there. */
export interface Sink {
  /** Who is at the other end, where that is not the session's own caller. */
  readonly caller?: Caller;
  /** Sends an event; an empty text is an event to come back to, and nothing else. */
  event(text: string, id: string): void;
  /** Ends the connection. */
  end(): void;
}

/** A stream the client may lose and come back to: every event has an id and is kept. */
export class ResumableStream {
  /** What the ids of its events begin with. */
  readonly id: string;
  readonly #log: EventLog;
  readonly #key: string;
  readonly #owner: string;
  // Sent while no connection was there, for one that comes without saying where it left off.
  readonly #waiting: StreamEvent[] = [];
  #waitingCharacters = 0;
  #count = 0;
  #sink: Sink | undefined;
  #ended = false;
  // Settles once everything sent so far is kept: an event must not be looked for before it is there.
  #kept: Awaitable<void> = undefined;
  // The last events handed to the log, each in the place of the one it had to wait for.
  readonly #onTheirWay: Awaitable<void>[] = [];
  #places = 0;
  #keepsAll = true;
  /** Whether messages sent without a connection wait for a new one that names no last event. */
  waits = true;
  // Messages that are sent while a client comes back.
  readonly #comingBack = new Set<StreamEvent[]>();

  /**
   * Messages are stored under the key, for its owner; a process that continues a stream of an earlier one uses the
   * same key.
   */
  constructor(
    log: EventLog,
    { key, owner }: { readonly key: string; readonly owner: string },
    id = ResumableStream.newId(),
  ) {
    this.#log = log;
    this.#key = key;
    this.#owner = owner;
    this.id = id;
  }

  /** Whether anything was sent, so that the client has something to come back to. */
  get started(): boolean {
    return this.#count > 0;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get attached(): boolean {
    return this.#sink !== undefined;
  }

  /** Sends the waiting messages to a connection, and every message from now on. */
  attach(sink: Sink): void {
    this.#sink = sink;
    for (const { id, text } of this.#takeWaiting()) sink.event(text, id);
  }

  /** Releases a closed connection, unless another one took its place. */
  detach(sink: Sink): void {
    if (this.#sink === sink) this.#sink = undefined;
  }

  /** Closes the connection; the stream continues without it. */
  close(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end();
  }

  /** Closes the connection of a caller whose access has ended; others may reconnect. */
  dismiss(isGone: (caller: Caller) => boolean): void {
    if (this.#sink?.caller && isGone(this.#sink.caller)) this.close();
  }

  /** Sends and keeps an event. */
  send(text: string): void {
    if (this.#ended) return;
    const event = { id: `${this.id}.${++this.#count}`, text };
    this.#keep(event);
    for (const events of this.#comingBack) events.push(event);
    if (this.#sink) this.#sink.event(text, event.id);
    else if (this.waits) this.#wait(event);
  }

  /** Nothing more will come; the connection ends. */
  end(): void {
    this.#ended = true;
    this.close();
  }

  /**
   * Repeats the messages after an event and continues from there, unless the event is unknown or was the last one.
   */
  async resume(eventId: string, sink: Sink): Promise<'resumed' | 'unknown' | 'over'> {
    const meanwhile: StreamEvent[] = [];
    this.#comingBack.add(meanwhile);
    try {
      await this.#kept;
      const missed = await this.#log.after(this.#key, eventId, this.#owner);
      if (!missed || !this.#keepsAll) return 'unknown';
      if (this.#ended && missed.length + meanwhile.length === 0) return 'over';
      this.close();
      this.#takeWaiting();
      const repeated = new Set(missed.map(({ id }) => id));
      for (const { id, text } of [...missed, ...meanwhile.filter((event) => !repeated.has(event.id))]) {
        if (text !== '') sink.event(text, id);
      }
      if (this.#ended) sink.end();
      else this.#sink = sink;
      return 'resumed';
    } finally {
      this.#comingBack.delete(meanwhile);
    }
  }

  /** Removes the stored messages and stores no more, once the stream cannot be resumed. */
  forget(): void {
    this.#keepsAll = false;
    this.#kept = orElse(
      () => andThen(this.#kept, () => this.#log.forget(this.#key, this.#owner)),
      () => {},
    );
  }

  // Several at once, so that a server that stops has little left to keep; a flood waits for itself and not in the log.
  #keep(event: StreamEvent): void {
    const size = Math.min(MAX_ON_THEIR_WAY, 1 + Math.floor(event.text.length / CHARACTERS_A_PLACE));
    const first = this.#places + 1;
    this.#places += size;
    const before = this.#onTheirWay[this.#places % MAX_ON_THEIR_WAY];
    const kept = orElse(
      () =>
        andThen(before, () => (this.#keepsAll ? this.#log.keep(this.#key, event, this.#owner) : undefined)),
      () => this.#giveUpKeeping(),
    );
    for (let at = first; at <= this.#places; at++) this.#onTheirWay[at % MAX_ON_THEIR_WAY] = kept;
    this.#kept = andThen(this.#kept, () => kept);
  }

  // A stream whose log failed continues, but its client must not believe that it can be resumed.
  #giveUpKeeping(): void {
    if (this.#keepsAll) this.forget();
  }

  // The oldest go first; the newest stays, however large it is.
  #wait(event: StreamEvent): void {
    this.#waiting.push(event);
    this.#waitingCharacters += event.text.length;
    while (
      this.#waiting.length > MAX_WAITING ||
      (this.#waitingCharacters > MAX_WAITING_CHARACTERS && this.#waiting.length > 1)
    ) {
      this.#waitingCharacters -= this.#waiting.shift()!.text.length;
    }
  }

  #takeWaiting(): StreamEvent[] {
    this.#waitingCharacters = 0;
    return this.#waiting.splice(0);
  }

  /** An id no other stream has. */
  static newId(): string {
    return randomBytes(9).toString('base64url');
  }

  /** The stream an event id belongs to. */
  static idOf(eventId: string): string {
    return eventId.slice(0, eventId.lastIndexOf('.'));
  }
}

/** The log of streams that cannot be resumed. */
export const keepsNothing: EventLog = { keep: () => {}, after: () => undefined, forget: () => {} };
