/** A name that never needs quotes: no other text of a caller is put into a statement. */
export const plainName = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** A quoted name, exact in both databases, whatever it contains. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
