import { isObject } from '../../base/json.ts';
import type { JsonSchema, ObjectSchema } from '../../schema/schema.ts';

type Properties = Record<string, unknown>;

/**
 * An input schema as model APIs take it: an object at its root, without alternatives there and without `$schema`.
 * It allows at least what the tool's own schema allows, which the arguments are checked against.
 */
export function toModelSchema(schema: JsonSchema): ObjectSchema {
  const { $schema: _dialect, $id: _id, $ref, not: _not, ...rest } = schema;
  const root = typeof $ref === 'string' ? { ...target($ref, schema), ...rest } : rest;
  const { anyOf, oneOf, allOf, if: _if, then: _then, else: _else, ...plain } = root;
  const lists = [anyOf, oneOf, allOf].filter((list): list is unknown[] => Array.isArray(list));
  const all = alternatives(allOf, schema);
  const any = [...alternatives(anyOf, schema), ...alternatives(oneOf, schema)];
  const properties = [plain, ...all, ...any].reduce(addProperties, {});
  if (lists.length === 0) return { ...plain, type: 'object', properties };
  const required = requiredOf([plain, ...all], any);
  const { required: _required, additionalProperties: _additional, ...others } = plain;
  return { ...others, type: 'object', properties, ...(required.length > 0 && { required }) };
}

/** Whether a schema names every member and forbids others everywhere, as strict output wants it. */
export function isStrictSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema);
  if (!isObject(schema)) return true;
  const { properties, required, additionalProperties, type } = schema;
  if (type === 'object' || isObject(properties)) {
    const names = isObject(properties) ? Object.keys(properties) : [];
    const isClosed = additionalProperties === false && Array.isArray(required);
    if (!isClosed || !names.every((name) => required.includes(name))) return false;
  }
  return Object.values(schema).every((part) => typeof part !== 'object' || isStrictSchema(part));
}

function alternatives(list: unknown, root: JsonSchema): JsonSchema[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isObject).map((part) => {
    const ref = part['$ref'];
    return typeof ref === 'string' ? { ...target(ref, root), ...part } : part;
  });
}

// Only definitions at the root are looked up; elsewhere a reference stays what it is.
function target(ref: string, root: JsonSchema): JsonSchema {
  const [, holder, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const found = holder !== undefined && isObject(root[holder]) ? root[holder][name!] : undefined;
  return isObject(found) ? found : {};
}

function addProperties(sum: Properties, { properties }: JsonSchema): Properties {
  if (!isObject(properties)) return sum;
  const added = Object.entries(properties).map(([name, schema]): [string, unknown] => {
    const known = Object.hasOwn(sum, name) ? sum[name] : undefined;
    if (known === undefined || JSON.stringify(known) === JSON.stringify(schema)) return [name, schema];
    return [name, { anyOf: [known, schema] }];
  });
  return Object.fromEntries([...Object.entries(sum), ...added]);
}

function requiredOf(always: readonly JsonSchema[], any: readonly JsonSchema[]): string[] {
  const names = (schema: JsonSchema): string[] =>
    Array.isArray(schema['required']) ? schema['required'].filter((name) => typeof name === 'string') : [];
  const [first, ...others] = any.map(names);
  const common = (first ?? []).filter((name) => others.every((list) => list.includes(name)));
  return [...new Set([...always.flatMap(names), ...common])];
}
