import { isObject } from '../../base/json.ts';
import type { JsonSchema } from '../../schema/schema.ts';

const MAX_REFERENCES = 32;

/** Converts a number or text to the type of the schema if nothing is lost; otherwise returns it unchanged. */
export function coerceScalar(value: string | number, schema: JsonSchema | undefined): unknown {
  const types = typesOf(schema);
  if (types.length === 0) return value;
  if (typeof value === 'number') {
    const isWanted = types.includes('number') || (types.includes('integer') && Number.isInteger(value));
    return !isWanted && types.includes('string') && isExact(value) ? String(value) : value;
  }
  if (types.includes('string')) return value;
  if (types.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true';
  const number = Number(value);
  // Converted back it must be the same text: no spaces, no exponents, no lost digits.
  if (!isExact(number) || String(number) !== value) return value;
  return types.includes('number') || (types.includes('integer') && Number.isInteger(number)) ? number : value;
}

/** The schema of a member: a schema, `false` if it is forbidden, `undefined` if the schema says nothing about it. */
export function memberSchema(schema: JsonSchema, member: string | number): unknown {
  if (typeof member === 'number') {
    const first = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : [];
    return member < first.length ? first[member] : schemaOr(schema['items']);
  }
  const { properties, patternProperties, additionalProperties } = schema;
  if (isObject(properties) && Object.hasOwn(properties, member)) return schemaOr(properties[member]);
  // The validator decides which pattern a name matches.
  if (patternProperties !== undefined) return undefined;
  return additionalProperties === false ? false : schemaOr(additionalProperties);
}

/** The schema with references resolved; `undefined` if there is none. */
export function resolveSchema(schema: unknown, root: JsonSchema): JsonSchema | undefined {
  let found: unknown = schema;
  for (let followed = 0; followed < MAX_REFERENCES; followed++) {
    if (!isObject(found)) return undefined;
    const { $ref } = found;
    if (typeof $ref !== 'string') return found;
    found = at(root, $ref);
  }
  return undefined;
}

function at(root: JsonSchema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  const steps = reference
    .slice(1)
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  let found: unknown = root;
  for (const step of steps) found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  return found;
}

// Only schemas that are objects; a member whose schema is `false` is refused by the check, not dropped.
function schemaOr(schema: unknown): unknown {
  return isObject(schema) ? schema : undefined;
}

function typesOf(schema: JsonSchema | undefined): readonly unknown[] {
  const type = schema?.['type'];
  if (Array.isArray(type)) return type as unknown[];
  return type === undefined ? [] : [type];
}

// Larger integers were rounded when they were parsed.
function isExact(number: number): boolean {
  return Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
}
