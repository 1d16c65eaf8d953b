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
      findAmong(faces, uri, {
        find: (label, address) => findIn(label, { uri: address, caller }),
        listed: (label, address) => listedAt(sources.get(label)?.resources, address, caller),
      }),
  };
}

type Ask = (label: string, address: string) => Awaitable<FoundResource | undefined>;

async function findAmong(
  faces: MergedFaces,
  uri: string,
  { find, listed }: { readonly find: Ask; readonly listed: Ask },
): Promise<FoundResource | undefined> {
  // Nobody takes an address of this process.
  const own = await find(OWN, uri);
  if (own) return own;
  const known = faces.addresses.toPlace(uri);
  const direct = known && (await find(known.source, known.name));
  if (direct) return direct;
  // What is listed tells whose it is, so that a source that is slow to list again delays no read of what others have.
  const likely = await search(faces, uri, listed);
  const found = likely && (await hitAt(likely, find));
  return found && isReachable(found, uri) ? found.found : (await search(faces, uri, find))?.found;
}

/** Something that was found, and where it was asked for under which address. */
interface Hit {
  readonly label: string;
  readonly address: string;
  readonly found: FoundResource;
}

function hitAt({ label, address }: Pick<Hit, 'label' | 'address'>, ask: Ask): Awaitable<Hit | undefined> {
  return andThen(ask(label, address), (found) => found && { label, address, found });
}

// What has the label of its source in its address whatever others have is not found without it.
function isReachable({ address, found }: Hit, uri: string): boolean {
  return address !== uri || !isLabelled(theirs(found.resource));
}

async function search({ parts, addresses }: MergedFaces, uri: string, ask: Ask): Promise<Hit | undefined> {
  const others = parts.filter(({ label }) => label !== OWN);
  const failures: unknown[] = [];
  const asked = others.map(({ label }) =>
    orElse(
      () => hitAt({ label, address: uri }, ask),
      (error) => void failures.push(error),
    ),
  );
  const fitting = (await allOf(asked)).filter((hit) => hit && isReachable(hit, uri));
  // What one server has comes before what a template of another one happens to fit.
  const best = fitting.find((hit) => hit && 'uri' in hit.found.resource) ?? fitting[0];
  if (best) return best;
  for (const { label } of others) {
    const plain = withoutLabel(uri, addresses.labelOf(label));
    const hit = plain === undefined ? undefined : await hitAt({ label, address: plain }, ask);
    if (hit) return hit;
  }
  // Last: a source that fails must not take from others what is theirs.
  if (failures.length > 0) throw failures[0];
  return undefined;
}

// By the lists alone; that it could not be listed is told when it is asked for.
function listedAt(
  face: ResourceFace | undefined,
  uri: string,
  caller: Caller,
): Awaitable<FoundResource | undefined> {
  const among = (resources: readonly Resource[], templates: readonly ResourceTemplate[]) =>
    resources.find((one) => one.uri === uri) ?? templates.find((template) => template.template.match(uri));
  return orElse(
    () =>
      andThen(face?.list(caller) ?? NONE, (resources) =>
        andThen(face?.templates(caller) ?? NONE, (templates) => {
          const resource = among(resources, templates);
          return resource && { resource, variables: {} };
        }),
      ),
    () => undefined,
  );
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
