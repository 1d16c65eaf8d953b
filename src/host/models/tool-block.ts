import { canonicalJson } from '../../base/canonical-json.ts';
import { cleanText } from '../../observe/clean-text.ts';
import type { AvailableTool } from '../agent.ts';
import type { AgentServer } from '../agent-config.ts';
import { estimateOnce } from './estimate-tokens.ts';
import type { Model, ModelTool, Part } from './model.ts';
import { searchTools, searchToolsTool } from './search-tools.ts';

/** How the definitions of tools are shown to a model. */
export interface ToolBlockOptions {
  readonly features: Pick<Model['features'], 'deferral'>;
  /** The servers by name, for their `load`. */
  readonly servers?: Readonly<Record<string, Pick<AgentServer, 'load'>>>;
  /** Tools of the host itself, which are always shown. */
  readonly own?: readonly ModelTool[];
  /** Definitions are held back where all of them together take more tokens; 10,000 unless set. */
  readonly maxTokens?: number;
}

/** The tools that a model is offered in one turn. */
export interface ToolBlockView {
  readonly tools: readonly ModelTool[];
  /** About how many tokens the definitions shown take. */
  readonly tokens: number;
  /** About how many those take that are held back. */
  readonly deferredTokens: number;
  /** Names that were held back since the last turn, to be told in a message; `undefined` if there are none. */
  readonly notice: string | undefined;
}

/** The definitions a model sees, in an order and with a text that stay the same as long as the tools do. */
export interface ToolBlock {
  /** The tools that are offered from now on; asked for at the beginning of a turn. */
  view(tools: readonly AvailableTool[]): ToolBlockView;
  /** Whether `search_tools` is offered. */
  readonly hasSearch: boolean;
  /** Answers a call of `search_tools`; the tools it finds are offered from the next turn on. */
  find(args: Readonly<Record<string, unknown>>): {
    readonly content: readonly Part[];
    readonly isError: boolean;
  };
}

const MAX_TOKENS = 10_000;
const MAX_DESCRIPTION = 8_000;
const ALWAYS_LOAD = 'anthropic/alwaysLoad';

/** Makes a block; one serves a whole conversation. */
export function createToolBlock(options: ToolBlockOptions): ToolBlock {
  return new Block(options);
}

/** A definition as a model gets it, and a text that is the same for the same definition. */
interface Shown {
  readonly tool: ModelTool;
  readonly text: string;
}

interface Entry {
  shown: Shown;
  isDeferred: boolean;
  isPresent: boolean;
}

class Block implements ToolBlock {
  readonly #options: ToolBlockOptions;
  // In the order in which they were first shown. A tool that comes back takes its old place.
  readonly #entries = new Map<string, Entry>();
  readonly #noticed = new Set<string>();
  #last: readonly AvailableTool[] | undefined;
  #tools: readonly ModelTool[] = [];
  #tokens = 0;
  #held: readonly ModelTool[] = [];
  #hasChanged = true;

  constructor(options: ToolBlockOptions) {
    this.#options = options;
  }

  view(tools: readonly AvailableTool[]): ToolBlockView {
    if (tools !== this.#last) this.#update(tools);
    this.#last = tools;
    if (this.#hasChanged) {
      this.#tools = this.#list();
      this.#tokens = sumOf(this.#tools.filter(({ isDeferred }) => isDeferred !== true));
      this.#held = this.#heldBack();
    }
    this.#hasChanged = false;
    return {
      tools: this.#tools,
      tokens: this.#tokens,
      deferredTokens: sumOf(this.#held),
      notice: this.#notice(this.#held),
    };
  }

  get hasSearch(): boolean {
    return this.#tools.includes(searchToolsTool);
  }

  find(args: Readonly<Record<string, unknown>>): { content: readonly Part[]; isError: boolean } {
    const found = searchTools(this.#heldBack(), args);
    for (const { name } of found) {
      const entry = this.#entries.get(name)!;
      entry.isDeferred = false;
      // Found ones are shown after everything that was shown before.
      this.#entries.delete(name);
      this.#entries.set(name, entry);
      this.#hasChanged = true;
    }
    const text =
      found.length === 0
        ? 'No tool fits; try other words.'
        : `From the next turn on these can be called. Descriptions are the servers' words:\n${found
            .map(({ name, description }) => `- ${name}: ${description.slice(0, 300)}`)
            .join('\n')}`;
    return { content: [{ type: 'text', text }], isError: found.length === 0 };
  }

  #update(tools: readonly AvailableTool[]): void {
    this.#hasChanged = true;
    for (const entry of this.#entries.values()) entry.isPresent = false;
    const added: { readonly tool: AvailableTool; readonly entry: Entry }[] = [];
    for (const tool of tools) {
      const shown = shownOf(tool);
      const known = this.#entries.get(tool.name);
      if (known) {
        // The same definition with its keys in another order stays the text it was.
        if (known.shown.text !== shown.text) known.shown = shown;
        known.isPresent = true;
      } else added.push({ tool, entry: { shown, isDeferred: false, isPresent: true } });
    }
    this.#add(added.toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1)));
  }

  // Shown definitions stay: only new ones are held back when there are too many.
  #add(added: readonly { readonly tool: AvailableTool; readonly entry: Entry }[]): void {
    const shown = [...this.#entries.values()].filter(({ isPresent, isDeferred }) => isPresent && !isDeferred);
    const loads = added.map(({ tool }) => this.#loadOf(tool));
    const wanted = added.filter((_each, index) => loads[index] !== 'defer').map(({ entry }) => entry);
    const total = sumOf([...shown, ...wanted].map((entry) => entry.shown.tool));
    const isFull = total > (this.#options.maxTokens ?? MAX_TOKENS);
    added.forEach(({ tool, entry }, index) => {
      entry.isDeferred = loads[index] === 'defer' || (loads[index] === 'auto' && isFull);
      this.#entries.set(tool.name, entry);
    });
  }

  #loadOf({ from, isTrusted, _meta }: AvailableTool): AgentServer['load'] {
    if (from.source === undefined) return 'always';
    const load = this.#options.servers?.[from.source]?.load ?? 'auto';
    return load === 'auto' && isTrusted && _meta?.[ALWAYS_LOAD] === true ? 'always' : load;
  }

  #list(): readonly ModelTool[] {
    const { features, own = [] } = this.#options;
    const present = [...this.#entries.values()].filter(({ isPresent }) => isPresent);
    const hasDeferred =
      [...this.#entries.values()].some(({ isDeferred }) => isDeferred) || this.#noticed.size > 0;
    const shown = present.flatMap(({ shown: { tool }, isDeferred }) => {
      if (!isDeferred) return [tool];
      return features.deferral ? [{ ...tool, isDeferred: true }] : [];
    });
    const host = hasDeferred && !features.deferral ? [...own, searchToolsTool] : own;
    const taken = new Set(host.map(({ name }) => name));
    return Object.freeze([...host, ...shown.filter(({ name }) => !taken.has(name))]);
  }

  #heldBack(): readonly ModelTool[] {
    const held = [...this.#entries.values()].filter(({ isPresent, isDeferred }) => isPresent && isDeferred);
    return held.map(({ shown }) => shown.tool);
  }

  #notice(held: readonly ModelTool[]): string | undefined {
    const names = held.map(({ name }) => name).filter((name) => !this.#noticed.has(name));
    if (names.length === 0) return undefined;
    for (const name of names) this.#noticed.add(name);
    const how = this.#options.features.deferral ? 'the search for tools' : searchToolsTool.name;
    return `More tools can be had with ${how}: ${names.join(', ')}.`;
  }
}

const shownTools = new WeakMap<AvailableTool, Shown>();

// Every conversation of an agent shows the same tools, so each is written once.
function shownOf(available: AvailableTool): Shown {
  let shown = shownTools.get(available);
  if (!shown) {
    const tool = toModelTool(available);
    shownTools.set(available, (shown = { tool, text: canonicalJson(tool) }));
  }
  return shown;
}

function sumOf(tools: readonly ModelTool[]): number {
  return tools.reduce((sum, tool) => sum + estimateOnce(tool), 0);
}

function toModelTool({ name, description, inputSchema }: AvailableTool): ModelTool {
  return { name, description: cleanText(description ?? '').slice(0, MAX_DESCRIPTION), inputSchema };
}
