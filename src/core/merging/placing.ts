import type { Readable } from '../expose-readings.ts';
import type { Prompt } from '../prompts/prompt.ts';
import type { Resource, ResourceTemplate } from '../resources/resource.ts';
import { parseUriTemplate } from '../resources/uri-template.ts';
import { OWN, type NamedPlace, type PlaceToName } from '../tool-names.ts';

/** Makes the copy of something that is shown under another name. */
export type Placing = <T extends Readable>(item: T, place: NamedPlace, shown: string) => T;

/** Makes the same copy each time, so that views and encoded pages are kept. */
export function createPlacing(): Placing {
  const copies = new WeakMap<Readable, Readable>();
  return <T extends Readable>(item: T, place: NamedPlace, shown: string): T => {
    if (place.source === OWN) return item;
    const known = copies.get(item);
    if (known && shownOf(known) === shown) return known as T;
    const copy = { ...item, ...naming(item, shown), place };
    copies.set(item, copy);
    originals.set(copy, item);
    return copy;
  };
}

const originals = new WeakMap<Readable, Readable>();

/** A resource or prompt as its source knows it. */
export function theirs<T extends Readable>(item: T): T {
  return (originals.get(item) as T | undefined) ?? item;
}

/** Where a resource is, and whether its address has the label of its source in front whatever others have. */
export function placeOf(source: string, item: Resource | ResourceTemplate): PlaceToName {
  const name = addressOf(item);
  return isLabelled(item) ? { source, name, isLabelled: true } : { source, name };
}

/** Whether the label of its source always stands in an address: nobody may put something among skills of others. */
export function isLabelled(item: Resource | ResourceTemplate): boolean {
  return ('skillFile' in item && item.skillFile !== undefined) || addressOf(item).startsWith('skill://');
}

/** The address of a resource, or the pattern of its address. */
export function addressOf(item: Resource | ResourceTemplate): string {
  return 'uri' in item ? item.uri : item.uriTemplate;
}

function naming(item: Readable, shown: string): Partial<Resource & ResourceTemplate & Prompt> {
  if ('uri' in item) return { uri: shown };
  if (!('uriTemplate' in item)) return { name: shown };
  return item.uriTemplate === shown ? {} : { uriTemplate: shown, template: parseUriTemplate(shown) };
}

function shownOf(item: Readable): string {
  return 'arguments' in item ? item.name : addressOf(item);
}
