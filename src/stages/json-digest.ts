import { digest } from '../base/digest.ts';

// Far deeper than a message may be; an author's schema may return a circular value.
const MAX_DEPTH = 200;

/**
 * The digest of a value, or `undefined` if JSON cannot represent it: an author's schema may turn arguments into
 * anything.
 */
export function jsonDigest(value: unknown): string | undefined {
  return isJson(value, 0) ? digest(value) : undefined;
}

function isJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      return value === null || (depth < MAX_DEPTH && isJsonObject(value, depth));
    default:
      return false;
  }
}

function isJsonObject(value: object, depth: number): boolean {
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Date.prototype) return Number.isFinite((value as Date).getTime());
  if (prototype !== Object.prototype && prototype !== null) return false;
  // toJSON may return something else.
  if ('toJSON' in value) return false;
  for (const item of Object.values(value)) if (!isJson(item, depth + 1)) return false;
  return true;
}
