import type { PendingRequest } from './pending-request.ts';

/** What the two sides agreed on. */
export interface Dialect {
  readonly era: 'modern' | 'legacy';
  readonly version: string;
}

/** Takes what comes from the server. */
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
  /** Sends a request; what comes back goes to the receiver, and a failure to the request itself. */
  send(pending: PendingRequest): void;
  /** Sends what has no answer. */
  post(text: string): Promise<void>;
  /** Stops a request that is no longer awaited; returns what has to be posted for the server to stop it, too. */
  abandon(pending: PendingRequest, reason: string): string | undefined;
  /** Which dialect is spoken from now on. */
  agree(dialect: Dialect): void;
  /** Opens the stream for messages that belong to no request, where the transport has one. */
  listen?(): void;
  /** Whether such messages can come right now; they always can where this is missing. */
  readonly isListening?: boolean;
  /** Makes it possible to begin anew after the far side ended; `false` where it cannot be. */
  restart?(): Promise<boolean>;
  /** The end of what a program wrote to its error output. */
  errorText?(): string;
  close(): Promise<void>;
}
