// Random per process: with a known hash, an attacker could send thousands of values with the same hash.
const [START, FACTOR] = crypto.getRandomValues(new Int32Array(2)) as unknown as readonly [number, number];
const MULTIPLIER = FACTOR | 1;

/** The start value of every hash. */
export const hashStart: number = START;

/** Adds a number to a hash; the seed keeps collisions unpredictable from outside. */
export function mixHash(hash: number, more: number): number {
  const product = Math.imul(hash ^ more, MULTIPLIER);
  // A product carries upwards only: without the shift its low bits would be predictable.
  return product ^ (product >>> 15);
}
