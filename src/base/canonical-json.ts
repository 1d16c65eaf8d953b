/**
 * A value as JSON text, the same however its keys are ordered (RFC 8785). Half a character, which that form has no place for, is written as its
 * escape, so that any text a message can hold is told from every other. Throws for numbers that JSON does not have.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${value} is not JSON.`);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  if (writesItself(value)) return canonicalJson(value.toJSON());
  return Array.isArray(value) ? listText(value) : objectText(value as Readonly<Record<string, unknown>>);
}

function listText(list: readonly unknown[]): string {
  return `[${list.map((item) => canonicalJson(item ?? null)).join(',')}]`;
}

function objectText(object: Readonly<Record<string, unknown>>): string {
  let text = '';
  for (const key of Object.keys(object).toSorted()) {
    const value = object[key];
    if (value !== undefined)
      text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(value)}`;
  }
  return `{${text}}`;
}

function writesItself(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
