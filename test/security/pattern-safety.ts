/** Why a regular expression could take more than linear time; empty when it cannot. Refuses some that are fine. */
export function dangersOf(pattern: string, flags = ''): string[] {
  const root = new PatternReader(pattern).read();
  const dangers = [...root.flatMap(dangersIn), ...root.flatMap(waysThrough).flatMap(neighbours)];
  // A repetition with nothing after it matches wherever it starts, and the search goes on behind it.
  const first = root.flatMap((sequence) => (isLone(sequence) ? [] : sequence.slice(0, 1)));
  if (!flags.includes('y') && first.some((item) => startsUnbounded(item)))
    dangers.push('starts with a repetition and is tried at every place');
  return dangers;
}

type Sequence = readonly Item[];

function isLone([item, ...rest]: Sequence): boolean {
  return rest.length === 0 && item !== undefined && item.atom !== '' && !item.isOptional;
}

/** One part of a pattern: what it matches once, and how often. */
interface Item {
  /** Source of a single character, class or escape; empty for a group, an assertion or a back-reference. */
  readonly atom: string;
  readonly alternatives: readonly Sequence[];
  readonly isOptional: boolean;
  /** Whether it may match more than once, and without limit. */
  readonly isRepeated: boolean;
  readonly isUnbounded: boolean;
}

const PIECE = /^(?:\\u\{[^}]*\}|\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^])/u;
const QUANTIFIER = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/;
const GROUP = /^\((?:\?(?:[:=!]|<[=!]|<[^>]+>))?/;

/** Reads a pattern into sequences of items. */
class PatternReader {
  #rest: string;

  constructor(pattern: string) {
    this.#rest = pattern;
  }

  read(): Sequence[] {
    const alternatives: Item[][] = [[]];
    while (this.#rest !== '' && !this.#rest.startsWith(')')) {
      if (this.#take(/^\|/)) alternatives.push([]);
      else alternatives.at(-1)!.push(this.#item());
    }
    return alternatives;
  }

  #item(): Item {
    const isGroup = this.#take(GROUP) !== undefined;
    const alternatives = isGroup ? this.read() : [];
    const atom = isGroup ? '' : this.#take(PIECE)![0];
    if (isGroup) this.#take(/^\)/);
    const quantifier = this.#take(QUANTIFIER);
    const [, sign, least, comma, most] = quantifier ?? [];
    const isUnbounded = sign === '*' || sign === '+' || (comma !== undefined && most === '');
    return {
      atom: /^(?:[\^$]|\\[bBk1-9])$/.test(atom) ? '' : atom,
      alternatives,
      isOptional: sign === '*' || sign === '?' || least === '0',
      isRepeated: isUnbounded || Number(most ?? least ?? 1) > 1,
      isUnbounded,
    };
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    const match = pattern.exec(this.#rest) ?? undefined;
    if (match) this.#rest = this.#rest.slice(match[0].length);
    return match;
  }
}

function dangersIn(sequence: Sequence): string[] {
  return sequence.flatMap((item) => [
    ...(item.isRepeated ? dangersRepeated(item) : []),
    ...item.alternatives.flatMap(dangersIn),
  ]);
}

function dangersRepeated({ alternatives }: Item): string[] {
  if (alternatives.length > 1) return ['repeats a choice'];
  return alternatives.some(holdsRepetition) ? ['repeats a repetition'] : [];
}

function holdsRepetition(sequence: Sequence): boolean {
  return sequence.some((item) => item.isRepeated || item.alternatives.some(holdsRepetition));
}

// Two repetitions that can share a character, with nothing between them that the first cannot match as well.
function neighbours(way: Sequence): string[] {
  return way.flatMap((item, index) => {
    if (!item.isUnbounded) return [];
    for (const next of way.slice(index + 1)) {
      if (overlap(item, next)) {
        if (next.isUnbounded) return ['repeats the same character in two places'];
      } else if (!next.isOptional) break;
    }
    return [];
  });
}

// Every way through a sequence, groups opened; a repeated group is left as it is.
function waysThrough(sequence: Sequence): Sequence[] {
  const [item, ...rest] = sequence;
  if (!item) return [[]];
  const after = waysThrough(rest);
  const openings = item.alternatives.flatMap(waysThrough);
  const here =
    item.alternatives.length === 0 || item.isRepeated
      ? [[item]]
      : item.isOptional
        ? [[], ...openings]
        : openings;
  return here.flatMap((way) => after.map((end) => [...way, ...end]));
}

function overlap(a: Item, b: Item): boolean {
  if (a.atom === '' || b.atom === '') return a.alternatives.length + b.alternatives.length > 0;
  const [one, other] = [new RegExp(`^(?:${a.atom})$`, 'u'), new RegExp(`^(?:${b.atom})$`, 'u')];
  return SAMPLES.some((character) => one.test(character) && other.test(character));
}

const SAMPLES = [...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)), 'é', '\u2028', '文'];

function startsUnbounded(item: Item): boolean {
  return (
    item.isUnbounded || item.alternatives.some(([first]) => first !== undefined && startsUnbounded(first))
  );
}
