const CHARACTERS_PER_TOKEN = 4;
// Brackets, quotes and names of fields are cut more finely than prose.
const JSON_CHARACTERS_PER_TOKEN = 3.3;
// Beyond ASCII most models need about two tokens for three characters.
const OTHERS_PER_TOKEN = 1.5;

/**
 * About how many tokens a text, or data as compact JSON, takes. An estimate: it is mostly within a quarter of what a
 * model counts, and no model is asked.
 */
export function estimateTokens(value: unknown): number {
  const isText = typeof value === 'string';
  const text = isText ? value : (JSON.stringify(value) ?? '');
  let others = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) others++;
  const plain = (text.length - others) / (isText ? CHARACTERS_PER_TOKEN : JSON_CHARACTERS_PER_TOKEN);
  return Math.ceil(plain + others / OTHERS_PER_TOKEN);
}

const counted = new WeakMap<object, number>();

/** The same for data that never changes: it is counted once. */
export function estimateOnce(value: object): number {
  let tokens = counted.get(value);
  if (tokens === undefined) counted.set(value, (tokens = estimateTokens(value)));
  return tokens;
}
