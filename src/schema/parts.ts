/** At most so many problems of a value are reported. */
export const MAX_ISSUES = 8;

/**
 * How many of a number of parts are left after those of a value, below 0 if it has more. It is on the path of every
 * call, so members that have no parts cost no further call.
 */
export function partsLeft(value: unknown, parts: number): number {
  if (typeof value !== 'object' || value === null) return parts;
  let left = parts;
  if (Array.isArray(value)) {
    left -= value.length;
    for (let index = 0; index < value.length && left >= 0; index++)
      if (typeof value[index] === 'object') left = partsLeft(value[index], left);
    return left;
  }
  for (const key in value) {
    if (--left < 0) return left;
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === 'object') left = partsLeft(member, left);
  }
  return left;
}
