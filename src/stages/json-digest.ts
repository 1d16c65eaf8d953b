import { digest } from '../base/digest.ts';

// Far deeper than a message may be; what a check of the author's own makes of one could be a circle.
const MAX_DEPTH = 200;

/** The fingerprint of a value, or `undefined` where JSON could not tell it from another: a check of the author's own may turn arguments into anything. */
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
  // An object may say of itself that it is something else.
  if ('toJSON' in value) return false;
  for (const item of Object.values(value)) if (!isJson(item, depth + 1)) return false;
  return true;
}
