import type { Awaitable } from '../base/awaitable.ts';
import type { Entry } from './store.ts';

/** A tool of another server: the name of the server here, and what the server itself calls the tool. */
export interface PinPlace {
  readonly server: string;
  readonly tool: string;
}

/** A definition as a server listed it. */
export interface SeenDefinition {
  /** The hash of the canonical text. */
  readonly digest: string;
  /** The definition as canonical JSON. */
  readonly definition: string;
  /** When it was seen first. */
  readonly at: number;
}

/** A definition of a tool by its own name. */
export interface ListedDefinition extends SeenDefinition {
  readonly tool: string;
}

/** A definition that may be used. */
export interface PinnedDefinition extends SeenDefinition {
  /** Who approved it; nobody did if it was the first one seen. */
  readonly by: string | undefined;
}

/** What is known about the definition of a tool of another server. */
export interface Pin extends PinPlace {
  /** The one definition that may be used, if there is one. */
  readonly pinned: PinnedDefinition | undefined;
  /** Another definition that was seen, and waits to be approved. */
  readonly held: SeenDefinition | undefined;
  /** Grows with every change of any pin. */
  readonly revision: number;
}

/** A pin without the texts: enough to decide with. */
export interface PinDigests extends PinPlace {
  readonly pinned: string | undefined;
  readonly held: string | undefined;
  readonly revision: number;
}

/** Who approves what; only the definition with this digest becomes the pinned one. */
export interface PinApproval {
  readonly digest: string;
  readonly by: string;
  readonly at: number;
}

/** The definitions of tools of other servers that may be used. */
export interface Pins {
  /** All pins, by server and tool. */
  list(): Awaitable<readonly Pin[]>;
  /** The digests of the pins that changed after a revision. */
  changed(after: number): Awaitable<readonly PinDigests[]>;
  /** Pins all of the first listing of a server, or nothing if a tool of that server is pinned already. */
  pinListing(server: string, listing: readonly ListedDefinition[]): Promise<void>;
  /** Pins the first definition of a tool; returns the pin as it is then, which may be that of somebody else. */
  pinFirst(place: PinPlace, seen: SeenDefinition): Promise<Pin>;
  /** Keeps a definition that waits to be approved, with a row; `undefined` if it waits already or is pinned. */
  hold(place: PinPlace, seen: SeenDefinition, row: Entry | undefined): Promise<Pin | undefined>;
  /** Pins the definition that waits, with a row; `undefined` if it is not the one that was approved. */
  approve(place: PinPlace, approval: PinApproval, row: Entry): Promise<Pin | undefined>;
  /** Forgets the definition that waits, with a row; `false` if it is not the one that was named. */
  dismiss(place: PinPlace, digest: string, row: Entry): Promise<boolean>;
  /** Tells that pins may have changed, here or in another process, until the returned function is called. */
  watch(listener: () => void): () => void;
}
