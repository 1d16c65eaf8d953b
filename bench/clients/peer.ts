import { fileURLToPath } from 'node:url';

/** Where the server is; without an address it is started as a program. */
export interface PeerAddress {
  readonly url?: string;
}

/** A client that is connected to the bare server. */
export interface Caller {
  /** Calls `echo` and returns the text of the answer. */
  call(text: string): Promise<string>;
}

/** Connects one kind of client. */
export type Connect = (address: PeerAddress) => Promise<Caller>;

/** The program that the clients start. */
export const peerProgram = fileURLToPath(new URL('../targets/peer-stdio.js', import.meta.url));
