import { readFileSync } from 'node:fs';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { readJson as parse } from '../../base/parse-json.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Arguments from words such as `city=Bern` and `days:=3`; what `=` gives is typed by the tool's schema. Integers that a
 * number cannot hold are `bigint` in them.
 */
export function typedArguments(words: readonly string[], schema: unknown): Json {
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {};
  const found = new Map<string, unknown>();
  for (const word of words) {
    const { key, value, isJson } = readWord(word);
    const own = properties[key];
    const read = isJson ? readJson(key, value) : typed(key, value, own);
    found.set(key, found.has(key) ? together(key, [found.get(key), read]) : read);
  }
  return Object.fromEntries(found);
}

// Other keywords that can name properties.
const OTHERS = ['additionalProperties', 'unevaluatedProperties', 'patternProperties', '$ref', '$dynamicRef'];
const INNER = ['allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas'];

/** The names that a schema of arguments lists. */
export function knownNames(schema: unknown): readonly string[] {
  return isObject(schema) && isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
}

/** Names that a schema does not list and says nothing else of; they are probably misspelt. */
export function unknownNames(args: Json, schema: unknown): readonly string[] {
  if (!isObject(schema) || [...OTHERS, ...INNER].some((keyword) => keyword in schema)) return [];
  const known = knownNames(schema);
  return Object.keys(args).filter((name) => !known.includes(name));
}

/** Arguments from a file or, for `-`, from standard input. */
export function argumentsFrom(file: string): Json {
  let value: unknown;
  try {
    value = parse(readFileSync(file === '-' ? 0 : file, 'utf8'), 'exact');
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw wrong(`${file === '-' ? 'Standard input' : file} ${reason}.`);
  }
  if (isObject(value)) return value;
  throw wrong('Arguments are a JSON object, such as {"city": "Bern"}.');
}

interface Word {
  readonly key: string;
  readonly value: string;
  readonly isJson: boolean;
}

function readWord(word: string): Word {
  const [, key, sign, value] = /^([^=:]+|[^=]+?)(:=|=)([^]*)$/.exec(word) ?? [];
  if (key === undefined || value === undefined)
    throw wrong(`"${word}" is no argument: write key=value, or key:=json.`);
  return { key, value, isJson: sign === ':=' };
}

function readJson(key: string, text: string): unknown {
  try {
    return parse(text, 'exact');
  } catch {
    throw wrong(`${key}:= takes JSON, such as ${key}:=true or ${key}:='["a"]'; for plain text use ${key}=.`);
  }
}

// A key that is there twice is a list, if the values are lists.
function together(key: string, values: readonly unknown[]): unknown {
  if (values.every(Array.isArray)) return values.flat();
  throw wrong(`${key} is there twice.`);
}

function typed(key: string, text: string, schema: unknown): unknown {
  const types = typesOf(schema);
  if (types.includes('string') || types.length === 0) return text;
  if (types.includes('null') && text === 'null') return null;
  if (types.includes('boolean') && /^(?:true|false)$/.test(text)) return text === 'true';
  if (types.includes('integer') && /^[+-]?\d+$/.test(text)) return integerOf(text);
  if (types.includes('number') && text.trim() !== '' && !Number.isNaN(Number(text))) return Number(text);
  if (types.includes('array')) return items(key, text, schema);
  if (types.includes('object') && text.startsWith('{')) return readJson(key, text);
  const wanted = types.map((type) => (/^[aio]/.test(type) ? `an ${type}` : `a ${type}`));
  throw wrong(`${key} must be ${wanted.join(' or ')}, not "${text}".`);
}

function integerOf(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function items(key: string, text: string, schema: unknown): unknown {
  if (text.startsWith('[')) return readJson(key, text);
  const of = isObject(schema) ? schema['items'] : undefined;
  return [typed(key, text, of)];
}

const ALTERNATIVES = ['anyOf', 'oneOf'] as const;

function typesOf(schema: unknown): readonly string[] {
  if (!isObject(schema)) return [];
  const { type, enum: values } = schema;
  if (type !== undefined) return [type].flat().filter((one) => typeof one === 'string');
  if (Array.isArray(values)) return [...new Set(values.map((value) => typeNameOf(value)))];
  return ALTERNATIVES.flatMap((keyword) => {
    const schemas = schema[keyword];
    return Array.isArray(schemas) ? schemas.flatMap(typesOf) : [];
  });
}

function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function wrong(text: string): ToolcribError {
  return new ToolcribError('invalid_setup', text);
}
