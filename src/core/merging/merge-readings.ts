import { allOf, andThen, orElse, type Awaitable } from '../../base/awaitable.ts';
import { theirAddress, withoutLabel } from './address-names.ts';
import type { Reading } from '../call.ts';
import type { Caller } from '../caller.ts';
import { targetOf, unknownReading } from '../expose-readings.ts';
import { MergedLists } from './merged-lists.ts';
import type { Prompt } from '../prompts/prompt.ts';
import type { Resource, ResourceTemplate } from '../resources/resource.ts';
import type { Result } from '../result.ts';
import type { FoundResource, PromptFace, ResourceFace, ToolSource } from '../source.ts';
import { mergeSkills } from './merge-skills.ts';
import { addressOf, createPlacing, isLabelled, placeOf, theirs } from './placing.ts';
import { OWN, type Naming, type NamedPlace } from '../tool-names.ts';

/** One of several sources. */
export interface MergedPart {
  readonly label: string;
  readonly source: ToolSource;
}

/** The resources and prompts of several sources, and the names they are shown under. */
export interface MergedFaces {
  readonly parts: readonly MergedPart[];
  readonly sources: ReadonlyMap<string, ToolSource>;
  readonly prompts: Naming;
  readonly addresses: Naming;
  resources?: ResourceFace | undefined;
  promptFace?: PromptFace | undefined;
}

/** The resources of all sources: addresses that are alike get the label of their source, and those of skills always. */
export function mergeResources(faces: MergedFaces): ResourceFace | undefined {
  const { parts, sources, addresses } = faces;
  if (!parts.some(({ source }) => source.resources)) return undefined;
  const place = createPlacing();
  const skills = mergeSkills(faces, place);
  const lists = new MergedLists<Resource>();
  const templateLists = new MergedLists<ResourceTemplate>();
  const placed = <T extends Resource | ResourceTemplate>(items: readonly (readonly T[])[]): readonly T[] => {
    const places = items.flatMap((list, index) => list.map((item) => placeOf(parts[index]!.label, item)));
    const shown = addresses.assign(places);
    const all = items.flat().map((item, index) => place(item, places[index]!, shown[index]!));
    return all.toSorted((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1));
  };
  const findIn = (
    label: string,
    { uri, caller }: { readonly uri: string; readonly caller: Caller },
  ): Awaitable<FoundResource | undefined> =>
    andThen(sources.get(label)?.resources?.find(uri, caller), (found) => {
      if (!found) return undefined;
      const { resource, variables } = found;
      const at = placeOf(label, resource);
      return { resource: place(resource, at, addresses.toShown(at)), variables };
    });
  return {
    get skills() {
      return parts.some(({ source }) => source.resources?.skills) ? skills : undefined;
    },
    list: (caller) =>
      andThen(allOf(parts.map(({ source }) => source.resources?.list(caller) ?? NONE)), (all) =>
        lists.of(all, placed),
      ),
    templates: (caller) =>
      andThen(allOf(parts.map(({ source }) => source.resources?.templates(caller) ?? NONE)), (all) =>
        templateLists.of(all, placed),
      ),
    find: (uri, caller) =>
      findAmong(faces, (label, address = uri) => findIn(label, { uri: address, caller }), uri),
  };
}

type FindIn = (label: string, address?: string) => Awaitable<FoundResource | undefined>;

async function findAmong(
  { parts, addresses }: MergedFaces,
  findIn: FindIn,
  uri: string,
): Promise<FoundResource | undefined> {
  // Nobody takes an address of this process.
  const own = await findIn(OWN);
  if (own) return own;
  const known = addresses.toPlace(uri);
  const direct = known && (await findIn(known.source, known.name));
  if (direct) return direct;
  const others = parts.filter(({ label }) => label !== OWN);
  const failures: unknown[] = [];
  const asked = others.map(({ label }) =>
    orElse(
      () => findIn(label),
      (error) => void failures.push(error),
    ),
  );
  const fitting = (await allOf(asked)).filter((found) => found && !isLabelled(theirs(found.resource)));
  // What one server has comes before what a template of another one happens to fit.
  const best = fitting.find((found) => found && 'uri' in found.resource) ?? fitting[0];
  if (best) return best;
  for (const { label } of others) {
    const plain = withoutLabel(uri, addresses.labelOf(label));
    const found = plain === undefined ? undefined : await findIn(label, plain);
    if (found) return found;
  }
  // Last: a source that fails must not take from others what is theirs.
  if (failures.length > 0) throw failures[0];
  return undefined;
}

/** The prompts of all sources: names that are alike get the label of their source. */
export function mergePrompts({ parts, sources, prompts }: MergedFaces): PromptFace | undefined {
  if (!parts.some(({ source }) => source.prompts)) return undefined;
  const place = createPlacing();
  const lists = new MergedLists<Prompt>();
  const put = (all: readonly (readonly Prompt[])[]): readonly Prompt[] => {
    const places = all.flatMap((list, index) =>
      list.map(({ name }) => ({ source: parts[index]!.label, name })),
    );
    const shown = prompts.assign(places);
    return all
      .flat()
      .flatMap((prompt, index) =>
        shown[index] === undefined ? [] : place(prompt, places[index]!, shown[index]),
      )
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };
  const list = (caller: Caller): Awaitable<readonly Prompt[]> =>
    andThen(allOf(parts.map(({ source }) => source.prompts?.list(caller) ?? NONE)), (all) =>
      lists.of(all, put),
    );
  const findAt = (at: NamedPlace | undefined, name: string, caller: Caller): Awaitable<Prompt | undefined> =>
    andThen(
      at && sources.get(at.source)?.prompts?.find(at.name, caller),
      (prompt) => prompt && place(prompt, at!, name),
    );
  return {
    list,
    find: (name, caller) => {
      const at = prompts.toPlace(name);
      if (at) return findAt(at, name, caller);
      return andThen(list(caller), () => findAt(prompts.toPlace(name), name, caller));
    },
  };
}

/** Passes a reading on to the source of what it is of, in that source's own words. */
export function routeReading(call: Reading, faces: MergedFaces): Awaitable<Result> {
  const target = targetOf(call);
  const { place } = target;
  const source = faces.sources.get(place?.source ?? OWN);
  if (!source) throw unknownReading(call);
  if (!place) return source.call(call);
  switch (call.kind) {
    case 'prompt':
      return andThen(source.prompts?.find(place.name, call.caller), (prompt) => {
        if (!prompt) throw unknownReading(call);
        return source.call({ ...call, prompt });
      });
    case 'completion':
      return source.call({ ...call, target: theirs(call.target) });
    case 'resource': {
      const uri = theirUri(call.resource, call.uri);
      const asked = source.call({ ...call, uri, resource: theirs(call.resource) });
      return uri === call.uri ? asked : andThen(asked, (result) => withAddress(result, uri, call.uri));
    }
  }
}

/** An address of a resource as its source knows it. */
export function theirUri(resource: Resource | ResourceTemplate, uri: string): string {
  const { place } = resource;
  if (!place) return uri;
  return 'uriTemplate' in resource ? theirAddress(uri, resource.uriTemplate, place.name) : place.name;
}

// The contents are named by the address that was asked for.
function withAddress(result: Result, from: string, to: string): Result {
  if (result.kind !== 'done') return result;
  const data = result.data as { readonly contents?: readonly { readonly uri?: string }[] } | undefined;
  if (!Array.isArray(data?.contents)) return result;
  const contents = (data.contents as readonly { readonly uri?: string }[]).map((piece) =>
    piece.uri === from ? { ...piece, uri: to } : piece,
  );
  return { ...result, data: { ...data, contents } };
}

const NONE: readonly never[] = Object.freeze([]);
