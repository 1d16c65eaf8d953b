import { isObject } from '../base/json.ts';

/**
 * Whether a value fits a schema, as far as that can be told without the whole validator, which takes longer to load
 * than a call takes. `undefined` where the schema says anything that is not looked at here.
 */
export function fitsPlainly(schema: unknown, value: unknown, depth = 0): boolean | undefined {
  if (schema === true) return true;
  if (!isObject(schema) || depth > MAX_DEPTH || typeof value === 'bigint') return undefined;
  let fits: boolean | undefined = true;
  for (const keyword of Object.keys(schema)) {
    const check = CHECKS[keyword];
    if (!check) return undefined;
    const found = check(value, schema, depth);
    if (found === undefined) return undefined;
    fits &&= found;
  }
  return fits;
}

const MAX_DEPTH = 32;

type Schema = Readonly<Record<string, unknown>>;
type Check = (value: unknown, schema: Schema, depth: number) => boolean | undefined;

const says: Check = () => true;

const CHECKS: Readonly<Record<string, Check | undefined>> = {
  __proto__: null as never,
  title: says,
  description: says,
  default: says,
  examples: says,
  $comment: says,
  $schema: (_, { $schema }) => ($schema === DRAFT_2020 || $schema === DRAFT_7 ? true : undefined),
  type: (value, { type }) =>
    typeof type === 'string'
      ? isOf(type, value)
      : anyOf(Array.isArray(type) ? type.map((each) => isOf(each, value)) : [undefined]),
  enum: (value, { enum: values }) => (Array.isArray(values) ? isAmong(value, values) : undefined),
  const: (value, schema) => isAmong(value, [schema['const']]),
  required: (value, { required }) =>
    Array.isArray(required)
      ? !isObject(value) || required.every((name) => Object.hasOwn(value, String(name)))
      : undefined,
  properties: (value, { properties }, depth) => {
    if (!isObject(properties)) return undefined;
    if (!isObject(value)) return true;
    const members = Object.entries(properties).map(([name, schema]) => {
      if (Object.hasOwn(value, name)) return fitsPlainly(schema, value[name], depth + 1);
      // The validator fills defaults in, and checks them; what is filled in may be filled in again.
      if (!isObject(schema) || !('default' in schema)) return true;
      const { default: filled } = schema;
      return typeof filled === 'object' && filled !== null
        ? undefined
        : fitsPlainly(schema, filled, depth + 1);
    });
    return allOf(members);
  },
  additionalProperties: (value, { additionalProperties: more, properties }) => {
    if (more === true) return true;
    if (more !== false || !(isObject(properties) || properties === undefined)) return undefined;
    return !isObject(value) || Object.keys(value).every((name) => Object.hasOwn(properties ?? {}, name));
  },
  items: (value, { items }, depth) =>
    Array.isArray(value) ? allOf(value.map((item) => fitsPlainly(items, item, depth + 1))) : true,
  minItems: atLeast('minItems', (value) => (Array.isArray(value) ? value.length : undefined)),
  maxItems: atMost('maxItems', (value) => (Array.isArray(value) ? value.length : undefined)),
  minLength: atLeast('minLength', (value) =>
    typeof value === 'string' ? Array.from(value).length : undefined,
  ),
  maxLength: atMost('maxLength', (value) =>
    typeof value === 'string' ? Array.from(value).length : undefined,
  ),
  minimum: atLeast('minimum', (value) => (typeof value === 'number' ? value : undefined)),
  maximum: atMost('maximum', (value) => (typeof value === 'number' ? value : undefined)),
};

const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';
const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';

function isOf(type: unknown, value: unknown): boolean | undefined {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'string':
    case 'boolean':
      return typeof value === type;
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return undefined;
  }
}

// Lists and groups would have to be compared member by member.
function isAmong(value: unknown, values: readonly unknown[]): boolean | undefined {
  if (values.some((each) => typeof each === 'object' && each !== null)) return undefined;
  return values.includes(value);
}

function atLeast(keyword: string, measure: (value: unknown) => number | undefined): Check {
  return (value, schema) => {
    const [limit, size] = [schema[keyword], measure(value)];
    if (typeof limit !== 'number') return undefined;
    return size === undefined || size >= limit;
  };
}

function atMost(keyword: string, measure: (value: unknown) => number | undefined): Check {
  return (value, schema) => {
    const [limit, size] = [schema[keyword], measure(value)];
    if (typeof limit !== 'number') return undefined;
    return size === undefined || size <= limit;
  };
}

function allOf(found: readonly (boolean | undefined)[]): boolean | undefined {
  if (found.includes(undefined)) return undefined;
  return !found.includes(false);
}

function anyOf(found: readonly (boolean | undefined)[]): boolean | undefined {
  if (found.includes(undefined)) return undefined;
  return found.includes(true);
}
