/**
 * How many cases of a property are tried. The long tests set `TOOLCRIB_PROPERTY_RUNS` and try all that are asked for.
 * The quick tests try a tenth, or another part where a tenth would show nothing.
 */
export function propertyRuns(asked = 1_000, quick = Math.ceil(asked / 10)): number {
  const atLeast = process.env['TOOLCRIB_PROPERTY_RUNS'];
  return atLeast === undefined ? quick : Math.max(asked, Number(atLeast));
}

/** Those of some costly cases that are tried: all of them in the long tests, in the quick ones the first few. */
export function firstFew<T>(cases: readonly T[], few: number): readonly T[] {
  return process.env['TOOLCRIB_PROPERTY_RUNS'] === undefined ? cases.slice(0, few) : cases;
}
