import { andThen, type Awaitable } from '../../base/awaitable.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import type { Call } from '../../core/call.ts';
import type { Caller } from '../../core/caller.ts';
import { appsOf } from '../../core/merging/apps.ts';
import { resourceNotFound } from '../../core/resources/resource.ts';
import type { Result } from '../../core/result.ts';
import type { Change, FoundResource, PromptFace, ResourceFace, ToolSource } from '../../core/source.ts';
import { changeTool, type Hint, type Tool } from '../../core/tool.ts';
import { listsOf, type UpstreamLists } from './catalog.ts';
import {
  createFilter,
  createSkillPresenting,
  readSkillFile,
  type PresentedSkills,
  type SkillPresenting,
} from './presented-skills.ts';
import type { Upstream } from './upstream.ts';

const ALL_HINTS: readonly Hint[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/** An upstream as a source: the tools that the operator allows, with the descriptions that the operator sets. */
export function upstreamSource(upstream: Upstream, entry: UpstreamEntry): ToolSource {
  return new UpstreamSource(upstream, entry);
}

/** The filtered lists, worked out once for each list. */
interface Shown {
  readonly tools: Presenting;
  readonly skills: SkillPresenting;
}

// A class, because closures for each of a thousand upstreams would take more memory than the rest of them.
class UpstreamSource implements ToolSource {
  readonly #upstream: Upstream;
  readonly #entry: UpstreamEntry;
  #shown: Shown | undefined;
  #resources: ResourceFace | undefined;
  #prompts: PromptFace | undefined;

  constructor(upstream: Upstream, entry: UpstreamEntry) {
    this.#upstream = upstream;
    this.#entry = entry;
  }

  get resources(): ResourceFace {
    return (this.#resources ??= this.#createResources());
  }

  get prompts(): PromptFace {
    return (this.#prompts ??= this.#createPrompts());
  }

  list(caller: Caller): Awaitable<readonly Tool[]> {
    return andThen(this.#known(caller), (lists) => this.#toolsIn(lists, caller).list);
  }

  find(name: string, caller: Caller): Awaitable<Tool | undefined> {
    return andThen(this.#current(caller), (lists) => this.#toolsIn(lists, caller).byName.get(name));
  }

  call(call: Call): Awaitable<Result> {
    return call.kind === 'resource' && 'uri' in call.resource && call.resource.skillFile
      ? readSkillFile(this.#upstream, call, call.resource)
      : this.#upstream.call(call);
  }

  watch(listener: (change: Change) => void): () => void {
    return this.#upstream.watch(listener);
  }

  follow(uri: string, caller: Caller): () => void {
    return this.#upstream.follow(uri, caller);
  }

  #known(caller: Caller): Awaitable<UpstreamLists> {
    return listsOf(this.#upstream.catalogOf(caller), 'known');
  }

  #current(caller: Caller): Awaitable<UpstreamLists> {
    return listsOf(this.#upstream.catalogOf(caller), 'current');
  }

  get #present(): Shown {
    const entry = this.#entry;
    return (this.#shown ??= { tools: createPresenting(entry), skills: createSkillPresenting(entry) });
  }

  #toolsIn({ tools }: UpstreamLists, caller: Caller): Presented {
    return this.#present.tools(tools, this.#upstream.accountOf(caller));
  }

  #skillsIn(lists: UpstreamLists, caller: Caller): PresentedSkills {
    return this.#present.skills(lists, this.#upstream.accountOf(caller));
  }

  #createResources(): ResourceFace {
    return {
      list: (caller) => andThen(this.#known(caller), (lists) => this.#skillsIn(lists, caller).resources),
      templates: (caller) => andThen(this.#known(caller), ({ templates }) => templates),
      find: (uri, caller) =>
        andThen(this.#current(caller), (lists) => {
          const skills = this.#skillsIn(lists, caller);
          if (skills.isHidden(uri)) return undefined;
          const file = skills.find(uri);
          if (file) return { resource: file, variables: {} };
          return findResource(uri, lists, skills) ?? findApp(uri, this.#toolsIn(lists, caller));
        }),
      skills: {
        list: (caller) => andThen(this.#known(caller), (lists) => this.#skillsIn(lists, caller).skills),
        isKnown: (caller) => {
          const catalog = this.#upstream.catalogOf(caller);
          return !catalog || catalog.isListed || catalog.isDegraded;
        },
      },
    };
  }

  #createPrompts(): PromptFace {
    return {
      list: (caller) => andThen(this.#known(caller), ({ prompts }) => prompts),
      find: (name, caller) =>
        andThen(this.#current(caller), ({ prompts }) => prompts.find((prompt) => prompt.name === name)),
    };
  }
}

interface Presented {
  /** The addresses of the apps its tools are shown with. */
  readonly apps: ReadonlySet<string>;
  readonly list: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
}

type Presenting = (tools: readonly Tool[], account: string | undefined) => Presented;

// Each account has a list of its own, even if they are alike, so the list alone is the key.
function createPresenting(entry: UpstreamEntry): Presenting {
  const known = new WeakMap<readonly Tool[], Presented>();
  const shown = new WeakMap<Tool, Tool>();
  const isLetThrough = createFilter(entry, entry.tools);
  const show = (tool: Tool, account: string | undefined): Tool => {
    let made = shown.get(tool);
    if (!made) shown.set(tool, (made = governed(tool, entry, account)));
    return made;
  };
  return (tools, account) => {
    let presented = known.get(tools);
    if (!presented) {
      const list = Object.freeze(
        tools.filter(({ name }) => isLetThrough(name)).map((tool) => show(tool, account)),
      );
      presented = {
        list,
        byName: new Map(list.map((tool) => [tool.name, tool])),
        apps: new Set(list.flatMap(appsOf)),
      };
      known.set(tools, presented);
    }
    return presented;
  };
}

function governed(tool: Tool, { trust, describe }: UpstreamEntry, account: string | undefined): Tool {
  const description = Object.hasOwn(describe, tool.name) ? describe[tool.name]! : tool.description;
  return changeTool(tool, {
    description,
    ...(account !== undefined && { account }),
    ...(trust === 'untrusted' && { assumedHints: ALL_HINTS }),
  });
}

function findResource(
  uri: string,
  { resources, templates }: UpstreamLists,
  { mayBeHidden }: PresentedSkills,
): FoundResource | undefined {
  const resource = resources.find((one) => one.uri === uri);
  if (resource) return { resource, variables: {} };
  if (mayBeHidden(uri)) return undefined;
  for (const template of templates) {
    const variables = template.template.match(uri);
    if (variables) return { resource: template, variables };
  }
  return undefined;
}

// The page of an app can be read even if the server does not list it.
function findApp(uri: string, { apps }: Presented): FoundResource | undefined {
  if (!apps.has(uri)) return undefined;
  const read = (): never => {
    throw resourceNotFound(uri);
  };
  return { resource: { uri, name: uri, mimeType: 'text/html;profile=mcp-app', read }, variables: {} };
}
