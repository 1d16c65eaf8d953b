import type { ClientFacts } from '../core/call.ts';
import type { Caller } from '../core/caller.ts';
import { Cancellation } from '../core/cancellation.ts';
import type { Headers } from '../protocol/headers.ts';
import type { Revision } from '../protocol/revision.ts';

/** One message's way back to its client: who it is, what may be said before the answer, and how it is stopped. */
export interface Link {
  readonly caller: Caller;
  readonly cancellation: Cancellation;
  /** The request's headers, where the transport has any. */
  readonly headers?: Headers;
  /** The lasting connection the message came in on, where there is one. */
  readonly connection?: Connection;
  /** Set once the era is known: in the modern one a client that hangs up has cancelled. */
  hangUpCancels: boolean;
  /** Set with the answer: nothing may be said of the request after it. */
  answered: boolean;
  /** Sends a message about this request before its answer. */
  notify(message: string): void;
}

/** What a lasting connection (stdio) remembers: the handshake, and the calls under way by id. */
export interface Connection {
  revision: Revision | undefined;
  client: ClientFacts | undefined;
  /** Whether the handshake is complete, so that unasked notifications may be sent. */
  ready: boolean;
  readonly underWay: Map<string | number, Cancellation>;
}

/** What goes back: a status for HTTP, and the bytes of one message in pieces, or none. */
export interface Answer {
  readonly status: number;
  readonly body: Body | undefined;
}

/** A message's text, whole or in pieces: long lists are kept encoded and never joined. */
export type Body = string | readonly (string | Buffer)[];

/** The whole text of a body. */
export function textOf(body: Body): string {
  return typeof body === 'string' ? body : body.map(String).join('');
}

/** The link of a transport that has neither headers nor a lasting connection. */
export function createLink(caller: Caller, notify: (message: string) => void): Link {
  return { caller, cancellation: new Cancellation(), hangUpCancels: false, answered: false, notify };
}
