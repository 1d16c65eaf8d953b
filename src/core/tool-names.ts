import { createHash } from 'node:crypto';
import { ToolcribError } from '../base/errors.ts';

/** The source behind a shown name, and its own name there. */
export interface NamedPlace {
  /** The label of the source. */
  readonly source: string;
  /** What the source itself calls it. */
  readonly name: string;
}

/** A place to name. */
export interface PlaceToName extends NamedPlace {
  /** The label of its source always stands in front of it, whatever the rule is. */
  readonly isLabelled?: boolean;
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

/** How the names of one source differ from those of the others. */
export interface SourceNames {
  readonly prefix?: PrefixRule;
  /** What stands in front instead of the source's own label. */
  readonly label?: string;
  /** Other names for some of what it offers, by what it calls them itself. */
  readonly rename?: Readonly<Record<string, string>>;
}

/** How names are given. */
export interface NamingOptions {
  readonly prefix: PrefixRule;
  /** By the label of the source. */
  readonly sources?: Readonly<Record<string, SourceNames>>;
  /** What may stand in front of names of each source, by what it looks like: others do not get such names. */
  readonly labels?: ReadonlyMap<string, string>;
  /** What is named; tools unless set. */
  readonly style?: NameStyle;
  /** Told of what is left out because its name is taken and it takes no prefix; without it, that is an error. */
  readonly onClash?: (left: NamedPlace) => void;
}

/** How one kind of name is written. */
export interface NameStyle {
  /** What two names must not share. */
  lookOf(name: string): string;
  /** The name as it may be shown. */
  plain(name: string): string;
  prefixed(label: string, name: string): string;
  /** Whether a name can be shown like this, and still leads back to the name it was made of. */
  isFaithful(shown: string, name: string): boolean;
  /** A name that nothing else has. */
  unique(shown: string, place: NamedPlace): string;
}

/** The label of the source whose names are never changed for those of others. */
export const OWN = '';

// What every model API takes as the name of a tool.
const MAX_LENGTH = 64;
const SEPARATOR = '__';
const HASH_LENGTH = 8;
// Names that are no longer listed still lead where they led, up to this many.
const MAX_FORMER = 10_000;

/**
 * Gives names to what sources list. A name that was shown never leads to another tool later: a call of an old name
 * reaches the old tool or none.
 */
export class Naming implements NameMap {
  readonly #options: NamingOptions;
  readonly #style: NameStyle;
  readonly #places = new Map<string, NamedPlace>();
  readonly #shown = new Map<string, string>();
  /** By what a name looks like: the place that has it. */
  readonly #looks = new Map<string, NamedPlace>();
  /** The sources of which something is shown under another name than its own. */
  readonly #renamed = new Set<string>();

  constructor(options: PrefixRule | NamingOptions) {
    this.#options = typeof options === 'string' ? { prefix: options } : options;
    this.#style = this.#options.style ?? toolStyle;
  }

  /** Names everything that is listed now, so that no two names look alike; `undefined` for what is left out. */
  assign(places: readonly PlaceToName[]): readonly (string | undefined)[] {
    this.#forgetFormer(places.length);
    const alike = new Map<string, NamedPlace[]>();
    for (const place of places) {
      if (this.#ruleOf(place) === 'always') continue;
      const look = this.#style.lookOf(this.#wishOf(place));
      const group = alike.get(look);
      if (group) group.push(place);
      else alike.set(look, [place]);
    }
    const left = new Set<NamedPlace>();
    for (const group of alike.values()) if (group.length > 1) this.#assignAlike(group, left);
    return places.map((place) => (left.has(place) ? undefined : this.toShown(place)));
  }

  toPlace(shown: string): NamedPlace | undefined {
    return this.#places.get(shown);
  }

  toShown(place: PlaceToName): string {
    const known = this.#shown.get(keyOf(place));
    if (known !== undefined) return known;
    return this.#take(place, this.#ruleOf(place) === 'always' ? 'prefixed' : 'plain');
  }

  /** The name something was given, and its own name where it was given none. */
  known(place: NamedPlace): string {
    return this.#shown.get(keyOf(place)) ?? place.name;
  }

  /** Whether anything of a source is shown under another name than its own. */
  renames(source: string): boolean {
    return this.#renamed.has(source);
  }

  /** What stands in front of the names of a source. */
  labelOf(source: string): string {
    return this.#options.sources?.[source]?.label ?? source;
  }

  #ruleOf({ source, name, isLabelled }: PlaceToName): PrefixRule {
    if (source === OWN) return 'never';
    if (isLabelled) return 'always';
    const rule = this.#options.sources?.[source]?.prefix ?? this.#options.prefix;
    return rule === 'collisions' && this.#pretends(source, name) ? 'always' : rule;
  }

  // A name that begins with the label of another source would pass for one of its names.
  #pretends(source: string, name: string): boolean {
    const { labels } = this.#options;
    const wish = labels && this.#wishOf({ source, name });
    const end = wish?.indexOf(SEPARATOR) ?? -1;
    if (!labels || !wish || end <= 0) return false;
    // A label may end with half of the separator.
    const ends = wish.startsWith(SEPARATOR, end + 1) ? [end, end + 1] : [end];
    const named = ends.map((at) => labels.get(lookOf(wish.slice(0, at))));
    return named.some((other) => other !== undefined && other !== source);
  }

  // The name a place would have if it were alone.
  #wishOf({ source, name }: NamedPlace): string {
    const names = this.#options.sources?.[source]?.rename;
    return names && Object.hasOwn(names, name) ? names[name]! : name;
  }

  // Names of this process stay; others make way, or are left out where they may not change.
  #assignAlike(group: readonly NamedPlace[], left: Set<NamedPlace>): void {
    const fixed = group.filter((place) => this.#ruleOf(place) === 'never');
    const look = this.#style.lookOf(this.#wishOf(group[0]!));
    const holder =
      fixed.find(({ source }) => source === OWN) ??
      fixed.find((place) => isSame(this.#looks.get(look), place)) ??
      fixed[0];
    if (fixed.length > 1 && !this.#options.onClash) throw collision(group);
    for (const place of fixed) {
      if (place === holder || place.source === OWN) continue;
      left.add(place);
      this.#options.onClash?.(place);
    }
    if (holder) this.toShown(holder);
    for (const place of group) {
      if (this.#ruleOf(place) !== 'collisions') continue;
      const shown = this.#shown.get(keyOf(place));
      if (shown === undefined || shown === this.#wishOf(place)) this.#take(place, 'prefixed');
    }
  }

  #take(place: NamedPlace, form: 'plain' | 'prefixed'): string {
    const { source, name } = place;
    const shown = source === OWN ? name : this.#choose(place, form);
    this.#places.set(shown, place);
    this.#looks.set(this.#style.lookOf(shown), place);
    this.#shown.set(keyOf(place), shown);
    if (shown !== name) this.#renamed.add(source);
    return shown;
  }

  #choose(place: NamedPlace, form: 'plain' | 'prefixed'): string {
    const wish = this.#wishOf(place);
    const shown =
      form === 'plain'
        ? this.#style.plain(wish)
        : this.#style.prefixed(this.labelOf(place.source), this.#style.plain(wish));
    if (this.#style.isFaithful(shown, wish) && this.#isFree(shown, place)) return shown;
    if (form === 'plain' && this.#ruleOf(place) === 'collisions') return this.#choose(place, 'prefixed');
    return this.#style.unique(shown, place);
  }

  #isFree(shown: string, place: NamedPlace): boolean {
    const taken = this.#looks.get(this.#style.lookOf(shown));
    return !taken || isSame(taken, place);
  }

  // A server that invents names without end must not fill the memory.
  #forgetFormer(listed: number): void {
    if (this.#places.size <= MAX_FORMER + 2 * listed) return;
    this.#places.clear();
    this.#shown.clear();
    this.#looks.clear();
  }
}

/** Names that every model API takes. */
const toolStyle: NameStyle = {
  lookOf,
  plain: (name) => name.replaceAll(/[^A-Za-z0-9_-]/g, '_'),
  prefixed: (label, name) => `${label}${SEPARATOR}${name}`,
  isFaithful: (shown, name) => shown.length <= MAX_LENGTH && shown !== '' && shown.endsWith(name),
  // What is too long, or was changed to be allowed, ends with a digest of the original.
  unique: (shown, place) => `${shown.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hashOf(place)}`,
};

/** The key by which names look alike: without case, and without other forms of the same letters. */
export function lookOf(name: string): string {
  // oxlint-disable-next-line no-control-regex -- ASCII is what it means.
  if (/^[\x00-\x7f]*$/.test(name)) return name.toLowerCase();
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/** Sources by what their labels look like. */
export function labelsByLook(
  sources: readonly string[],
  named: Readonly<Record<string, SourceNames>>,
): ReadonlyMap<string, string> {
  return new Map(sources.map((source) => [lookOf(named[source]?.label ?? source), source]));
}

/** A short digest of a place. */
export function hashOf({ source, name }: NamedPlace): string {
  const digest = createHash('sha256').update(JSON.stringify([source, name]));
  return digest.digest('hex').slice(0, HASH_LENGTH);
}

function keyOf({ source, name }: NamedPlace): string {
  return `${source}\n${name}`;
}

function isSame(one: NamedPlace | undefined, other: NamedPlace): boolean {
  return one?.source === other.source && one.name === other.name;
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
