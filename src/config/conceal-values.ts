/** How many characters of a value from outside tell something about it. */
export const TELLING = 4;

/** A text without the values that came from outside; each is shown as `${...}`. */
export function concealValues(text: string, values: readonly string[]): string {
  return values
    .filter(({ length }) => length >= TELLING)
    .toSorted((a, b) => b.length - a.length)
    .reduce((clean, value) => clean.replaceAll(value, () => '${...}'), text);
}
