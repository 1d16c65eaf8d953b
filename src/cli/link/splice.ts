/** Text that is put into another text. */
export interface Insertion {
  /** Where, counted in the text as it was before all insertions. */
  readonly at: number;
  readonly text: string;
}

/** A text with insertions, which are in order. */
export function insertAll(text: string, insertions: readonly Insertion[]): string {
  let made = '';
  let from = 0;
  for (const { at, text: more } of insertions) {
    made += text.slice(from, at) + more;
    from = at;
  }
  return made + text.slice(from);
}

/** The text before the insertions were made; `undefined` if they are not where they were put. */
export function removeAll(text: string, insertions: readonly Insertion[]): string | undefined {
  let made = '';
  let from = 0;
  let shift = 0;
  for (const { at, text: more } of insertions) {
    const start = at + shift;
    if (start < from || !text.startsWith(more, start)) return undefined;
    made += text.slice(from, start);
    from = start + more.length;
    shift += more.length;
  }
  return made + text.slice(from);
}
