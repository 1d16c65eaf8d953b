import type { Exchange } from './pending-request.ts';

/** What the two sides agreed on. */
export interface Dialect {
  readonly era: 'modern' | 'legacy';
  readonly version: string;
}

/** Takes what comes from the server. */
export interface Receiver {
  /** One message; `exchange` is the request whose own stream it came on, where there is one. */
  receive(message: Buffer, exchange: Exchange | undefined): void;
  /** Nothing more will come. */
  lost(error: Error): void;
}

/** Carries messages to a server and back. */
export interface Transport {
  /** What is at the other end, for messages to people; without credentials. */
  readonly label: string;
  /** Sends a request; what comes back goes to the receiver, and a failure to the exchange. */
  send(exchange: Exchange): void;
  /** Sends what has no answer. */
  post(text: string): Promise<void>;
  /** Stops a request that nobody waits for any more, and tells the server. */
  abandon(exchange: Exchange, reason: string): void;
  /** Which dialect is spoken from now on. */
  agree(dialect: Dialect): void;
  /** Opens the stream for messages that belong to no request, where the transport has one. */
  listen?(): void;
  /** Makes it possible to begin anew after the far side ended; `false` where it cannot be. */
  restart?(): Promise<boolean>;
  close(): Promise<void>;
}
