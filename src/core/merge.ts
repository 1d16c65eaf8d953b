import { createHash } from 'node:crypto';
import { ToolcribError } from '../base/errors.ts';
import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { Prompt } from './prompts/prompt.ts';
import type { Result } from './result.ts';
import type { Change, PromptFace, ResourceFace, ToolSource } from './source.ts';
import { changeTool, type Tool } from './tool.ts';

/** Where a name that is shown leads. */
export interface NamedPlace {
  /** The label of the source. */
  readonly source: string;
  /** What the source itself calls it. */
  readonly name: string;
}

/** The names that merged sources are shown under; never parsed, always looked up. */
export interface NameMap {
  /** The name something of a source is shown under. */
  toShown(place: NamedPlace): string;
  /** Where a name that was shown leads. */
  toPlace(shown: string): NamedPlace | undefined;
}

/** Several sources as one. */
export interface MergedSource extends ToolSource {
  readonly names: NameMap;
}

// What every model API takes as the name of a tool.
const MAX_LENGTH = 64;
const SEPARATOR = '__';
const HASH_LENGTH = 8;

/** Makes one source of several: what each offers is shown under its label, and calls go where the name leads. */
export function merge(sources: Readonly<Record<string, ToolSource>>): MergedSource {
  for (const label of Object.keys(sources)) checkLabel(label);
  const names = createNameMap();
  const parts = Object.entries(sources).map(([label, source]) => ({ label, source }));
  const list = mergedList(parts, names);
  const find = async (name: string, caller: Caller): Promise<Tool | undefined> => {
    const place = names.toPlace(name) ?? (await placeAfterListing(name, names, () => list(caller)));
    const tool = place && (await sources[place.source]?.find(place.name, caller));
    return tool && changeTool(tool, { name });
  };
  return {
    names,
    list,
    find,
    call: (call) => route(call, { sources, parts, names }),
    ...(parts.some(({ source }) => source.resources) && { resources: mergeResources(parts) }),
    ...(parts.some(({ source }) => source.prompts) && { prompts: mergePrompts(parts, names) }),
    watch: (listener) => {
      const stops = parts.map(({ label, source }) =>
        source.watch?.((change) => listener(shownChange(change, label, names))),
      );
      return () => stops.forEach((stop) => stop?.());
    },
  };
}

/** Makes an empty map of names: the same place always gets the same name, and no two places share one. */
export function createNameMap(): NameMap {
  const places = new Map<string, NamedPlace>();
  return {
    toPlace: (shown) => places.get(shown),
    toShown({ source, name }) {
      const plain = `${source}${SEPARATOR}${name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
      const isFaithful = plain.length <= MAX_LENGTH && plain.endsWith(name);
      const shown =
        isFaithful && isFree(plain, { source, name }, places) ? plain : hashed(plain, { source, name });
      places.set(shown, { source, name });
      return shown;
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
}

function isFree(shown: string, place: NamedPlace, places: ReadonlyMap<string, NamedPlace>): boolean {
  const taken = places.get(shown);
  return !taken || (taken.source === place.source && taken.name === place.name);
}

// What is too long, or was changed to be allowed, ends with a digest of what it stands for.
function hashed(plain: string, { source, name }: NamedPlace): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([source, name]))
    .digest('hex');
  return `${plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${digest.slice(0, HASH_LENGTH)}`;
}

// The same array as long as every source gives the same.
function mergedList(parts: readonly Part[], names: NameMap): (caller: Caller) => Promise<readonly Tool[]> {
  let last: { readonly lists: readonly (readonly Tool[])[]; readonly merged: readonly Tool[] } | undefined;
  return async (caller) => {
    const lists = await Promise.all(parts.map(async ({ source }) => source.list(caller)));
    if (last && lists.every((list, index) => list === last!.lists[index])) return last.merged;
    const merged = lists
      .flatMap((tools, index) =>
        tools.map((tool) =>
          changeTool(tool, { name: names.toShown({ source: parts[index]!.label, name: tool.name }) }),
        ),
      )
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

async function route(call: Call, { sources, parts, names }: Route): Promise<Result> {
  if (call.kind === 'tool') {
    const place = names.toPlace(call.tool.name);
    const source = place && sources[place.source];
    const tool = place && (await source?.find(place.name, call.caller));
    if (!source || !tool) throw new ToolcribError('unknown_tool', `Unknown tool: ${call.tool.name}`);
    return source.call({ ...call, tool });
  }
  if (call.kind === 'prompt') {
    const place = names.toPlace(call.prompt.name);
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

function mergePrompts(parts: readonly Part[], names: NameMap): PromptFace {
  const list = async (caller: Caller): Promise<readonly Prompt[]> => {
    const lists = await Promise.all(
      parts.map(async ({ label, source }) => {
        const prompts = (await source.prompts?.list(caller)) ?? [];
        return prompts.map((prompt) => ({
          ...prompt,
          name: names.toShown({ source: label, name: prompt.name }),
        }));
      }),
    );
    return lists.flat().toSorted((a, b) => (a.name < b.name ? -1 : 1));
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
