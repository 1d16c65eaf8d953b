import type { Caller } from '../../core/caller.ts';
import { definitionDigest, readingDigest } from '../../core/definition-digest.ts';
import type { Readable } from '../../core/expose-readings.ts';
import { andThen, nothing, orElse, type Awaitable } from '../../base/awaitable.ts';
import type { Change, ResourceUpdate, ToolSource } from '../../core/source.ts';
import type { Tool } from '../../core/tool.ts';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import type { Accidents } from '../accidents.ts';
import type { Session } from './session.ts';

/** A session or subscription that is notified of changes. */
export interface Listener {
  readonly caller: Caller;
  /** Whether it wants updates of this resource, if its caller can see it. */
  follows(uri: string): boolean;
  hear(change: Change): void;
}

type ListChange = Exclude<Change, ResourceUpdate>;
type ListKind = ListChange['kind'];
type Listed = readonly (Tool | Readable)[];
/** The lists of each kind that a caller sees. */
type View = Record<ListKind, Awaitable<readonly Listed[]>>;

/** Tells listeners what changed in the source, each only what its caller can see. */
export class Announcer {
  readonly #source: ToolSource;
  readonly #accidents: Accidents;
  // What each listener saw last, so that a change hidden from it stays unheard.
  readonly #listeners = new Map<Listener, View>();
  #unwatch: (() => void) | undefined;

  constructor(source: ToolSource, accidents: Accidents) {
    this.#source = source;
    this.#accidents = accidents;
  }

  /** Whether the source reports changes at all. */
  get works(): boolean {
    return this.#source.watch !== undefined;
  }

  /** Notifies a listener of changes until the returned function is called. */
  join(listener: Listener): () => void {
    this.#unwatch ??= this.#source.watch?.((change) => this.#tell(change));
    const { caller } = listener;
    this.#listeners.set(listener, {
      tools: this.#look('tools', caller),
      resources: this.#look('resources', caller),
      prompts: this.#look('prompts', caller),
    });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      const unwatch = this.#unwatch;
      this.#unwatch = undefined;
      if (unwatch) this.#accidents.contain(unwatch);
    };
  }

  /** Has the source tell of new content of a resource until the returned function is called. */
  follow(uri: string, caller: Caller): () => void {
    const stop = this.#source.follow?.(uri, caller);
    // A source that fails here must not keep what else ends with it.
    return stop ? () => this.#accidents.contain(stop) : nothing;
  }

  /** Whether a resource is there for a caller; one that cannot be looked for is not. */
  sees(uri: string, caller: Caller): Awaitable<boolean> {
    return orElse(
      () => andThen(this.#source.resources?.find(uri, caller), (found) => found !== undefined),
      () => false,
    );
  }

  // Neither the source that changed nor another listener suffers for one that cannot be told.
  #tell(change: Change): void {
    for (const [listener, view] of this.#listeners) {
      void orElse<void>(
        () =>
          change.kind === 'resource'
            ? this.#tellResource(listener, change)
            : this.#tellList(listener, change, view),
        (error) => void this.#accidents.report(error),
      );
    }
  }

  #tellList(listener: Listener, change: ListChange, view: View): Awaitable<void> {
    const before = view[change.kind];
    const after = this.#look(change.kind, listener.caller);
    view[change.kind] = after;
    return andThen(before, (seen) =>
      andThen(after, (sees) => {
        if (!isSameView(sees, seen) && this.#listeners.has(listener)) listener.hear(change);
      }),
    );
  }

  // Asked anew for every update: what could be read when it was followed may be hidden by now.
  #tellResource(listener: Listener, change: ResourceUpdate): Awaitable<void> {
    const { uri, concerns } = change;
    const { caller } = listener;
    if (!listener.follows(uri)) return;
    const found = orElse(
      () => this.#source.resources?.find(uri, caller),
      () => undefined,
    );
    return andThen(found, (seen) => {
      if (!seen || (concerns && !concerns(seen.resource, caller))) return;
      if (this.#listeners.has(listener)) listener.hear(change);
    });
  }

  // A list that fails counts as empty: a client that requests it gets the error.
  #look(kind: ListKind, caller: Caller): Awaitable<readonly Listed[]> {
    return orElse(
      () => this.#lists(kind, caller),
      () => NOTHING,
    );
  }

  #lists(kind: ListKind, caller: Caller): Awaitable<readonly Listed[]> {
    const { resources, prompts } = this.#source;
    switch (kind) {
      case 'tools':
        return andThen(this.#source.list(caller), (tools) => [tools]);
      case 'prompts':
        return prompts ? andThen(prompts.list(caller), (list) => [list]) : NOTHING;
      case 'resources':
        if (!resources) return NOTHING;
        return andThen(resources.list(caller), (list) =>
          andThen(resources.templates(caller), (templates) => [list, templates]),
        );
    }
  }
}

const NOTHING: readonly Listed[] = [];

// A list that is not there is like an empty one: whether there is anything hidden in it is not told.
function isSameView(sees: readonly Listed[], seen: readonly Listed[]): boolean {
  const longer = sees.length > seen.length ? sees : seen;
  return longer.every((_list, at) => isSameList(sees[at] ?? NOTHING_LISTED, seen[at] ?? NOTHING_LISTED));
}

const NOTHING_LISTED: Listed = [];

function isSameList(some: Listed, others: Listed): boolean {
  return (
    some === others ||
    (some.length === others.length && some.every((one, index) => isSame(one, others[index]!)))
  );
}

// A configuration that is loaded again makes everything anew, most of it the same as before.
function isSame(one: Tool | Readable, other: Tool | Readable): boolean {
  return one === other || digestOf(one) === digestOf(other);
}

function digestOf(one: Tool | Readable): string {
  return 'handler' in one ? definitionDigest(one) : readingDigest(one);
}

/** Sends a session's client notifications of changes, as the handshake revisions do it, until the session ends. */
export function announceTo(session: Session, announcer: Announcer): void {
  const quit = announcer.join({
    caller: session.caller,
    follows: (uri) => session.subscriptions.has(uri),
    hear: (change) => hear(session, change),
  });
  session.onEnd = quit;
}

function hear(session: Session, change: Change): void {
  switch (change.kind) {
    case 'tools':
    case 'resources':
    case 'prompts':
      session.serverStream.send(encodeNotification(`notifications/${change.kind}/list_changed`));
      break;
    case 'resource':
      session.serverStream.send(encodeNotification('notifications/resources/updated', { uri: change.uri }));
      break;
  }
}
