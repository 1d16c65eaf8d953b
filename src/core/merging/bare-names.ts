import { allOf, andThen, type Awaitable } from '../../base/awaitable.ts';
import type { Caller } from '../caller.ts';
import type { ToolSource } from '../source.ts';
import type { Tool } from '../tool.ts';
import type { NameMap, NamedPlace } from '../tool-names.ts';
import type { ReadApps } from './apps.ts';

/** What bare names are resolved with. */
export interface BareParts {
  readonly names: NameMap;
  readonly apps: ReadApps;
  readonly sources: ReadonlyMap<string, ToolSource>;
  readonly findAt: (place: NamedPlace, caller: Caller, name: string) => Awaitable<Tool | undefined>;
}

/** Finds tools by the names their own servers give them. */
export interface BareFinding {
  /** Among the sources whose app the caller has read; a name that several of them have is not used. */
  among(name: string, caller: Caller): Awaitable<Tool | undefined>;
  /** At its place, unless the name is shown no more and may be meant by an app. */
  unlessFormer(name: string, caller: Caller, place: NamedPlace): Awaitable<Tool | undefined>;
}

/** Makes the search for tools that apps call: their pages know nothing of the names that are shown. */
export function createBareFinding({ names, apps, sources, findAt }: BareParts): BareFinding {
  const findOne = (name: string, caller: Caller, among: ReadonlySet<string>): Awaitable<Tool | undefined> => {
    const labels = [...among].filter((label) => sources.has(label));
    const found = allOf(labels.map((label) => sources.get(label)!.find(name, caller)));
    return andThen(found, (tools) => {
      const holders = labels.filter((_label, index) => tools[index]);
      if (holders.length !== 1) return undefined;
      const place = { source: holders[0]!, name };
      return findAt(place, caller, names.toShown(place));
    });
  };
  return {
    among: (name, caller) => findOne(name, caller, apps.of(caller)),
    unlessFormer: (name, caller, place) => {
      const read = apps.of(caller);
      // What is shown now always leads where it is shown to lead.
      if (read.size === 0 || names.toShown(place) === name) return findAt(place, caller, name);
      return findOne(place.name, caller, new Set([...read, place.source]));
    },
  };
}
