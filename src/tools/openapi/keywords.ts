import { asList, isObject } from '../../base/json.ts';
import { isLinearPattern } from '../../base/linear-pattern.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import { asObject, asText, type Json, type OpenApiDocument } from './document.ts';
import { findUnseen, plainText } from './text.ts';

/** Converts a subschema. */
export type Convert = (schema: unknown) => JsonSchema | boolean;

const MAX_EXAMPLE = 100;
const MAX_CHOICES = 200;
const MAX_WORDS = { input: 400, output: 160 };

/**
 * Converts a schema of what a caller sends: OpenAPI 3.0 rules become JSON Schema 2020-12. Keywords that the validator
 * does not know, or cannot check in linear time, are left out: the API checks them itself.
 */
export function keepForInput(schema: Json, convert: Convert, document: OpenApiDocument): JsonSchema {
  const kept: Record<string, unknown> = typesOf(schema);
  for (const [keyword, keep] of Object.entries(INPUT_KEYWORDS)) {
    const value = Object.hasOwn(schema, keyword) ? keep(schema[keyword]) : undefined;
    if (value !== undefined) kept[keyword] = value;
  }
  Object.assign(kept, limitsOf(schema), partsOf(schema, convert));
  const properties = propertiesOf(schema, convert, (part) => isMarked(part, 'readOnly', document));
  if (properties) kept['properties'] = properties;
  const required = asList(schema['required']).filter(
    (name) =>
      typeof name === 'string' && !(isObject(schema['properties']) && isHidden(name, schema, document)),
  );
  if (required.length > 0) kept['required'] = required;
  const description = inputWords(schema);
  if (description !== '') kept['description'] = description;
  return isNullable(schema) ? withNull(kept) : kept;
}

/**
 * Converts a schema of what the API returns: only names and types, because a slightly different response is still a
 * response.
 */
export function keepForOutput(schema: Json, convert: Convert, document: OpenApiDocument): JsonSchema {
  const { type } = typesOf(schema);
  const kept: Record<string, unknown> =
    type === undefined ? {} : { type: [...new Set([type, 'null'].flat())] };
  const properties = propertiesOf(schema, convert, (part) => isMarked(part, 'writeOnly', document));
  if (properties) kept['properties'] = properties;
  if (isObject(schema['items'])) kept['items'] = convert(schema['items']);
  if (isObject(schema['additionalProperties']))
    kept['additionalProperties'] = convert(schema['additionalProperties']);
  const all = schemasIn(schema['allOf'], convert);
  if (all.length > 0) kept['allOf'] = all;
  const any = [...schemasIn(schema['oneOf'], convert), ...schemasIn(schema['anyOf'], convert)];
  if (any.length > 0) kept['anyOf'] = any;
  const words = [asText(schema['description']), choicesText(schema['enum'])].filter(Boolean).join(' ');
  const description = plainText(words, MAX_WORDS.output);
  if (description !== '') kept['description'] = description;
  return kept;
}

const TYPES: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
]);
// Only the formats that all authors use in the same way.
const FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'date',
  'email',
  'uuid',
  'ipv4',
  'ipv6',
  'hostname',
  'uri',
]);

const count = (value: unknown): unknown =>
  Number.isInteger(value) && (value as number) >= 0 ? value : undefined;

// Without defaults: the validator would fill them in, and an update would overwrite other fields.
const INPUT_KEYWORDS: Readonly<Record<string, (value: unknown) => unknown>> = {
  enum: (value) => (Array.isArray(value) && value.length > 0 ? value.slice(0, 1_000) : undefined),
  const: (value) => value,
  format: (value) => (FORMATS.has(value) ? value : undefined),
  pattern: (value) =>
    typeof value === 'string' && isLinearPattern(value) && findUnseen(value) === undefined
      ? value
      : undefined,
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minProperties: count,
  maxProperties: count,
  uniqueItems: (value) => (typeof value === 'boolean' ? value : undefined),
  multipleOf: (value) => (isNumber(value) && value > 0 ? value : undefined),
  examples: (value) => (Array.isArray(value) ? exampleOf(value[0]) : undefined),
};

function typesOf({ type }: Json): { type?: unknown } {
  const types = [type].flat().filter((one) => TYPES.has(one));
  if (types.length === 0) return {};
  return { type: types.length === 1 ? types[0] : types };
}

// In 3.0 exclusive limits are booleans beside the limit; in 3.1 they are numbers.
function limitsOf(schema: Json): JsonSchema {
  const limits: Record<string, number> = {};
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const [plain, strict] = [schema[limit], schema[exclusive]];
    if (isNumber(plain)) limits[strict === true ? exclusive : limit] = plain;
    if (isNumber(strict)) limits[exclusive] = strict;
  }
  return limits;
}

function partsOf(schema: Json, convert: Convert): JsonSchema {
  const parts: Record<string, unknown> = {};
  for (const keyword of ['items', 'additionalProperties', 'not', 'propertyNames']) {
    const value = schema[keyword];
    // Without its patterns it would refuse what they allow.
    if (keyword === 'additionalProperties' && isObject(schema['patternProperties'])) continue;
    if (isObject(value) || typeof value === 'boolean') parts[keyword] = convert(value);
  }
  const prefix = schemasIn(schema['prefixItems'], convert);
  if (prefix.length > 0) parts['prefixItems'] = prefix;
  const all = schemasIn(schema['allOf'], convert);
  if (all.length > 0) parts['allOf'] = all;
  // Alternatives often overlap by mistake, and a value that fits two of them is not wrong.
  const [one, any] = [schemasIn(schema['oneOf'], convert), schemasIn(schema['anyOf'], convert)];
  if (one.length > 0 && any.length > 0) parts['allOf'] = [...all, { anyOf: one }, { anyOf: any }];
  else if (one.length + any.length > 0) parts['anyOf'] = [...one, ...any];
  return parts;
}

function schemasIn(value: unknown, convert: Convert): (JsonSchema | boolean)[] {
  return asList(value).map(convert);
}

function propertiesOf(
  { properties }: Json,
  convert: Convert,
  isLeftOut: (schema: unknown) => boolean,
): JsonSchema | undefined {
  if (!isObject(properties)) return undefined;
  const kept = Object.entries(properties).filter(([, schema]) => !isLeftOut(schema));
  return Object.fromEntries(kept.map(([name, schema]) => [name, convert(schema)]));
}

function isHidden(name: string, { properties }: Json, document: OpenApiDocument): boolean {
  return (
    Object.hasOwn(properties as object, name) && isMarked(asObject(properties)[name], 'readOnly', document)
  );
}

function isMarked(schema: unknown, mark: 'readOnly' | 'writeOnly', document: OpenApiDocument): boolean {
  if (!isObject(schema)) return false;
  if (schema[mark] === true) return true;
  return typeof schema['$ref'] === 'string' && asObject(document.find(schema['$ref']))[mark] === true;
}

function isNullable({ nullable, type }: Json): boolean {
  return nullable === true || (Array.isArray(type) && type.includes('null'));
}

function withNull(kept: Record<string, unknown>): JsonSchema {
  const { type, enum: choices } = kept;
  const isUntyped = type === undefined && (kept['allOf'] ?? kept['anyOf'] ?? kept['not']) !== undefined;
  if (isUntyped) {
    const { description, ...rest } = kept;
    return { ...(description !== undefined && { description }), anyOf: [rest, { type: 'null' }] };
  }
  return {
    ...kept,
    ...(type !== undefined && { type: [...new Set([type, 'null'].flat())] }),
    ...(Array.isArray(choices) && !choices.includes(null) && { enum: [...(choices as unknown[]), null] }),
  };
}

function inputWords(schema: Json): string {
  const { description, default: standard, example } = schema;
  const parts = [
    plainText(asText(description), MAX_WORDS.input),
    shown('Default', standard),
    Array.isArray(schema['examples']) ? '' : shown('Example', example),
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function shown(label: string, value: unknown): string {
  const [text] = exampleOf(value) ?? [];
  return text === undefined ? '' : `${label}: ${plainText(JSON.stringify(text), MAX_EXAMPLE)}.`;
}

function exampleOf(value: unknown): unknown[] | undefined {
  if (value === undefined || value === null) return undefined;
  return JSON.stringify(value).length <= MAX_EXAMPLE && findUnseen(value) === undefined ? [value] : undefined;
}

function choicesText(choices: unknown): string {
  if (!Array.isArray(choices) || choices.length === 0) return '';
  const text = choices.map((one) => JSON.stringify(one)).join(', ');
  return text.length <= MAX_CHOICES ? `Usually one of ${text}.` : '';
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}
