import { isObject } from '../core/json.ts';

/** One step into a value: a key, any element of a list, or the value itself as true or false. */
export type FieldStep = string | typeof anyItem | typeof asTruth;

/** Stands for whichever element an index names. */
export const anyItem = Symbol('anyItem');

/** A last step that only a value which may be true or false allows. */
export const asTruth = Symbol('asTruth');

const OPEN = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas'] as const;

/**
 * Whether a value of this schema can have the field. Only what the schema declares counts, unless it says outright that there
 * may be more; where the schema is too involved to tell, the answer is yes.
 */
export function canHaveField(schema: unknown, path: readonly FieldStep[]): boolean {
  const [step, ...rest] = path;
  if (step === undefined) return true;
  if (!isObject(schema)) return schema !== false;
  if (OPEN.some((key) => key in schema)) return true;
  if (step === asTruth) return mayBe(schema['type'], 'boolean');
  if (!mayBe(schema['type'], step === anyItem ? 'array' : 'object')) return false;
  if (step === anyItem) return 'prefixItems' in schema || canHaveField(schema['items'] ?? true, rest);
  return canHaveKey(schema, step, rest);
}

function canHaveKey(
  schema: Readonly<Record<string, unknown>>,
  key: string,
  rest: readonly FieldStep[],
): boolean {
  const { properties, patternProperties, additionalProperties = false } = schema;
  if (isObject(properties) && Object.hasOwn(properties, key)) return canHaveField(properties[key], rest);
  if (isObject(patternProperties) && Object.keys(patternProperties).length > 0) return true;
  if (properties === undefined && !('additionalProperties' in schema)) return true;
  return additionalProperties !== false && canHaveField(additionalProperties, rest);
}

function mayBe(type: unknown, wanted: string): boolean {
  return type === undefined || type === wanted || (Array.isArray(type) && type.includes(wanted));
}
