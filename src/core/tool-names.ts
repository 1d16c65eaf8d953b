import { createHash } from 'node:crypto';
import { ToolcribError } from '../base/errors.ts';

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

/** When the label of its source stands in front of a name: where names are alike, always or never. */
export type PrefixRule = 'collisions' | 'always' | 'never';

/** The label of the source whose names are never changed for those of others. */
export const OWN = '';

// What every model API takes as the name of a tool.
const MAX_LENGTH = 64;
const SEPARATOR = '__';
const HASH_LENGTH = 8;
// Names that are no longer listed still lead where they led, up to this many.
const MAX_FORMER = 10_000;

/**
 * Gives names to what sources list. A name that was shown never leads elsewhere later: whoever still knows it calls
 * what it stood for, or nothing.
 */
export class Naming implements NameMap {
  readonly #rule: PrefixRule;
  readonly #places = new Map<string, NamedPlace>();
  readonly #shown = new Map<string, string>();
  /** By what a name looks like: the place that has it. */
  readonly #looks = new Map<string, NamedPlace>();

  constructor(rule: PrefixRule) {
    this.#rule = rule;
  }

  /** Names everything that is listed now, so that no two names look alike. */
  assign(places: readonly NamedPlace[]): void {
    this.#forgetFormer(places.length);
    if (this.#rule === 'always') return;
    const alike = new Map<string, NamedPlace[]>();
    for (const place of places) {
      const look = lookOf(place.name);
      const group = alike.get(look);
      if (group) group.push(place);
      else alike.set(look, [place]);
    }
    for (const group of alike.values()) this.#assignAlike(group);
  }

  toPlace(shown: string): NamedPlace | undefined {
    return this.#places.get(shown);
  }

  toShown(place: NamedPlace): string {
    const known = this.#shown.get(keyOf(place));
    if (known !== undefined) return known;
    return this.#take(place, this.#rule === 'always' && place.source !== OWN ? 'prefixed' : 'plain');
  }

  #assignAlike(group: readonly NamedPlace[]): void {
    const first = group[0]!;
    if (group.length === 1) {
      this.toShown(first);
      return;
    }
    if (this.#rule === 'never') throw collision(group);
    for (const place of group) {
      const shown = this.#shown.get(keyOf(place));
      const isPlain = shown === place.name;
      if (place.source === OWN) this.toShown(place);
      else if (shown === undefined || isPlain) this.#take(place, 'prefixed');
    }
  }

  #take(place: NamedPlace, form: 'plain' | 'prefixed'): string {
    const { source, name } = place;
    const safe = name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
    const plain = form === 'plain' ? safe : `${source}${SEPARATOR}${safe}`;
    const isFaithful = plain.length <= MAX_LENGTH && plain !== '' && safe === name;
    let shown = isFaithful && this.#isFree(plain, place) ? plain : undefined;
    if (shown === undefined && form === 'plain' && source !== OWN && this.#rule === 'collisions')
      return this.#take(place, 'prefixed');
    shown ??= hashed(plain, place);
    this.#places.set(shown, place);
    this.#looks.set(lookOf(shown), place);
    this.#shown.set(keyOf(place), shown);
    return shown;
  }

  #isFree(shown: string, place: NamedPlace): boolean {
    const taken = this.#looks.get(lookOf(shown));
    return !taken || (taken.source === place.source && taken.name === place.name);
  }

  // A server that invents names without end must not fill the memory.
  #forgetFormer(listed: number): void {
    if (this.#places.size <= MAX_FORMER + 2 * listed) return;
    this.#places.clear();
    this.#shown.clear();
    this.#looks.clear();
  }
}

/** What a name looks like to a reader in a hurry: without case, and without other forms of the same letters. */
export function lookOf(name: string): string {
  // oxlint-disable-next-line no-control-regex -- ASCII is what it means.
  if (/^[\x00-\x7f]*$/.test(name)) return name.toLowerCase();
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

function keyOf({ source, name }: NamedPlace): string {
  return `${source}\n${name}`;
}

// What is too long, or was changed to be allowed, ends with a digest of what it stands for.
function hashed(plain: string, { source, name }: NamedPlace): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([source, name]))
    .digest('hex');
  return `${plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${digest.slice(0, HASH_LENGTH)}`;
}

function collision(group: readonly NamedPlace[]): ToolcribError {
  const places = group.map(
    ({ source, name }) => `${JSON.stringify(name)} of ${source === OWN ? 'this process' : source}`,
  );
  return new ToolcribError(
    'invalid_setup',
    `Names are alike, and the prefix is "never": ${places.join(', ')}. Use "collisions", or leave one of them out.`,
  );
}
