import { isObject } from '../base/json.ts';
import type { JsonSchema } from './schema.ts';

// Keywords that contain schemas; other values, such as a default, are left unchanged.
const ONE = new Set(['items', 'additionalProperties', 'propertyNames', 'contains', 'not']);
const MANY = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const NAMED = new Set(['properties', 'patternProperties', '$defs']);

/** A schema from a library, as its author would have written it: type and description first, no added limits. */
export function asWritten(schema: JsonSchema): JsonSchema {
  const { type, title, description, default: fallback, ...rest } = schema;
  const written: Record<string, unknown> = {};
  if (type !== undefined) written['type'] = type;
  if (title !== undefined) written['title'] = title;
  if (description !== undefined) written['description'] = description;
  for (const [keyword, value] of Object.entries(rest))
    if (!isAdded(keyword, value, type)) written[keyword] = within(keyword, value);
  if ('default' in schema) written['default'] = fallback;
  return written;
}

// Zod writes the limits of a safe integer into every whole number.
function isAdded(keyword: string, value: unknown, type: unknown): boolean {
  if (type !== 'integer') return false;
  return (
    (keyword === 'minimum' && value === Number.MIN_SAFE_INTEGER) ||
    (keyword === 'maximum' && value === Number.MAX_SAFE_INTEGER)
  );
}

function within(keyword: string, value: unknown): unknown {
  if (ONE.has(keyword)) return rewritten(value);
  if (MANY.has(keyword) && Array.isArray(value)) return value.map(rewritten);
  if (NAMED.has(keyword) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rewritten(inner)]));
  return value;
}

function rewritten(value: unknown): unknown {
  return isObject(value) ? asWritten(value) : value;
}
