import { asWritten } from './as-written.ts';
import { checkSchema } from './check.ts';
import { parserOf } from './library-check.ts';
import { ToolcribError } from '../base/errors.ts';

/** A JSON Schema, as plain data; every keyword is kept. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** A schema with an object at its root, as every tool's input is. */
export interface ObjectSchema extends JsonSchema {
  readonly type: 'object';
  /** Left out only if other keywords describe the members. */
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** The result of checking a value: the value to use, or what is wrong with it. */
export type Outcome = { readonly value: unknown } | { readonly issues: readonly Issue[] };

/** One thing wrong with a value, and where. */
export interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Checks a value and fills in defaults; tenants take turns with values that take long. */
export type Parse = (value: unknown, tenant?: string) => Outcome | Promise<Outcome>;

/**
 * The part of the Standard Schema and Standard JSON Schema interfaces that Toolcrib uses (Zod, ArkType and others
 * have it).
 */
export interface SelfDescribing<In = unknown, Out = In> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Out> | Promise<StandardResult<Out>>;
    readonly types?: { readonly input: In; readonly output: Out } | undefined;
    readonly jsonSchema: {
      readonly input: (options: {
        readonly target: 'draft-2020-12';
        readonly libraryOptions?: Record<string, unknown>;
      }) => Record<string, unknown>;
      readonly output: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

type StandardResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** Anything an author may give as a schema. */
export type SchemaLike = SelfDescribing | JsonSchema;

/** A schema as read: its JSON form, and the author's own check if there is one. */
export interface ReadSchema {
  readonly json: JsonSchema;
  readonly parse?: Parse;
}

/** Reads an input schema; the JSON form always has an object at its root. */
export function readInputSchema(
  schema: SchemaLike | undefined,
): ReadSchema & { readonly json: ObjectSchema } {
  const read = readSchema(schema ?? {}, 'input');
  const json = toObjectSchema(read.json);
  checkSchema(json, 'input');
  return { ...read, json };
}

/** Reads an output schema; any root is allowed. */
export function readOutputSchema(schema: SchemaLike): ReadSchema {
  const read = readSchema(schema, 'output');
  checkSchema(read.json, 'output');
  return read;
}

/**
 * Completes a partial schema (`properties` and `required` are enough) to an object schema; every keyword is kept.
 */
export function toObjectSchema(schema: JsonSchema): ObjectSchema {
  const { type = 'object', ...rest } = schema;
  // Many clients expect `properties` even if a tool takes no arguments. Schemas with other member keywords stay as
  // written.
  const complete = MEMBERS.some((keyword) => keyword in rest)
    ? { type, ...rest }
    : { type, properties: {}, ...rest };
  requireObjectRoot(complete);
  return complete;
}

const MEMBERS = [
  'properties',
  'patternProperties',
  'propertyNames',
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'dependentSchemas',
];

/** Refuses an input schema whose root is not an object. */
export function requireObjectRoot(schema: JsonSchema): asserts schema is ObjectSchema {
  if (schema['type'] === 'object') return;
  throw new ToolcribError(
    'invalid_tool',
    `An input schema must have type "object" at its root, not ${JSON.stringify(schema['type'])}.`,
  );
}

function readSchema(schema: SchemaLike, direction: 'input' | 'output'): ReadSchema {
  if (!isSelfDescribing(schema)) return { json: requirePlain(schema) };
  const standard = schema['~standard'];
  if (!standard.jsonSchema) {
    throw new ToolcribError(
      'invalid_tool',
      `This ${standard.vendor} schema cannot describe itself as JSON Schema; pass plain JSON Schema instead.`,
    );
  }
  const { $schema: _dialect, ...json } = toJsonSchema(standard, direction);
  const written = asWritten(json);
  return { json: written, parse: parserOf(schema, written) };
}

function toJsonSchema(
  { jsonSchema, vendor }: SelfDescribing['~standard'],
  direction: 'input' | 'output',
): Record<string, unknown> {
  try {
    return jsonSchema[direction]({ target: 'draft-2020-12' });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ToolcribError(
      'invalid_tool',
      `This ${vendor} schema cannot be shown as JSON Schema: ${reason}.`,
      { cause },
    );
  }
}

function requirePlain(schema: JsonSchema): JsonSchema {
  if (typeof schema !== 'object' || Array.isArray(schema)) {
    throw new ToolcribError(
      'invalid_tool',
      `A schema must be an object, not ${JSON.stringify(schema) ?? typeof schema}.`,
    );
  }
  // Otherwise Zod fields without `z.object` would be read as unknown keywords, and nothing would be checked.
  if (Object.values(schema).some(isSelfDescribing)) {
    throw new ToolcribError(
      'invalid_tool',
      'Put the fields into an object schema, such as z.object({ ... }).',
    );
  }
  return schema;
}

function isSelfDescribing(schema: unknown): schema is SelfDescribing {
  const isHolder = (typeof schema === 'object' && schema !== null) || typeof schema === 'function';
  return isHolder && '~standard' in schema;
}
