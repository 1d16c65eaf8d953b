/**
 * How many cases a property is tried on: with `TOOLCRIB_PROPERTY_RUNS`, as in the long tests, as many as it asks for, or as that says if they are more.
 * The quick tests try a tenth, or another part where a tenth would show nothing.
 */
export function propertyRuns(asked = 1_000, quick = Math.ceil(asked / 10)): number {
  const atLeast = process.env['TOOLCRIB_PROPERTY_RUNS'];
  return atLeast === undefined ? quick : Math.max(asked, Number(atLeast));
}
