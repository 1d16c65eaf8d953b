import { allOf, andThen, type Awaitable } from '../base/awaitable.ts';
import { isDeepStrictEqual } from 'node:util';
import { ToolcribError } from '../base/errors.ts';
import { unknownTool } from './absent-tool.ts';
import type { Reading, ToolCall } from './call.ts';
import type { Caller } from './caller.ts';
import { definitionDigest } from './definition-digest.ts';
import { appsOf, isApp, ReadApps, withShownAddresses, withShownApps } from './merging/apps.ts';
import { createBareFinding } from './merging/bare-names.ts';
import { followIn, shownUpdates } from './merging/follow-readings.ts';
import { MergedLists } from './merging/merged-lists.ts';
import {
  mergePrompts,
  mergeResources,
  routeReading,
  type MergedPart,
  type MergedFaces,
} from './merging/merge-readings.ts';
import type { Result } from './result.ts';
import type { Change, ToolSource } from './source.ts';
import { asAuthored, changeTool, type Tool } from './tool.ts';
import { addressStyle } from './merging/address-names.ts';
import {
  labelsByLook,
  Naming,
  OWN,
  type NameMap,
  type NamedPlace,
  type NamingOptions,
  type PrefixRule,
  type SourceNames,
} from './tool-names.ts';

export type { NameMap, NamedPlace, PrefixRule, SourceNames } from './tool-names.ts';

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
  /** What is different for single sources. */
  readonly names?: Readonly<Record<string, SourceNames>>;
  /** Told of what is left out because its name is taken and it takes no prefix; without it, that is an error. */
  readonly onClash?: (left: NamedPlace) => void;
  /** The sources whose apps callers have read; given if that must outlive this source. */
  readonly apps?: ReadApps;
}

/** Makes one source of several: everything is shown under a name of its own, and calls go to the source of the name. */
export function merge(
  sources: Readonly<Record<string, ToolSource>>,
  { prefix = 'always', own, names: named = {}, onClash, apps = new ReadApps() }: MergeOptions = {},
): MergedSource {
  for (const label of Object.keys(sources)) checkLabel(named[label]?.label ?? label);
  const labels = labelsByLook(Object.keys(sources), named);
  const options = { prefix, sources: named, labels, ...(onClash && { onClash }) };
  const names = new Naming(options);
  // A list, and not an object: one with a thousand keys takes megabytes to make.
  const parts: readonly MergedPart[] = [
    ...(own ? [{ label: OWN, source: own }] : []),
    ...Object.entries(sources).map(([label, source]) => ({ label, source })),
  ];
  const all: ReadonlyMap<string, ToolSource> = new Map(parts.map(({ label, source }) => [label, source]));
  const faces: MergedFaces = { parts, sources: all, ...readingNames(options, named) };
  const { addresses } = faces;
  const renamed = createRenaming(addresses);
  const list = mergedList(parts, { names, addresses, renamed });
  const findAt = (place: NamedPlace, caller: Caller, name: string): Awaitable<Tool | undefined> =>
    andThen(all.get(place.source)?.find(place.name, caller), (tool) => tool && renamed(tool, name, place));
  const findBare = createBareFinding({ names, apps, sources: all, findAt });
  const find = (name: string, caller: Caller): Awaitable<Tool | undefined> => {
    const place = names.toPlace(name);
    if (place) return findBare.unlessFormer(name, caller, place);
    return andThen(list(caller), () => {
      const found = names.toPlace(name);
      return found ? findAt(found, caller, name) : findBare.among(name, caller);
    });
  };
  return {
    names,
    list,
    find,
    call: (call) =>
      call.kind === 'tool' ? routeTool(call, all, addresses) : noteApp(call, routeReading(call, faces), apps),
    get resources() {
      return (faces.resources ??= mergeResources(faces));
    },
    get prompts() {
      return (faces.promptFace ??= mergePrompts(faces));
    },
    watch: (listener) => {
      const shown = { names, faces };
      const stops = parts.flatMap(
        ({ label, source }) =>
          source.watch?.((change) => shownChanges(change, label, shown).forEach(listener)) ?? [],
      );
      return () => stops.forEach((stop) => stop());
    },
    follow: (uri, caller) => followIn(uri, caller, faces),
  };
}

function readingNames(
  { labels, ...options }: NamingOptions,
  named: Readonly<Record<string, SourceNames>>,
): Pick<MergedFaces, 'prompts' | 'addresses'> {
  return {
    // `rename` is for tools: it must not rename a prompt of the same name, too.
    prompts: new Naming({ ...options, ...(labels && { labels }), sources: withoutRenames(named) }),
    addresses: new Naming({
      ...options,
      prefix: 'collisions',
      sources: labelsOf(named),
      style: addressStyle,
    }),
  };
}

type Renaming = (tool: Tool, name: string, place: NamedPlace) => Tool;

// The same copy each time, because stages and encoders cache by it.
function createRenaming(addresses: Naming): Renaming {
  const copies = new WeakMap<Tool, Tool>();
  return (tool, name, place) => {
    if (place.source === OWN) return tool;
    const known = copies.get(tool);
    const { _meta } = tool;
    if (!_meta && known?.name === name) return known;
    const shown =
      _meta && withShownApps(_meta, (uri) => addresses.known({ source: place.source, name: uri }));
    if (known?.name === name && isDeepStrictEqual(known._meta, shown)) return known;
    const copy = changeTool(tool, { name, place, ...(shown && { _meta: shown }) });
    copies.set(tool, copy);
    return copy;
  };
}

interface ListParts {
  readonly names: Naming;
  readonly addresses: Naming;
  readonly renamed: Renaming;
}

function mergedList(
  parts: readonly MergedPart[],
  { names, addresses, renamed }: ListParts,
): (caller: Caller) => Awaitable<readonly Tool[]> {
  const known = new MergedLists<Tool>();
  const put = (lists: readonly (readonly Tool[])[]): readonly Tool[] => {
    const places = lists.flatMap((tools, index) =>
      tools.map(({ name }) => ({ source: parts[index]!.label, name })),
    );
    const shown = names.assign(places);
    addresses.assign(appPlaces(lists, parts));
    return lists
      .flat()
      .flatMap((tool, index) =>
        shown[index] === undefined ? [] : renamed(tool, shown[index], places[index]!),
      )
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };
  return (caller) =>
    andThen(allOf(parts.map(({ source }) => source.list(caller))), (lists) => known.of(lists, put));
}

// The addresses of apps are taken from the tools, because an app need not be listed.
function appPlaces(lists: readonly (readonly Tool[])[], parts: readonly MergedPart[]): NamedPlace[] {
  return lists.flatMap((tools, index) =>
    [...new Set(tools.flatMap(appsOf))].map((name) => ({ source: parts[index]!.label, name })),
  );
}

function routeTool(
  call: ToolCall,
  sources: ReadonlyMap<string, ToolSource>,
  addresses: Naming,
): Awaitable<Result> {
  const { place, name } = call.tool;
  const source = sources.get(place?.source ?? OWN);
  if (!source) throw unknownTool(name);
  if (!place) return source.call(call);
  return andThen(source.find(place.name, call.caller), (tool) => {
    if (!tool) throw unknownTool(name);
    requireSame(call.tool, tool);
    const result = source.call({ ...call, tool });
    if (!addresses.renames(place.source)) return result;
    const toShown = (uri: string): string => addresses.known({ source: place.source, name: uri });
    return andThen(result, (ended) => withShownAddresses(ended, toShown));
  });
}

// While a call waits, such as for a person, its server may change the definition, which nobody has looked at then.
function requireSame(called: Tool, now: Tool): void {
  const [before, after] = [asAuthored(called), asAuthored(now)];
  // Of a copy that a stage made by hand the original is not known, so definitions are compared.
  if (before === after || before === called || definitionDigest(before) === definitionDigest(after)) return;
  throw new DefinitionChanged(called.name);
}

/** The refusal of a call whose tool has another definition than its caller was shown. */
export class DefinitionChanged extends ToolcribError {
  constructor(name: string) {
    super(
      'refused',
      `Nothing was done: the definition of ${name} changed while the call was on its way. Look at it again before you repeat the call.`,
    );
  }
}

// Noted only if the app was really read; knowing its address is not enough.
function noteApp(call: Reading, result: Awaitable<Result>, apps: ReadApps): Awaitable<Result> {
  if (call.kind !== 'resource' || !isApp(call.uri)) return result;
  const { caller, resource } = call;
  return andThen(result, (ended) => {
    if (ended.kind === 'done' && resource.place) apps.note(caller, resource.place.source);
    return ended;
  });
}

function shownChanges(
  change: Change,
  label: string,
  { names, faces }: { readonly names: Naming; readonly faces: MergedFaces },
): readonly Change[] {
  if (change.kind === 'resource') return shownUpdates(change, label, faces);
  if (change.kind !== 'tools') return [change];
  // Only lists give names. Tools that are not listed yet are announced by their own name.
  const shown = (list: readonly string[]): string[] =>
    list.map((name) => names.known({ source: label, name }));
  const { added, removed, modified } = change;
  return [{ kind: 'tools', added: shown(added), removed: shown(removed), modified: shown(modified) }];
}

function withoutRenames(named: Readonly<Record<string, SourceNames>>): Record<string, SourceNames> {
  return mapNames(named, ({ rename: _tools, ...rest }) => rest);
}

function labelsOf(named: Readonly<Record<string, SourceNames>>): Record<string, SourceNames> {
  return mapNames(named, ({ label }) => (label === undefined ? {} : { label }));
}

function mapNames(
  named: Readonly<Record<string, SourceNames>>,
  change: (names: SourceNames) => SourceNames,
): Record<string, SourceNames> {
  return Object.fromEntries(Object.entries(named).map(([label, names]) => [label, change(names)]));
}

function checkLabel(label: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(label) && !label.includes('__')) return;
  throw new ToolcribError(
    'invalid_setup',
    `${JSON.stringify(label)} cannot be the label of a source; use up to 32 letters, digits, "-" and single "_".`,
  );
}
