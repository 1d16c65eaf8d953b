import type { Caller } from '../core/caller.ts';
import {
  andThen,
  orElse,
  type Awaitable,
  type Change,
  type ResourceUpdate,
  type ToolChange,
  type ToolSource,
} from '../core/source.ts';
import { definitionDigest } from '../core/digest.ts';
import type { Tool } from '../core/tool.ts';

/** Somebody who wants to hear of changes. */
export interface Listener {
  readonly caller: Caller;
  /** Whether it wants to hear of this resource, if its caller can see it. */
  follows(uri: string): boolean;
  hear(change: Change): void;
}

/** Tells listeners what changed in the source, each only what its caller can see. */
export class Announcer {
  readonly #source: ToolSource;
  // What each listener saw last, so that a change hidden from it stays unheard.
  readonly #listeners = new Map<Listener, Awaitable<readonly Tool[]>>();
  #unwatch: (() => void) | undefined;

  constructor(source: ToolSource) {
    this.#source = source;
  }

  /** Whether the source tells of changes at all. */
  get works(): boolean {
    return this.#source.watch !== undefined;
  }

  /** Lets a listener hear changes until the returned function is called. */
  join(listener: Listener): () => void {
    this.#unwatch ??= this.#source.watch?.((change) => this.#tell(change));
    this.#listeners.set(listener, this.#look(listener));
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#unwatch?.();
      this.#unwatch = undefined;
    };
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners.keys()) {
      if (change.kind === 'resource') void this.#tellResource(listener, change);
      else if (change.kind === 'tools') void this.#tellTools(listener, change);
      else listener.hear(change);
    }
  }

  #tellTools(listener: Listener, change: ToolChange): Awaitable<void> {
    const before = this.#listeners.get(listener)!;
    const after = this.#look(listener);
    this.#listeners.set(listener, after);
    return andThen(before, (seen) =>
      andThen(after, (tools) => {
        if (!sameTools(tools, seen) && this.#listeners.has(listener)) listener.hear(change);
      }),
    );
  }

  // Whoever follows an address learns nothing from it unless the resource is there for them.
  #tellResource(listener: Listener, change: ResourceUpdate): Awaitable<void> {
    if (!listener.follows(change.uri)) return;
    const found = orElse(
      () => this.#source.resources?.find(change.uri, listener.caller),
      () => undefined,
    );
    return andThen(found, (resource) => {
      if (resource && this.#listeners.has(listener)) listener.hear(change);
    });
  }

  #look(listener: Listener): Awaitable<readonly Tool[]> {
    // A list that fails counts as empty: whoever asks for it is told why.
    return orElse<readonly Tool[]>(
      () => this.#source.list(listener.caller),
      () => [],
    );
  }
}

// A configuration that is loaded again makes new tools, most of them the same as before.
function isSame(tool: Tool, other: Tool): boolean {
  return tool === other || (tool.name === other.name && definitionDigest(tool) === definitionDigest(other));
}

function sameTools(some: readonly Tool[], others: readonly Tool[]): boolean {
  return (
    some === others ||
    (some.length === others.length && some.every((tool, index) => isSame(tool, others[index]!)))
  );
}
