import { asObject, asText } from './document.ts';
import type { OpenApiOperation } from './operation.ts';

const MAX_WHAT = 600;
const MAX_RETURNS = 200;

/** The description a model chooses the tool by: what it does, what it returns, what it calls. */
export function describeOperation(operation: OpenApiOperation, api: string): string {
  const { summary, description, returns, answer, isDeprecated, method, template } = operation;
  const what = plainText(
    [sentence(plainText(summary)), withoutStart(description, summary)].join(' '),
    MAX_WHAT,
  );
  return [
    isDeprecated ? 'Deprecated: prefer another tool where there is one.' : '',
    sentence(what),
    returnsText(returns, answer),
    `Calls ${method} ${template} of ${plainText(api, 80)}.`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/**
 * A text of a description as plain words on one line: no markup, no invisible characters, at most `maxLength`
 * characters.
 */
export function plainText(text: string, maxLength = 500): string {
  const plain = withoutMarkup(text.slice(0, maxLength * 8))
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (plain.length <= maxLength) return plain;
  const cut = plain.slice(0, maxLength - 1);
  const end = cut.lastIndexOf('. ');
  return end > maxLength / 2 ? cut.slice(0, end + 1) : `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 1))}…`;
}

// Fast path: most texts are plain, and searching thousands of them for markup is slow.
function withoutMarkup(text: string): string {
  if (/^[\w .,;:'"()/-]*$/.test(text)) return text;
  return text
    .replaceAll(/^[ \t]*>[ \t]*(?:\[!\w+\])?/gm, '')
    .replaceAll(/\[([^\][]*)\]\([^()\s]*\)/g, '$1')
    .replaceAll(/<\/?[a-zA-Z][^<>]{0,200}>/g, ' ')
    .replaceAll('**', '')
    .replaceAll(UNSEEN, '');
}

/**
 * The first text in a value, keys included, with invisible characters. Names and values are sent to the API exactly, so
 * they cannot be cleaned.
 */
export function findUnseen(value: unknown): string | undefined {
  if (typeof value === 'string') return value.replaceAll(UNSEEN, '') === value ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = findUnseen(key) ?? findUnseen(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

// Controls other than white space, format characters, fillers, selectors and unassigned characters: text that people
// cannot see must not reach a model.
const UNSEEN = /(?![\t\n\r])[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const SAYS_NOTHING =
  /^(?:(?:an? )?(?:ok|success|successful|successfully|response|default|accepted|created|no content|expected)(?: (?:operation|response|request|result))?(?: to a valid request)?)?[.!]?$/i;

function returnsText(returns: string, answer: unknown): string {
  const said = plainText(returns, MAX_RETURNS);
  const text = SAYS_NOTHING.test(said) ? plainText(nameOf(answer), MAX_RETURNS) : said;
  return text === '' ? "Returns the API's answer." : sentence(`Returns: ${text}`);
}

// If a response is described by its schema alone, the schema's name says what it is.
function nameOf(schema: unknown): string {
  const { $ref: reference, title, type, items } = asObject(schema);
  if (type === 'array') {
    const each = nameOf(items);
    return each === '' ? '' : `a list of ${each}`;
  }
  const last = asText(reference).split('/').at(-1)!;
  return (asText(title) || last)
    .replaceAll(/[-_]+/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
}

function withoutStart(text: string, start: string): string {
  const rest = text.trim();
  return start !== '' && rest.toLowerCase().startsWith(start.trim().toLowerCase())
    ? rest.slice(start.trim().length).replace(/^[.\s]+/, '')
    : rest;
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /[.!?…:]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
