import { ToolcribError } from '../base/errors.ts';
import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { Prompt } from './prompts/prompt.ts';
import type { Result } from './result.ts';
import type { Change, PromptFace, ResourceFace, ToolSource } from './source.ts';
import { changeTool, type Tool } from './tool.ts';
import { Naming, OWN, type NameMap, type NamedPlace, type PrefixRule } from './tool-names.ts';

export type { NameMap, NamedPlace, PrefixRule } from './tool-names.ts';

/** Several sources as one. */
export interface MergedSource extends ToolSource {
  readonly names: NameMap;
}

/** How sources are put together. */
export interface MergeOptions {
  /** When the label stands in front of a name; always unless set. */
  readonly prefix?: PrefixRule;
  /** Tools of this process, whose names stay as they are; others make way for them. */
  readonly own?: ToolSource | undefined;
}

/** Makes one source of several: what each offers is shown under a name of its own, and calls go where it leads. */
export function merge(
  sources: Readonly<Record<string, ToolSource>>,
  { prefix = 'always', own }: MergeOptions = {},
): MergedSource {
  for (const label of Object.keys(sources)) checkLabel(label);
  const names = new Naming(prefix);
  const promptNames = new Naming(prefix);
  const all: Readonly<Record<string, ToolSource>> = { ...(own && { [OWN]: own }), ...sources };
  const parts = Object.entries(all).map(([label, source]) => ({ label, source }));
  const renamed = createRenaming();
  const list = mergedList(parts, names, renamed);
  const find = async (name: string, caller: Caller): Promise<Tool | undefined> => {
    const place = names.toPlace(name) ?? (await placeAfterListing(name, names, () => list(caller)));
    const tool = place && (await all[place.source]?.find(place.name, caller));
    return tool && renamed(tool, name, place);
  };
  return {
    names,
    list,
    find,
    call: (call) => route(call, { sources: all, parts, names, promptNames }),
    ...(parts.some(({ source }) => source.resources) && { resources: mergeResources(parts) }),
    ...(parts.some(({ source }) => source.prompts) && { prompts: mergePrompts(parts, promptNames) }),
    watch: (listener) => {
      const stops = parts.map(({ label, source }) =>
        source.watch?.((change) => listener(shownChange(change, label, names))),
      );
      return () => stops.forEach((stop) => stop?.());
    },
  };
}

interface Part {
  readonly label: string;
  readonly source: ToolSource;
}

interface Route {
  readonly sources: Readonly<Record<string, ToolSource>>;
  readonly parts: readonly Part[];
  readonly names: NameMap;
  readonly promptNames: NameMap;
}

type Renaming = (tool: Tool, name: string, place: NamedPlace) => Tool;

// The same copy each time, so that what is known of it need not be worked out again.
function createRenaming(): Renaming {
  const copies = new WeakMap<Tool, Tool>();
  return (tool, name, place) => {
    if (place.source === OWN) return tool;
    const known = copies.get(tool);
    if (known?.name === name) return known;
    const copy = changeTool(tool, { name, place });
    copies.set(tool, copy);
    return copy;
  };
}

// The same array as long as every source gives the same.
function mergedList(
  parts: readonly Part[],
  names: Naming,
  renamed: Renaming,
): (caller: Caller) => Promise<readonly Tool[]> {
  let last: { readonly lists: readonly (readonly Tool[])[]; readonly merged: readonly Tool[] } | undefined;
  return async (caller) => {
    const lists = await Promise.all(parts.map(async ({ source }) => source.list(caller)));
    if (last && lists.every((list, index) => list === last!.lists[index])) return last.merged;
    const places = lists.flatMap((tools, index) =>
      tools.map(({ name }) => ({ source: parts[index]!.label, name })),
    );
    names.assign(places);
    const merged = lists
      .flat()
      .map((tool, index) => renamed(tool, names.toShown(places[index]!), places[index]!))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    last = { lists, merged: Object.freeze(merged) };
    return merged;
  };
}

async function placeAfterListing(
  name: string,
  names: NameMap,
  list: () => Promise<unknown>,
): Promise<NamedPlace | undefined> {
  await list();
  return names.toPlace(name);
}

async function route(call: Call, { sources, parts, names, promptNames }: Route): Promise<Result> {
  if (call.kind === 'tool') {
    const place = names.toPlace(call.tool.name);
    const source = place && sources[place.source];
    const tool = place && (await source?.find(place.name, call.caller));
    if (!source || !tool) throw new ToolcribError('unknown_tool', `Unknown tool: ${call.tool.name}`);
    return source.call({ ...call, tool });
  }
  if (call.kind === 'prompt') {
    const place = promptNames.toPlace(call.prompt.name);
    const source = place && sources[place.source];
    const prompt = place && (await source?.prompts?.find(place.name, call.caller));
    if (!source || !prompt) throw new ToolcribError('unknown_prompt', `Unknown prompt: ${call.prompt.name}`);
    return source.call({ ...call, prompt });
  }
  const uri = call.kind === 'resource' ? call.uri : undefined;
  for (const { source } of parts)
    if (uri !== undefined && (await source.resources?.find(uri, call.caller))) return source.call(call);
  throw new ToolcribError('unknown_resource', 'There is no such resource.');
}

function mergeResources(parts: readonly Part[]): ResourceFace {
  const faces = parts.flatMap(({ source }) => source.resources ?? []);
  return {
    list: async (caller) => (await Promise.all(faces.map(async (face) => face.list(caller)))).flat(),
    templates: async (caller) =>
      (await Promise.all(faces.map(async (face) => face.templates(caller)))).flat(),
    find: async (uri, caller) => {
      for (const face of faces) {
        const found = await face.find(uri, caller);
        if (found) return found;
      }
      return undefined;
    },
  };
}

function mergePrompts(parts: readonly Part[], names: Naming): PromptFace {
  const list = async (caller: Caller): Promise<readonly Prompt[]> => {
    const lists = await Promise.all(
      parts.map(async ({ label, source }) => {
        const prompts = (await source.prompts?.list(caller)) ?? [];
        return prompts.map((prompt) => ({ prompt, place: { source: label, name: prompt.name } }));
      }),
    );
    const placed = lists.flat();
    names.assign(placed.map(({ place }) => place));
    return placed
      .map(({ prompt, place }) => ({ ...prompt, name: names.toShown(place) }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };
  return { list, find: async (name, caller) => (await list(caller)).find((prompt) => prompt.name === name) };
}

function shownChange(change: Change, label: string, names: NameMap): Change {
  if (change.kind !== 'tools') return change;
  const shown = (list: readonly string[]): string[] =>
    list.map((name) => names.toShown({ source: label, name }));
  const { added, removed, modified } = change;
  return { kind: 'tools', added: shown(added), removed: shown(removed), modified: shown(modified) };
}

function checkLabel(label: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(label) && !label.includes('__')) return;
  throw new ToolcribError(
    'invalid_setup',
    `${JSON.stringify(label)} cannot be the label of a source; use up to 32 letters, digits, "-" and single "_".`,
  );
}
