import type { Change } from './source.ts';
import type { Tool } from './tool.ts';

/** Gathers the changes of one turn and tells them together, so that loading a hundred tools is one notification. */
export class ChangeNotes {
  readonly #find: (name: string) => Tool | undefined;
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #tools = new Map<string, { readonly before: Tool | undefined }>();
  readonly #kinds = new Set<'resources' | 'prompts'>();
  #scheduled = false;

  /** `find` returns the tool of a name once the turn is over. */
  constructor(find: (name: string) => Tool | undefined) {
    this.#find = find;
  }

  watch(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notes that a tool may have changed, and what it was before. */
  noteTool(name: string, before: Tool | undefined): void {
    if (!this.#tools.has(name)) this.#tools.set(name, { before });
    this.#schedule();
  }

  /** Notes that a whole list changed. */
  note(kind: 'resources' | 'prompts'): void {
    this.#kinds.add(kind);
    this.#schedule();
  }

  /** Tells a change at once. */
  tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    const change = {
      kind: 'tools' as const,
      added: [] as string[],
      removed: [] as string[],
      modified: [] as string[],
    };
    for (const [name, { before }] of this.#tools) {
      const after = this.#find(name);
      if (before === after) continue;
      (before ? (after ? change.modified : change.removed) : change.added).push(name);
    }
    this.#tools.clear();
    const kinds = [...this.#kinds];
    this.#kinds.clear();
    if (change.added.length + change.removed.length + change.modified.length > 0) this.tell(change);
    for (const kind of kinds) this.tell({ kind });
  }
}
