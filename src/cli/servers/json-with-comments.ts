/** JSON as some editors write it: comments and commas before a closing bracket become spaces. */
export function withoutComments(text: string): string {
  const parts: string[] = [];
  let comma = -1;
  for (let at = 0; at < text.length;) {
    const end = endOfToken(text, at);
    const token = text.slice(at, end);
    at = end;
    const isComment = token.startsWith('//') || token.startsWith('/*');
    parts.push(isComment ? token.replaceAll(/[^\r\n]/g, ' ') : token);
    if (isComment) continue;
    if ((token === '}' || token === ']') && comma >= 0) parts[comma] = ' ';
    if (token === ',') comma = parts.length - 1;
    else if (token.trim() !== '') comma = -1;
  }
  return parts.join('');
}

// Where the text, the comment or the single character ends that begins here.
function endOfToken(text: string, at: number): number {
  if (text[at] === '"') return endOfText(text, at);
  if (text.startsWith('//', at)) return orEnd(text.indexOf('\n', at), text);
  if (text.startsWith('/*', at)) return orEnd(text.indexOf('*/', at + 2), text, 2);
  return at + 1;
}

/** Where the text in quotes ends that begins here. */
export function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at + 1;
    if (text[at] === '\\') at++;
  }
  return text.length;
}

function orEnd(found: number, text: string, length = 0): number {
  return found < 0 ? text.length : found + length;
}
