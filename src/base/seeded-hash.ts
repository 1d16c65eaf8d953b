// Drawn anew for every process: with a known hash, thousands of values can be sent that all hash alike.
const [START, FACTOR] = crypto.getRandomValues(new Int32Array(2)) as unknown as readonly [number, number];
const MULTIPLIER = FACTOR | 1;

/** What every hash begins with. */
export const hashStart: number = START;

/** A hash with one more number in it; nobody outside can tell which sequences come to the same. */
export function mixHash(hash: number, more: number): number {
  const product = Math.imul(hash ^ more, MULTIPLIER);
  // A product carries upwards only: without the shift its low bits could be foreseen.
  return product ^ (product >>> 15);
}
