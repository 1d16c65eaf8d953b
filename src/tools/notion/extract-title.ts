import { isObject } from '../../base/json.ts';

const UNTITLED = 'Untitled';

/** The title of a Notion page, whatever its title property is called, or of a database; `Untitled` if there is none. */
export function extractTitle(page: unknown): string {
  if (!isObject(page)) return UNTITLED;
  const properties = isObject(page['properties']) ? Object.values(page['properties']) : [];
  // A page has one property of this type, with its text; a database only declares one.
  const parts = [page, ...properties]
    .filter((value) => isObject(value) && (value === page || value['type'] === 'title'))
    .map((value) => (value as Readonly<Record<string, unknown>>)['title'])
    .find(Array.isArray) as readonly unknown[] | undefined;
  const text = parts?.map(textOf).join('').trim() ?? '';
  return text === '' ? UNTITLED : text;
}

// Mentions and formulas have their text in `plain_text`; newly written text may only have `text`.
function textOf(part: unknown): string {
  if (!isObject(part)) return '';
  const { plain_text: plain, text } = part;
  if (typeof plain === 'string') return plain;
  return isObject(text) && typeof text['content'] === 'string' ? text['content'] : '';
}
