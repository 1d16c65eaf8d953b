import { andThen } from '../base/awaitable.ts';
import type { Caller } from '../core/caller.ts';
import type { Change, ToolChange, ToolSource } from '../core/source.ts';
import type { Tool } from '../core/tool.ts';

interface Following {
  readonly uri: string;
  readonly caller: Caller;
  stop: (() => void) | undefined;
}

/** A source that can be replaced as a whole while in use; a call continues in the source it started in. */
export class CurrentSource implements ToolSource {
  #source: ToolSource;
  #unwatch: (() => void) | undefined;
  // Where each tool was last found: its call goes there, even if the source is replaced in between.
  readonly #homes = new WeakMap<Tool, ToolSource>();
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #following = new Set<Following>();

  constructor(source: ToolSource) {
    this.#source = source;
    this.#watchCurrent();
  }

  get stages(): ReadonlySet<string> {
    return this.#source.stages ?? NONE;
  }

  get resources(): ToolSource['resources'] {
    return this.#source.resources;
  }

  get prompts(): ToolSource['prompts'] {
    return this.#source.prompts;
  }

  list: ToolSource['list'] = (caller) => this.#source.list(caller);

  find: ToolSource['find'] = (name, caller) => {
    const source = this.#source;
    return andThen(source.find(name, caller), (tool) => {
      if (tool) this.#homes.set(tool, source);
      return tool;
    });
  };

  call: ToolSource['call'] = (call) =>
    ((call.kind === 'tool' ? this.#homes.get(call.tool) : undefined) ?? this.#source).call(call);

  watch = (listener: (change: Change) => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  follow = (uri: string, caller: Caller): (() => void) => {
    const one: Following = { uri, caller, stop: this.#source.follow?.(uri, caller) };
    this.#following.add(one);
    return () => {
      if (this.#following.delete(one)) one.stop?.();
    };
  };

  /** Replaces the source, and reports what changed. */
  replace(source: ToolSource, change: ToolChange): void {
    const before = this.#source;
    this.#unwatch?.();
    this.#source = source;
    this.#watchCurrent();
    for (const one of this.#following) {
      // The new one first, so that resources of both are followed without a break.
      const stop = source.follow?.(one.uri, one.caller);
      one.stop?.();
      one.stop = stop;
    }
    this.#tell(change);
    if (source.resources ?? before.resources) this.#tell({ kind: 'resources' });
    if (source.prompts ?? before.prompts) this.#tell({ kind: 'prompts' });
  }

  #watchCurrent(): void {
    this.#unwatch = this.#source.watch?.((change) => this.#tell(change));
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }
}

const NONE: ReadonlySet<string> = new Set();
