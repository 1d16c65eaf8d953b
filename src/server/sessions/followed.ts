/** How many characters of addresses may be followed, in all and for one caller: they are kept for as long as that. */
export const addressLimits = { total: 67_108_864, perCaller: 1_048_576 };

// What an address takes up beside its characters.
const ROOM_FOR_ONE = 100;

/** How much of that some addresses take up. */
export function roomFor(addresses: readonly string[]): number {
  return addresses.reduce((sum, { length }) => sum + length + ROOM_FOR_ONE, 0);
}
