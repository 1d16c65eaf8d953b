/**
 * Compiles a pattern in which `*` matches any characters, also none. Never backtracks, so no name can make it
 * slow.
 */
export function compileGlob(pattern: string): (name: string) => boolean {
  const [start = '', ...rest] = pattern.split('*');
  const end = rest.pop();
  if (end === undefined) return (name) => name === pattern;
  const middle = rest.filter((part) => part !== '');
  return (name) => {
    if (name.length < start.length + end.length || !name.startsWith(start) || !name.endsWith(end))
      return false;
    const last = name.length - end.length;
    let from = start.length;
    for (const part of middle) {
      // The first match leaves the most text for the remaining parts.
      const at = name.indexOf(part, from);
      if (at < 0) return false;
      from = at + part.length;
    }
    return from <= last;
  };
}

/**
 * Looks up a name in a table of patterns. An exact name wins, then the longest text before the first `*`, then
 * the longest pattern.
 */
export function compileGlobTable<T>(table: Readonly<Record<string, T>>): (name: string) => T | undefined {
  const rows = Object.entries(table)
    .map(([pattern, value]) => ({ pattern, value, matches: compileGlob(pattern) }))
    .toSorted(
      (a, b) => literalStart(b.pattern) - literalStart(a.pattern) || b.pattern.length - a.pattern.length,
    );
  return (name) => rows.find(({ matches }) => matches(name))?.value;
}

/** Patterns of what may follow `text` in the texts that match a pattern; none if no match begins with `text`. */
export function restsAfter(pattern: string, text: string): readonly string[] {
  // Most begin with something else, and a gateway asks for each of its servers with each of its rules.
  for (let at = 0; at < text.length && pattern[at] !== '*'; at++) if (pattern[at] !== text[at]) return [];
  let places = withSkippedStars(pattern, new Set([0]));
  for (const character of text) {
    const next = new Set<number>();
    for (const place of places) {
      if (pattern[place] === '*') next.add(place);
      else if (pattern[place] === character) next.add(place + 1);
    }
    places = withSkippedStars(pattern, next);
  }
  return [...places].map((place) => pattern.slice(place));
}

// A star may also stand for nothing.
function withSkippedStars(pattern: string, places: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set<number>();
  for (const start of places) {
    let place = start;
    all.add(place);
    while (pattern[place] === '*') all.add(++place);
  }
  return all;
}

function literalStart(pattern: string): number {
  const star = pattern.indexOf('*');
  return star < 0 ? Infinity : star;
}
