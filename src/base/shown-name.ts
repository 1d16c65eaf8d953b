const MAX_SHOWN = 1_000;

/** A name or an address that a caller chose, for a message: what is long is cut, never within a character. */
export function shownName(text: string): string {
  if (text.length <= MAX_SHOWN) return text;
  const code = text.charCodeAt(MAX_SHOWN - 1);
  return `${text.slice(0, code >= 0xd800 && code < 0xdc00 ? MAX_SHOWN - 1 : MAX_SHOWN)}…`;
}
