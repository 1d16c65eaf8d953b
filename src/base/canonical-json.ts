/**
 * A value as canonical JSON (RFC 8785): the same text in whatever order its keys are. A lone surrogate, which RFC
 * 8785 does not allow, is written as its escape, so that different texts stay different; so do integers of any size,
 * given as `bigint`. Throws for numbers that JSON does not have.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${value} is not JSON.`);
  if (typeof value === 'bigint') return String(value);
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
