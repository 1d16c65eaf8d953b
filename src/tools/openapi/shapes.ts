import { asList } from '../../base/json.ts';
import type { JsonSchema, ObjectSchema } from '../../schema/schema.ts';
import { asObject } from './document.ts';
import type { OpenApiBody, OpenApiOperation, OpenApiParameter } from './operation.ts';
import { UNSHOWN, type OpenApiSchemas } from './schemas.ts';
import { plainText } from './text.ts';

/** The schema of an operation's response, and whether it is wrapped under `result` because it is no object. */
export interface AnswerShape {
  readonly schema: JsonSchema;
  readonly isWrapped: boolean;
}

// In characters. A model reads the schemas of all tools it is offered; a response can also be read when it arrives.
const MAX_INPUT = 24_000;
const MAX_OUTPUT = 3_000;
const MAX_NAMES = 200;

/** The arguments of an operation: its parameters by name, and `body`. */
export function inputSchemaOf({ parameters, body }: OpenApiOperation, schemas: OpenApiSchemas): ObjectSchema {
  const properties: Record<string, JsonSchema> = Object.fromEntries(
    parameters.map((one) => [one.property, described(bounded(schemas.convert(one.schema)), wordsOf(one))]),
  );
  if (body)
    properties[body.property] = described(
      body.schema === undefined ? UNSHOWN : bounded(schemas.convert(body.schema)),
      bodyWords(body),
    );
  const required = [...parameters, ...(body ? [body] : [])].filter(({ isRequired }) => isRequired);
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required: required.map(({ property }) => property) }),
    additionalProperties: false,
    ...schemas.definitionsOf(properties, MAX_INPUT - JSON.stringify(properties).length),
  };
}

/** The response of an operation as an object; `undefined` if no JSON is described. */
export function outputSchemaOf(
  { answer }: OpenApiOperation,
  schemas: OpenApiSchemas,
): AnswerShape | undefined {
  if (answer === undefined) return undefined;
  const converted = bounded(schemas.convert(answer), MAX_OUTPUT);
  const whole = schemas.unfold(converted);
  const isWrapped = !describesObject(whole, schemas);
  const root = isWrapped
    ? { properties: { result: converted } }
    : bounded(flattened(whole, schemas), MAX_OUTPUT);
  const left = MAX_OUTPUT - JSON.stringify(root).length;
  return { schema: { ...root, type: 'object', ...schemas.definitionsOf(root, left) }, isWrapped };
}

// Some clients refuse alternatives at the root, so the fields of all parts are merged.
function flattened(schema: JsonSchema, schemas: OpenApiSchemas): JsonSchema {
  const properties = new Map<string, unknown>();
  const collect = (part: JsonSchema, depth: number): void => {
    for (const [name, inner] of Object.entries(asObject(part['properties'])))
      properties.set(name, properties.has(name) && properties.get(name) !== inner ? {} : inner);
    if (depth > 8) return;
    for (const branch of [...asList(part['allOf']), ...asList(part['anyOf'])])
      collect(schemas.unfold(asObject(branch)), depth + 1);
  };
  collect(schema, 0);
  const { description, additionalProperties } = schema;
  const isOpen = typeof additionalProperties === 'object' && properties.size === 0;
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    ...(properties.size > 0 && { properties: Object.fromEntries(properties) }),
    ...(isOpen && { additionalProperties }),
  };
}

function bounded(schema: JsonSchema, maxLength = MAX_INPUT / 2): JsonSchema {
  return JSON.stringify(schema).length <= maxLength ? schema : cut(schema);
}

// The names on the first level say most.
function cut({ type, description, properties }: JsonSchema): JsonSchema {
  const names = Object.keys(asObject(properties)).slice(0, MAX_NAMES);
  return {
    ...(type !== undefined && { type }),
    description: description ?? UNSHOWN['description'],
    ...(names.length > 0 && { properties: Object.fromEntries(names.map((name) => [name, {}])) }),
  };
}

function described(schema: JsonSchema, words: string): JsonSchema {
  const { description: inner } = schema;
  const own = typeof inner === 'string' ? inner : '';
  if (own === '' || words.startsWith(own)) return { ...schema, description: words };
  // The schema's own text may hold a default or an example, which the parameter's description lacks.
  const extra = /(?:^| )((?:Default|Example): .*)$/.exec(own)?.[1] ?? '';
  return { ...schema, description: extra === '' ? words : `${words} ${extra}` };
}

function wordsOf({ description, name, in: place }: OpenApiParameter): string {
  return plainText(description) || `${name}, part of the ${place === 'header' ? 'headers' : place}.`;
}

function bodyWords({ description, encoding }: OpenApiBody): string {
  const words = plainText(description);
  if (encoding === 'base64') return `The bytes to send, in base64${words === '' ? '.' : `: ${words}`}`;
  return words || (encoding === 'text' ? 'The text to send.' : 'The JSON body to send.');
}

function describesObject(schema: JsonSchema, schemas: OpenApiSchemas, depth = 0): boolean {
  if (depth > 8) return false;
  const { type, properties, additionalProperties, allOf, anyOf } = schema;
  if (type !== undefined) return [type].flat().includes('object');
  if (properties !== undefined || typeof additionalProperties === 'object') return true;
  const is = (part: unknown): boolean => describesObject(schemas.unfold(asObject(part)), schemas, depth + 1);
  if (asList(allOf).length > 0) return asList(allOf).some(is);
  return asList(anyOf).length > 0 && asList(anyOf).every(is);
}
