import { cleanText } from '../../observe/clean-text.ts';

/** As much as the mark of a cut text may take. */
export const MARK_BYTES = 80;

/** The text in place of a cut-off end. */
export function markOf(shown: number, all: number): string {
  return `\n[cut here: ${shown.toLocaleString('en-US')} of ${all.toLocaleString('en-US')} bytes shown]`;
}

/** The beginning of a clean text, cut between characters. */
export function firstBytes(text: string, bytes: number): string {
  if (text.length <= bytes && Buffer.byteLength(text) <= bytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  // Cleaned again: a joiner at the cut may now join nothing.
  return cleanText(text.slice(0, read));
}
