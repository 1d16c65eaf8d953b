import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { PendingRequest } from '../pending-request.ts';
import type { Receiver } from '../transport.ts';
import { Reply, type ReplySink } from './reply.ts';

/** What the streams of a session are made with. */
export interface StreamParts {
  readonly label: string;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly receiver: () => Receiver;
  /** Asks for a stream, from the beginning or from an event on. */
  get(reply: Reply, lastEventId: string | undefined): Promise<void>;
  onWarning(text: string): void;
  /** Told that the stream for messages without a request broke off, and cannot be resumed. */
  onGap(): void;
}

interface Place {
  readonly lastEventId: string;
  readonly retryMs: number;
  readonly round: number;
}

const FIRST_RETRY_MS = 1_000;
const SHORTEST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 30_000;
const MAX_RESUMES = 20;

/** The streams of a session beside those of requests: for messages without a request, and the rest of broken ones. */
export class SessionStreams {
  readonly #parts: StreamParts;
  #general: Reply | undefined;
  #cancelWait: (() => void) | undefined;
  #isClosed = false;
  /** Whether the stream for messages without a request is open. */
  isListening = false;

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /** Opens the stream for messages without a request; a server without one refuses it. */
  listen(): void {
    if (!this.#isClosed && !this.#general) this.#follow(undefined, 0);
  }

  /** Ends that stream, because its session has ended. */
  forget(): void {
    this.#cancelWait?.();
    this.#general?.stop();
    this.#general = undefined;
    this.isListening = false;
  }

  /** Ends everything for good. */
  close(): void {
    this.#isClosed = true;
    this.forget();
  }

  /** Comes back for the rest of a stream that ended early; `false` where that is not possible. */
  resume(pending: PendingRequest, reply: Reply, before?: Place): boolean {
    const lastEventId = reply.lastEventId ?? before?.lastEventId;
    const retryMs = reply.retryMs ?? before?.retryMs ?? FIRST_RETRY_MS;
    const round = before ? before.round + 1 : 0;
    if (lastEventId === undefined || round >= MAX_RESUMES || pending.isOver) return false;
    const place = { lastEventId, retryMs, round };
    pending.work = { stop: this.#parts.clock.after(retryMs, () => this.#comeBack(pending, place)) };
    return true;
  }

  #comeBack(pending: PendingRequest, place: Place): void {
    if (pending.isOver) return;
    const { label, maxBytes, receiver } = this.#parts;
    const sink: ReplySink = {
      onMessage: (data, name) => {
        if (name === 'message' && data.length > 0) receiver().receive(data, pending);
        if (pending.isOver) pending.work?.stop();
      },
      onEnd: (reply) => {
        if (!reply.isStream || !this.resume(pending, reply, place)) pending.fail(streamBrokenOff(label));
      },
      onFailure: (_error, reply) => {
        if (!this.resume(pending, reply, place)) pending.fail(streamBrokenOff(label));
      },
    };
    const reply = new Reply(sink, maxBytes);
    pending.work = reply;
    this.#parts.get(reply, place.lastEventId).catch((error: unknown) => pending.fail(error));
  }

  // Opened again whenever it ends, more slowly each time nothing came of it.
  #follow(lastEventId: string | undefined, failures: number): void {
    let failed = failures;
    const again = (reply: Reply): void => {
      if (this.#general !== reply || this.#isClosed) return;
      this.isListening = false;
      // A server that says "retry: 0" and ends its stream would keep this process busy without end.
      const slowerMs = (reply.retryMs === undefined ? FIRST_RETRY_MS : SHORTEST_RETRY_MS) * 2 ** failed++;
      const waitMs = Math.min(Math.max(reply.retryMs ?? 0, slowerMs), LONGEST_RETRY_MS);
      const place = reply.lastEventId ?? lastEventId;
      if (place === undefined) this.#parts.onGap();
      this.#cancelWait = this.#parts.clock.after(waitMs, () => this.#follow(place, failed));
    };
    const reply = new Reply(
      {
        onMessage: (data, name) => {
          failed = 0;
          if (name === 'message' && data.length > 0) this.#parts.receiver().receive(data, undefined);
        },
        onHead: (opened) => {
          if (this.#general === opened) this.isListening = opened.isStream;
        },
        // Any other response means that there is no stream or that the session has ended; the next request finds out.
        onEnd: (ended) => {
          if (ended.isStream) again(ended);
          else if (lastEventId !== undefined && this.#general === ended) this.#parts.onGap();
        },
        onFailure: (_error, ended) => again(ended),
      },
      this.#parts.maxBytes,
    );
    this.#general = reply;
    this.#parts.get(reply, lastEventId).catch((error: unknown) => this.#parts.onWarning(String(error)));
  }
}

/** The answer to a request whose stream ended without one. */
export function streamBrokenOff(label: string): ToolcribError {
  return new ToolcribError(
    'upstream_unavailable',
    `${label} ended its stream without an answer; whether the request was carried out is not known.`,
  );
}
