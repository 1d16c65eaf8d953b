/**
 * JSON text with invisible characters and terminal controls written as escapes; it parses to the same value.
 */
export function escapeUnseen(json: string): string {
  return VISIBLE.test(json) ? json : json.replaceAll(UNSEEN, toEscapes);
}

const VISIBLE = /^[ -~]*$/;
// Controls, formats, fillers, selectors, private and unassigned characters, and separators other than the space.
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

function toEscapes(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}
