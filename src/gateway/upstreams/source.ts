import { andThen, type Awaitable } from '../../base/awaitable.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import type { Caller } from '../../core/caller.ts';
import { appsOf } from '../../core/merging/apps.ts';
import { resourceNotFound } from '../../core/resources/resource.ts';
import type { FoundResource, ToolSource } from '../../core/source.ts';
import { changeTool, type Hint, type Tool } from '../../core/tool.ts';
import { listsOf, type UpstreamLists } from './catalog.ts';
import {
  createFilter,
  createSkillPresenting,
  readSkillFile,
  type PresentedSkills,
} from './presented-skills.ts';
import type { Upstream } from './upstream.ts';

const ALL_HINTS: readonly Hint[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/** An upstream as a source: what the operator lets through of it, in the operator's words. */
export function upstreamSource(upstream: Upstream, entry: UpstreamEntry): ToolSource {
  const present = createPresenting(entry);
  const presentSkills = createSkillPresenting(entry);
  const known = (caller: Caller): Awaitable<UpstreamLists> => listsOf(upstream.catalogOf(caller), 'known');
  const current = (caller: Caller): Awaitable<UpstreamLists> =>
    listsOf(upstream.catalogOf(caller), 'current');
  const toolsIn = ({ tools }: UpstreamLists, caller: Caller): Presented =>
    present(tools, upstream.accountOf(caller));
  const skillsIn = (lists: UpstreamLists, caller: Caller): PresentedSkills =>
    presentSkills(lists, upstream.accountOf(caller));
  return {
    list: (caller) => andThen(known(caller), (lists) => toolsIn(lists, caller).list),
    find: (name, caller) => andThen(current(caller), (lists) => toolsIn(lists, caller).byName.get(name)),
    call: (call) =>
      call.kind === 'resource' && 'uri' in call.resource && call.resource.skillFile
        ? readSkillFile(upstream, call, call.resource)
        : upstream.call(call),
    watch: (listener) => upstream.watch(listener),
    follow: (uri, caller) => upstream.follow(uri, caller),
    resources: {
      list: (caller) => andThen(known(caller), (lists) => skillsIn(lists, caller).resources),
      templates: (caller) => andThen(known(caller), ({ templates }) => templates),
      find: (uri, caller) =>
        andThen(current(caller), (lists) => {
          const { isHidden, find } = skillsIn(lists, caller);
          if (isHidden(uri)) return undefined;
          const file = find(uri);
          if (file) return { resource: file, variables: {} };
          return findResource(uri, lists) ?? findApp(uri, toolsIn(lists, caller));
        }),
      skills: {
        list: (caller) => andThen(known(caller), (lists) => skillsIn(lists, caller).skills),
        isKnown: (caller) => {
          const catalog = upstream.catalogOf(caller);
          return !catalog || catalog.isListed || catalog.isDegraded;
        },
      },
    },
    prompts: {
      list: (caller) => andThen(known(caller), ({ prompts }) => prompts),
      find: (name, caller) =>
        andThen(current(caller), ({ prompts }) => prompts.find((prompt) => prompt.name === name)),
    },
  };
}

interface Presented {
  /** The addresses of the apps its tools are shown with. */
  readonly apps: ReadonlySet<string>;
  readonly list: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
}

type Presenting = (tools: readonly Tool[], account: string | undefined) => Presented;

// What one account is listed is never what another one is, however alike, so the tools alone are the key.
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

function findResource(uri: string, { resources, templates }: UpstreamLists): FoundResource | undefined {
  const resource = resources.find((one) => one.uri === uri);
  if (resource) return { resource, variables: {} };
  for (const template of templates) {
    const variables = template.template.match(uri);
    if (variables) return { resource: template, variables };
  }
  return undefined;
}

// The page of an app need not be listed; it is read at the server all the same.
function findApp(uri: string, { apps }: Presented): FoundResource | undefined {
  if (!apps.has(uri)) return undefined;
  const read = (): never => {
    throw resourceNotFound(uri);
  };
  return { resource: { uri, name: uri, mimeType: 'text/html;profile=mcp-app', read }, variables: {} };
}
