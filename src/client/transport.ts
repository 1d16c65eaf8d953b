import type { PendingRequest } from './pending-request.ts';

/** The revision that the two sides agreed on. */
export interface Dialect {
  readonly era: 'modern' | 'legacy';
  readonly version: string;
}

/** Receives the messages of the server. */
export interface Receiver {
  /** One message; `pending` is the request whose own stream it came on, if it came on one. */
  receive(message: Buffer, pending: PendingRequest | undefined): void;
  /** Nothing more will come. */
  lost(error: Error): void;
}

/** Carries messages to a server and back. */
export interface Transport {
  /** What is at the other end, for messages to people; without credentials. */
  readonly label: string;
  /** Sends a request. Messages that come back go to the receiver; a failure of the transport goes to the request. */
  send(pending: PendingRequest): void;
  /** Sends a message that has no answer. */
  post(text: string): Promise<void>;
  /** Stops a request that is no longer awaited; returns the message, if any, that tells the server to stop it. */
  abandon(pending: PendingRequest, reason: string): string | undefined;
  /** Sets the dialect for all messages from now on. */
  agree(dialect: Dialect): void;
  /** Opens the stream for messages that belong to no request, where the transport has one. */
  listen?(): void;
  /** Whether such messages can come right now; they always can where this is missing. */
  readonly isListening?: boolean;
  /** Prepares a new start after the far side has ended; `false` if that is not possible. */
  restart?(): Promise<boolean>;
  /** The end of what a program wrote to its error output. */
  errorText?(): string;
  close(): Promise<void>;
}
