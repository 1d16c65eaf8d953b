import type { Call } from '../../core/call.ts';
import { changeBetween } from '../../core/change-between.ts';
import { definitionDigest } from '../../core/definition-digest.ts';
import type { Prompt } from '../../core/prompts/prompt.ts';
import type { Resource, ResourceTemplate } from '../../core/resources/resource.ts';
import type { Result } from '../../core/result.ts';
import type { Change, PromptFace, ResourceFace, ToolSource } from '../../core/source.ts';
import type { Tool } from '../../core/tool.ts';
import { cleanDefinition } from './clean-definition.ts';
import { filterTools, grantedBy, unmatched } from './filter-tools.ts';
import type { ServerLink } from './server-link.ts';

/** A tool that a server lists and the model does not see, with the reason. */
export interface HeldBack {
  readonly name: string;
  readonly reason: string;
}

// More names alone would fill the context of a model.
const MAX_TOOLS = 1_000;

/** What an agent may use of a server: a source whose list stays while the server is away. */
export class ServerSource implements ToolSource {
  readonly resources: ResourceFace;
  readonly prompts: PromptFace;
  readonly #link: ServerLink;
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #warned = new Set<string>();
  readonly #warn: (text: string) => void;
  #tools: readonly Tool[] = [];
  #heldBack: readonly HeldBack[] = [];

  constructor(link: ServerLink, warn: (text: string) => void) {
    this.#link = link;
    this.#warn = warn;
    this.resources = resourcesOf(link);
    this.prompts = promptsOf(link);
  }

  /** What the server lists and the model does not see. */
  get heldBack(): readonly HeldBack[] {
    return this.#heldBack;
  }

  /** Takes a list of the server: cleaned, held back where it is too much, and filtered by the agent's rule. */
  take(listed: readonly Tool[]): void {
    const { tools: rule, trust } = this.#link.config;
    const heldBack: HeldBack[] = [];
    const notes: string[] = [];
    const clean = listed.flatMap((tool, at): Tool[] => {
      const checked = at < MAX_TOOLS ? cleanDefinition(tool, trust) : { problem: TOO_MANY };
      if ('problem' in checked) {
        heldBack.push({ name: tool.name.slice(0, 128), reason: checked.problem });
        return [];
      }
      if (checked.note !== undefined) notes.push(`${tool.name} ${checked.note}`);
      return [checked.tool];
    });
    const granted = filterTools(clean, rule);
    const missing = unmatched(
      listed.map(({ name }) => name),
      rule,
    );
    this.#warnOnce([
      ...heldBack.slice(0, 20).map(({ name, reason }) => `${JSON.stringify(name)} is held back: ${reason}`),
      ...notes.slice(0, 20),
      ...missing.map((pattern) => `"${pattern}" matches none of its tools`),
    ]);
    const others = clean.filter((tool) => !granted.includes(tool));
    this.#heldBack = [...heldBack, ...others.map(({ name }) => ({ name, reason: NOT_GRANTED }))];
    if (isSame(this.#tools, granted)) return;
    const change = changeBetween(this.#tools, granted, definitionDigest);
    this.#tools = Object.freeze([...granted]);
    for (const listener of this.#listeners) listener(change);
  }

  list(): readonly Tool[] {
    return this.#tools;
  }

  find(name: string): Tool | undefined {
    return this.#tools.find((tool) => tool.name === name);
  }

  async call(call: Call): Promise<Result> {
    const client = await this.#link.ready(call.cancellation.signal);
    return client.call(call);
  }

  watch(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #warnOnce(texts: readonly string[]): void {
    const fresh = texts.filter((text) => !this.#warned.has(text));
    this.#warned.clear();
    for (const text of texts) this.#warned.add(text);
    for (const text of fresh) this.#warn(text);
  }
}

const TOO_MANY = `its server lists over ${MAX_TOOLS} tools`;
const NOT_GRANTED = 'the rules of the agent do not grant it';

function isSame(before: readonly Tool[], now: readonly Tool[]): boolean {
  return (
    before.length === now.length &&
    before.every((tool, at) => definitionDigest(tool) === definitionDigest(now[at]!))
  );
}

// A server that is away has nothing to read; those of others can still be listed.
function resourcesOf(link: ServerLink): ResourceFace {
  const isGranted = grantedBy(link.config.resources);
  const namesOf = (target: Resource | ResourceTemplate): string[] => [
    target.name,
    'uri' in target ? target.uri : target.uriTemplate,
  ];
  return {
    list: async (caller) =>
      ((await link.client?.resources?.list(caller)) ?? []).filter((item) => isGranted(...namesOf(item))),
    templates: async (caller) =>
      ((await link.client?.resources?.templates(caller)) ?? []).filter((item) => isGranted(...namesOf(item))),
    find: async (uri, caller) => {
      const found = await link.client?.resources?.find(uri, caller);
      return found && isGranted(...namesOf(found.resource), uri) ? found : undefined;
    },
  };
}

function promptsOf(link: ServerLink): PromptFace {
  const isGranted = grantedBy(link.config.prompts);
  const list = async (caller: Parameters<PromptFace['list']>[0]): Promise<readonly Prompt[]> =>
    ((await link.client?.prompts?.list(caller)) ?? []).filter(({ name }) => isGranted(name));
  return {
    list,
    find: async (name, caller) => (isGranted(name) ? link.client?.prompts?.find(name, caller) : undefined),
  };
}
