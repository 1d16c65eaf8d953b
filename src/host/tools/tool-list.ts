import { describeTool, type Tool } from '../../core/tool.ts';
import type { AvailableTool } from '../agent.ts';

/** The tools of an agent: those that its servers have now, and those that the model saw at the start of its turn. */
export class ToolList {
  readonly #shownAs = new WeakMap<Tool, AvailableTool>();
  readonly #isTrusted: (server: string) => boolean;
  #latest: ReadonlyMap<string, Tool> = new Map();
  #next: readonly AvailableTool[] = Object.freeze([]);
  #published: readonly AvailableTool[] = Object.freeze([]);
  #names: ReadonlySet<string> = new Set();

  /** Trust goes by the operator's name for a server. */
  constructor(isTrusted: (server: string) => boolean) {
    this.#isTrusted = isTrusted;
  }

  /** What the model sees. */
  get published(): readonly AvailableTool[] {
    return this.#published;
  }

  /** What the model sees from the next turn on. */
  get next(): readonly AvailableTool[] {
    return this.#next;
  }

  /** Every tool there is now, by the name it is shown under. */
  get latest(): ReadonlyMap<string, Tool> {
    return this.#latest;
  }

  /** Takes what servers have now; the model sees it after `publish`. */
  update(tools: readonly Tool[]): void {
    this.#latest = new Map(tools.map((tool) => [tool.name, tool]));
    this.#next = Object.freeze(tools.map((tool) => this.#shown(tool)));
  }

  /** Shows the model what there is now. */
  publish(): readonly AvailableTool[] {
    if (this.#published !== this.#next) {
      this.#published = this.#next;
      this.#names = new Set(this.#published.map(({ name }) => name));
    }
    return this.#published;
  }

  /**
   * A tool that the model was shown, as it is defined now: a person who decides must see what would run, and what was
   * granted for an earlier definition does not count.
   */
  find(name: string): Tool | undefined {
    return this.#names.has(name) ? this.#latest.get(name) : undefined;
  }

  #shown(tool: Tool): AvailableTool {
    const known = this.#shownAs.get(tool);
    if (known) return known;
    const { place } = tool;
    const shown: AvailableTool = Object.freeze({
      ...describeTool(tool),
      from: place ?? { source: undefined, name: tool.name },
      isTrusted: place === undefined || this.#isTrusted(place.source),
    });
    this.#shownAs.set(tool, shown);
    return shown;
  }
}
