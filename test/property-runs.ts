/**
 * How many cases a property is tried on: a tenth of what it asks for in the quick tests. With `TOOLCRIB_PROPERTY_RUNS`, as in the long ones,
 * it is all of them, or as many as that says if they are more.
 */
export function propertyRuns(asked = 1_000): number {
  const atLeast = process.env['TOOLCRIB_PROPERTY_RUNS'];
  return atLeast === undefined ? Math.ceil(asked / 10) : Math.max(asked, Number(atLeast));
}
