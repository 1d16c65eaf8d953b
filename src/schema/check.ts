import { ToolcribError } from '../base/errors.ts';
import { isDeeperThan, isObject } from '../base/json.ts';
import { linearPattern } from '../base/linear-pattern.ts';
import { checkReferences } from './references.ts';

const LIMITS = { bytes: 65_536, depth: 32, nodes: 2_000, dataDepth: 128 };

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const DIALECTS = new Set([
  'https://json-schema.org/draft/2020-12/schema',
  'http://json-schema.org/draft-07/schema#',
]);

type Shape =
  | 'schema'
  | 'schemas'
  | 'schemaMap'
  | 'string'
  | 'number'
  | 'positive'
  | 'count'
  | 'boolean'
  | 'array'
  | 'choices'
  | 'strings'
  | 'stringsMap'
  | 'pattern'
  | 'type'
  | 'ref'
  | 'dialect'
  | 'anchor'
  | 'patternMap';

const KEYWORDS: Readonly<Record<string, Shape>> = {
  $schema: 'dialect',
  $ref: 'ref',
  $anchor: 'anchor',
  $comment: 'string',
  $defs: 'schemaMap',
  definitions: 'schemaMap',
  type: 'type',
  enum: 'choices',
  title: 'string',
  description: 'string',
  format: 'string',
  pattern: 'pattern',
  minLength: 'count',
  maxLength: 'count',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'positive',
  minItems: 'count',
  maxItems: 'count',
  minContains: 'count',
  maxContains: 'count',
  minProperties: 'count',
  maxProperties: 'count',
  uniqueItems: 'boolean',
  deprecated: 'boolean',
  readOnly: 'boolean',
  writeOnly: 'boolean',
  required: 'strings',
  dependentRequired: 'stringsMap',
  examples: 'array',
  properties: 'schemaMap',
  patternProperties: 'patternMap',
  dependentSchemas: 'schemaMap',
  additionalProperties: 'schema',
  unevaluatedProperties: 'schema',
  unevaluatedItems: 'schema',
  propertyNames: 'schema',
  items: 'schema',
  prefixItems: 'schemas',
  contains: 'schema',
  not: 'schema',
  if: 'schema',
  then: 'schema',
  else: 'schema',
  allOf: 'schemas',
  anyOf: 'schemas',
  oneOf: 'schemas',
};

const USE_DEFS = 'use "$defs" with "$ref": "#/$defs/name"';

// The validator would act on each of these: fetch other schemas, never end, or accept everything.
const REFUSED: Readonly<Record<string, string>> = {
  $id: USE_DEFS,
  id: USE_DEFS,
  $dynamicRef: USE_DEFS,
  $dynamicAnchor: USE_DEFS,
  $recursiveRef: USE_DEFS,
  $recursiveAnchor: USE_DEFS,
  $data: 'write the value itself',
  $async: 'leave it out',
  dependencies: 'use "dependentRequired" or "dependentSchemas"',
};

/** Refuses a schema that is invalid, too large, refers outside itself or cannot be checked in linear time. */
export function checkSchema(schema: object, label: string): void {
  if (checked.has(schema)) return;
  const size = sizeOf(schema, label);
  if (size > LIMITS.bytes) refuse(label, `is ${size} characters long; the limit is ${LIMITS.bytes}`);
  if (isDeeperThan(LIMITS.dataDepth, schema))
    refuse(label, `holds data nested deeper than ${LIMITS.dataDepth} levels`);
  const walk: Walk = { nodes: 0, depth: 0, subschemas: new Set() };
  checkNode(schema, label, walk);
  const problem = checkReferences(schema, walk.subschemas);
  if (problem) refuse(label, problem);
  checked.add(schema);
}

const checked = new WeakSet<object>();

interface Walk {
  nodes: number;
  depth: number;
  readonly subschemas: Set<Record<string, unknown>>;
}

function sizeOf(schema: object, label: string): number {
  try {
    return JSON.stringify(schema).length;
  } catch {
    refuse(label, 'must be plain JSON data, without circles and big integers');
  }
}

function checkNode(node: unknown, path: string, walk: Walk): void {
  if (typeof node === 'boolean') return;
  if (!isObject(node)) refuse(path, `must be a schema (an object, true or false), not ${describe(node)}`);
  if ('~standard' in node) refuse(path, 'must be plain JSON Schema, like the schema around it');
  if (++walk.nodes > LIMITS.nodes) refuse(path, `is part of a schema with over ${LIMITS.nodes} subschemas`);
  if (++walk.depth > LIMITS.depth) refuse(path, `is nested deeper than ${LIMITS.depth} levels`);
  walk.subschemas.add(node);
  for (const [keyword, value] of Object.entries(node)) {
    if (Object.hasOwn(REFUSED, keyword))
      refuse(`${path}.${keyword}`, `is not supported: ${REFUSED[keyword]}`);
    const shape = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
    if (shape) checks[shape](value, `${path}.${keyword}`, walk);
  }
  if (isUnclearAboutNull(node))
    refuse(`${path}.nullable`, 'is not supported like this: write "type": ["string", "null"]');
  walk.depth--;
}

// The validator reads `nullable`, although JSON Schema has no such keyword.
function isUnclearAboutNull({ type, nullable }: Record<string, unknown>): boolean {
  if (nullable === undefined) return false;
  return type === undefined || (nullable === false && [type].flat().includes('null'));
}

const checks: Record<Shape, (value: unknown, path: string, walk: Walk) => void> = {
  schema: checkNode,
  schemas(value, path, walk) {
    if (!Array.isArray(value) || value.length === 0) refuse(path, 'must be a list of at least one schema');
    value.forEach((item, index) => checkNode(item, `${path}[${index}]`, walk));
  },
  schemaMap(value, path, walk) {
    if (!isObject(value)) refuse(path, `must be an object of schemas by name, not ${describe(value)}`);
    for (const [name, item] of Object.entries(value)) checkNode(item, `${path}.${name}`, walk);
  },
  patternMap(value, path, walk) {
    checks.schemaMap(value, path, walk);
    for (const pattern of Object.keys(value as object)) checks.pattern(pattern, path, walk);
  },
  string(value, path) {
    if (typeof value !== 'string') refuse(path, `must be a string, not ${describe(value)}`);
  },
  number(value, path) {
    if (typeof value !== 'number' || !Number.isFinite(value))
      refuse(path, `must be a number, not ${describe(value)}`);
  },
  positive(value, path) {
    if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0)
      refuse(path, `must be a number above 0, not ${describe(value)}`);
  },
  count(value, path) {
    if (!Number.isInteger(value) || (value as number) < 0)
      refuse(path, `must be a whole number from 0, not ${describe(value)}`);
  },
  boolean(value, path) {
    if (typeof value !== 'boolean') refuse(path, `must be true or false, not ${describe(value)}`);
  },
  array(value, path) {
    if (!Array.isArray(value)) refuse(path, `must be a list, not ${describe(value)}`);
  },
  choices(value, path) {
    if (!Array.isArray(value) || value.length === 0) refuse(path, 'must be a list of at least one value');
  },
  strings(value, path) {
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) {
      refuse(path, `must be a list of names, not ${describe(value)}`);
    }
  },
  stringsMap(value, path, walk) {
    if (!isObject(value)) refuse(path, `must be an object of lists by name, not ${describe(value)}`);
    for (const [name, item] of Object.entries(value)) checks.strings(item, `${path}.${name}`, walk);
  },
  type(value, path) {
    const types: readonly unknown[] = Array.isArray(value) ? value : [value];
    const unknown = types.find((type) => !TYPES.has(type as string));
    if (types.length === 0 || unknown !== undefined) {
      refuse(path, `must be one of ${[...TYPES].join(', ')}, not ${describe(unknown)}`);
    }
  },
  pattern(value, path) {
    if (typeof value !== 'string') refuse(path, `must be a string, not ${describe(value)}`);
    try {
      linearPattern(value);
    } catch {
      refuse(
        path,
        `is not a pattern that can be checked in linear time (no look-around, no back-references): ${value}`,
      );
    }
  },
  ref(value, path) {
    if (typeof value !== 'string' || !value.startsWith('#')) {
      refuse(path, `must point inside this schema ("#/$defs/name"); nothing is fetched: ${describe(value)}`);
    }
  },
  dialect(value, path) {
    if (!DIALECTS.has(value as string)) refuse(path, `must be one of ${[...DIALECTS].join(', ')}`);
  },
  anchor(value, path) {
    if (typeof value !== 'string' || !/^[A-Za-z_][\w.-]*$/.test(value))
      refuse(path, `must be a name of letters, digits, "_", "-" and ".", not ${describe(value)}`);
  },
};

function refuse(path: string, problem: string): never {
  throw new ToolcribError('invalid_tool', `The schema at ${path} ${problem}.`);
}

function describe(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? typeof value;
}
