/** A name that needs no quotes anywhere: nothing else of a caller's is ever put into a statement. */
export const plainName = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** A name as both databases read it: as it is, whatever it holds. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
