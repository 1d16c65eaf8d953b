/** The text without the characters at its end that are the given one; in time that grows with the length of the text alone. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
