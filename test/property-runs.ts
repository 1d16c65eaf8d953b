/** How many cases a property is tried on: as many as it asks for, or more when `TOOLCRIB_PROPERTY_RUNS` says so. */
export function propertyRuns(atLeast = 1_000): number {
  return Math.max(atLeast, Number(process.env['TOOLCRIB_PROPERTY_RUNS'] ?? 0));
}
