import { isObject } from '../../base/json.ts';
import type { JsonSchema } from '../../schema/schema.ts';

const MAX_REFERENCES = 32;

/** A number or text as the schema wants it, where that loses nothing; otherwise as it is. */
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
  // Written again it must be the same text: no spaces, no exponents, no digits lost.
  if (!isExact(number) || String(number) !== value) return value;
  return types.includes('number') || (types.includes('integer') && Number.isInteger(number)) ? number : value;
}

/** The schema of a member: a schema, `false` where it is forbidden, `undefined` where nothing is said of it. */
export function memberSchema(schema: JsonSchema, member: string | number): unknown {
  if (typeof member === 'number') {
    const first = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : [];
    return member < first.length ? first[member] : schemaOr(schema['items']);
  }
  const { properties, patternProperties, additionalProperties } = schema;
  if (isObject(properties) && Object.hasOwn(properties, member)) return schemaOr(properties[member]);
  // Which pattern a name matches is for the validator to say.
  if (patternProperties !== undefined) return undefined;
  return additionalProperties === false ? false : schemaOr(additionalProperties);
}

/** The schema itself, references followed; `undefined` where there is none to read. */
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

// Only what is a schema in itself; a member whose schema is `false` is refused by the check, not dropped.
function schemaOr(schema: unknown): unknown {
  return isObject(schema) ? schema : undefined;
}

function typesOf(schema: JsonSchema | undefined): readonly unknown[] {
  const type = schema?.['type'];
  if (Array.isArray(type)) return type as unknown[];
  return type === undefined ? [] : [type];
}

// Larger whole numbers were rounded when they were read.
function isExact(number: number): boolean {
  return Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
}
