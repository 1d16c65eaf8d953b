import type { Awaitable } from '../base/awaitable.ts';
import type { Entry } from './store.ts';

/** A server as one account sees it. */
export interface PinLister {
  /** The name of the server here. */
  readonly server: string;
  /** The tenant whose account it is; empty where all callers share one. */
  readonly account: string;
}

/**
 * A tool of another server, whatever the account: what the server itself calls it. Skills stand beside tools, by their
 * addresses and under a name that no server can have (`skillsOf`).
 */
export interface PinTool {
  readonly server: string;
  readonly tool: string;
}

const SKILLS = '/skills';

/** What the skills of a server are pinned under: their first listing is one of its own. */
export function skillsOf(server: string): string {
  return `${server}${SKILLS}`;
}

/** What a pin is about. */
export interface PinnedThing {
  readonly server: string;
  readonly kind: 'tool' | 'skill';
  /** The name of the tool, or the address of the skill. */
  readonly name: string;
}

/** What a pin is about, in the words of people. */
export function pinnedThing({ server, tool }: PinTool): PinnedThing {
  if (!server.endsWith(SKILLS)) return { server, kind: 'tool', name: tool };
  return { server: server.slice(0, -SKILLS.length), kind: 'skill', name: tool };
}

/** A tool of another server as one account sees it. */
export interface PinPlace extends PinLister, PinTool {}

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
  /** Who approved it; unset if it was the first one seen. */
  readonly by: string | undefined;
}

/** What is known about the definition of a tool of another server, for one account. */
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

/**
 * The definitions of tools of other servers that may be used. What is pinned without an account counts for every
 * account that has no pin of its own.
 */
export interface Pins {
  /** All pins, by server, tool and account. */
  list(): Awaitable<readonly Pin[]>;
  /** The digests of the pins that changed after a revision. */
  changed(after: number): Awaitable<readonly PinDigests[]>;
  /** Pins all of the first listing of a server to an account, or nothing if a tool is pinned for it already. */
  pinListing(lister: PinLister, listing: readonly ListedDefinition[]): Promise<void>;
  /** Pins the first definition of a tool; returns the pin as it is then, which another process may have set. */
  pinFirst(place: PinPlace, seen: SeenDefinition): Promise<Pin>;
  /** Pins a definition that was approved for another account after the own pin was made, if it was. */
  pinApproved(place: PinPlace, digest: string): Promise<Pin | undefined>;
  /** Keeps a definition that waits to be approved, with a row; `undefined` if it waits already or is pinned. */
  hold(place: PinPlace, seen: SeenDefinition, row: Entry | undefined): Promise<Pin | undefined>;
  /** Pins a definition for every account it waits for, with a row; returns their pins, none if it does not wait. */
  approve(tool: PinTool, approval: PinApproval, row: Entry): Promise<readonly Pin[]>;
  /** Forgets a definition that waits, for every account, with a row; `false` if it does not wait. */
  dismiss(tool: PinTool, digest: string, row: Entry): Promise<boolean>;
  /** Tells that pins may have changed, here or in another process, until the returned function is called. */
  watch(listener: () => void): () => void;
}
