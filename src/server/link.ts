import type { Caller } from '../core/caller.ts';
import { Cancellation } from '../base/cancellation.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Headers } from '../protocol/wire/headers.ts';
import type { Session } from './sessions/session.ts';

/** One message's way back to its client: who it is, what may be said before the answer, and how it is stopped. */
export interface Link {
  readonly caller: Caller;
  readonly cancellation: Cancellation;
  /** The request's headers, where the transport has any. */
  readonly headers?: Headers;
  /** Set by transports of the handshake revisions: they have no headers that a modern request could be checked by. */
  readonly handshakeOnly?: boolean;
  /** What a handshake agreed on: over HTTP found by the session id of the request, over stdio one for the process. */
  session: Session | undefined;
  /** Set once the era is known: in the modern one a client that hangs up has cancelled. */
  hangUpCancels: boolean;
  /** Set when the stages get the call. A call that fails before is counted as a request, because no stage counts it. */
  hasBegun: boolean;
  /** Set with the answer: no message about the request may follow it. */
  answered: boolean;
  /**
   * The id of the request, as it was written, once that is known; an answer that cannot be sent is replaced by an error
   * under it.
   */
  idText: string | undefined;
  /** How many bytes the message has; of a batch, all of it. */
  size: number;
  /** Whether the client hung up, which may be before anybody knew what it wanted. */
  readonly isGone: boolean;
  /** Set where its answer comes later, on the stream of the session: no connection waits for it. */
  readonly isQueued?: boolean;
  /** Whether the client takes messages before the answer. */
  readonly canStream: boolean;
  /** Sends a message about this request before its answer. */
  notify(message: string): void;
  /** Closes the stream early, where the client can come back to it. */
  closeStream?(): void;
  /** Keeps a quiet stream open. */
  keepAlive?(): void;
  /** Begins the stream of a request that takes long, or keeps it open. */
  breakSilence?(): void;
  /** How often `Silence` found its request unanswered. */
  looks: number;
}

/** Whether no connection waits for the answer: its client hung up, or was told that it comes later. */
export function isUnattended({ isGone, isQueued = false }: Link): boolean {
  return isGone || isQueued;
}

/** Why a request is stopped whose client hung up. */
export function hungUp(): ToolcribError {
  return new ToolcribError('cancelled', 'The client hung up.');
}

/** A link for another message of the same client, with its own way back; stopped if the first one is. */
export function besideLink(
  { caller, headers, session, cancellation, size }: Link,
  notify: (message: string) => void,
): Link {
  const beside = createLink(caller, notify, session);
  beside.size = size;
  if (cancellation.reason) beside.cancellation.abort(cancellation.reason);
  return headers ? { ...beside, headers } : beside;
}

/** The link of a transport that has no headers. */
export function createLink(caller: Caller, notify: (message: string) => void, session?: Session): Link {
  return {
    caller,
    cancellation: new Cancellation(),
    session,
    hangUpCancels: false,
    hasBegun: false,
    answered: false,
    idText: undefined,
    size: 0,
    isGone: false,
    looks: 0,
    canStream: true,
    notify,
  };
}
