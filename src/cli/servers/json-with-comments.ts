/** JSON as some editors write it: comments and commas before a closing bracket are blanked out, texts stay. */
export function withoutComments(text: string): string {
  return text
    .replaceAll(TOKENS, (token) => (token.startsWith('"') ? token : ' '))
    .replaceAll(LAST_COMMA, (token) => (token.startsWith('"') ? token : token.slice(1)));
}

const TOKENS = /"(?:[^"\\]|\\[^])*"|\/\/[^\n]*|\/\*[^]*?\*\//g;
const LAST_COMMA = /"(?:[^"\\]|\\[^])*"|,\s*[\]}]/g;
