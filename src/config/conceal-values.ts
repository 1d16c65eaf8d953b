/** From this many characters on, a value from outside is concealed. */
export const TELLING = 4;

/** A text with values from outside replaced by `${...}`. */
export function concealValues(text: string, values: readonly string[]): string {
  return values
    .filter(({ length }) => length >= TELLING)
    .toSorted((a, b) => b.length - a.length)
    .reduce((clean, value) => clean.replaceAll(value, () => '${...}'), text);
}
