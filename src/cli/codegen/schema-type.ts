import { asList, isObject } from '../../base/json.ts';
import { resolverOf, type Follow, type Node } from '../../schema/references.ts';
import {
  alone,
  docComment,
  intersectionOf,
  keyOf,
  listOf,
  literalOf,
  NEVER,
  UNKNOWN,
  unionOf,
  type TypeText,
} from './type-text.ts';

/** A schema to declare as a type. */
export interface Declaration {
  readonly schema: unknown;
  readonly name: string;
  readonly doc: string;
  /** Finds a free name. */
  readonly take: (wish: string) => string;
}

/** Declares a JSON Schema (2020-12) as a TypeScript type, with a type of its own for each referenced schema. */
export function declareSchema({ schema, name, doc, take }: Declaration): string {
  if (!isObject(schema))
    return `${docComment(doc, '')}export type ${name} = ${schema === false ? 'never' : 'unknown'};\n`;
  const names = new Map<Node, string>([[schema, name]]);
  const writing: Writing = { follow: resolverOf(schema), names, take, rootName: name };
  const texts: string[] = [];
  // Referenced schemas are added while the list is being written.
  for (const [node, own] of names) {
    const about = node === schema ? doc : describe(node);
    texts.push(`${docComment(about, '')}${declare(node, own, writing)}`);
  }
  return texts.join('\n');
}

/** A name in the style of TypeScript types, from the letters and digits of a text. */
export function toTypeName(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}

interface Writing {
  readonly follow: Follow;
  readonly names: Map<Node, string>;
  readonly take: Declaration['take'];
  readonly rootName: string;
}

/** The position of a type. */
interface Spot extends Writing {
  readonly indent: string;
  readonly depth: number;
  /** The declaration it is directly part of, with no property or item between: there it must not refer to itself. */
  readonly within: Node | undefined;
}

const MAX_DEPTH = 64;
const COMPOSED = ['$ref', 'enum', 'const', 'allOf', 'anyOf', 'oneOf', 'nullable'];

function declare(node: Node, name: string, writing: Writing): string {
  const spot: Spot = { ...writing, indent: '', depth: 0, within: node };
  const isPlain = node['type'] === 'object' && !COMPOSED.some((keyword) => keyword in node);
  if (isPlain) return `export interface ${name} ${objectType(node, spot).text}\n`;
  return `export type ${name} = ${typeOf(node, spot).text};\n`;
}

function typeOf(schema: unknown, spot: Spot): TypeText {
  if (schema === false) return NEVER;
  if (!isObject(schema) || spot.depth > MAX_DEPTH) return UNKNOWN;
  const inside: Spot = { ...spot, depth: spot.depth + 1 };
  const each = (schemas: unknown): readonly TypeText[] => asList(schemas).map((one) => typeOf(one, inside));
  const eitherOf = (schemas: unknown): readonly TypeText[] =>
    Array.isArray(schemas) ? [unionOf(each(schemas))] : [];
  const whole = intersectionOf([
    ...(typeof schema['$ref'] === 'string' ? [referenceType(schema['$ref'], spot)] : []),
    ownType(schema, inside),
    ...each(schema['allOf']),
    ...eitherOf(schema['anyOf']),
    ...eitherOf(schema['oneOf']),
  ]);
  return schema['nullable'] === true ? unionOf([whole, alone('null')]) : whole;
}

function referenceType(pointer: string, { follow, names, take, rootName, within }: Spot): TypeText {
  const target = follow(pointer);
  if (target === false) return NEVER;
  if (!isObject(target)) return UNKNOWN;
  // TypeScript refuses a type that directly refers to itself.
  if (within && leadsTo(target, within, follow)) return UNKNOWN;
  let name = names.get(target);
  if (name === undefined) {
    name = take(`${rootName}${toTypeName(pointer.split(/[/#]/).at(-1) ?? '') || 'Part'}`);
    names.set(target, name);
  }
  return alone(name);
}

function leadsTo(from: Node, to: Node, follow: Follow): boolean {
  const seen = new Set<unknown>();
  const waiting: unknown[] = [from];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (node === to) return true;
    if (!isObject(node) || seen.has(node)) continue;
    seen.add(node);
    if (typeof node['$ref'] === 'string') waiting.push(follow(node['$ref']));
    waiting.push(...['allOf', 'anyOf', 'oneOf'].flatMap((keyword) => asList(node[keyword])));
  }
  return false;
}

function ownType(node: Node, spot: Spot): TypeText {
  if ('const' in node) return literalOf(node['const']);
  if (Array.isArray(node['enum'])) return unionOf(node['enum'].map(literalOf));
  const types = node['type'] === undefined ? impliedTypes(node) : [node['type']].flat();
  return types.length === 0 ? UNKNOWN : unionOf(types.map((type) => namedType(type, node, spot)));
}

function impliedTypes(node: Node): readonly string[] {
  const has = (...keywords: readonly string[]): boolean => keywords.some((keyword) => keyword in node);
  if (has('properties', 'required', 'additionalProperties', 'patternProperties')) return ['object'];
  return has('items', 'prefixItems') ? ['array'] : [];
}

function namedType(type: unknown, node: Node, spot: Spot): TypeText {
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return alone(type);
    case 'integer':
      return alone('number');
    case 'array':
      return arrayType(node, { ...spot, within: undefined });
    case 'object':
      return objectType(node, spot);
    default:
      return UNKNOWN;
  }
}

function arrayType(node: Node, spot: Spot): TypeText {
  const { items, prefixItems, additionalItems, minItems } = node;
  // Earlier drafts write a tuple as a list of items.
  const first: unknown = Array.isArray(items) ? items : prefixItems;
  const rest = Array.isArray(items) ? additionalItems : items;
  if (!Array.isArray(first) || first.length === 0)
    return rest === false ? alone('[]') : listOf(typeOf(rest, spot));
  // The author of a tuple usually means all of it.
  const needed = typeof minItems === 'number' ? minItems : first.length;
  const parts = first.map((item: unknown, index) => {
    const { text, binds } = typeOf(item, spot);
    if (index < needed) return text;
    return `${binds === 'alone' ? text : `(${text})`}?`;
  });
  if (rest !== false) parts.push(`...${listOf(typeOf(rest, spot)).text}`);
  return alone(`[${parts.join(', ')}]`);
}

function objectType(node: Node, spot: Spot): TypeText {
  const indent = `${spot.indent}  `;
  const inside: Spot = { ...spot, indent, within: undefined };
  const properties = isObject(node['properties']) ? node['properties'] : {};
  const required = new Set(asList(node['required']));
  const members = Object.entries(properties).map(([name, schema]) => {
    const mark = required.has(name) ? '' : '?';
    return `${docComment(describe(schema), indent)}${indent}${keyOf(name)}${mark}: ${typeOf(schema, inside).text};\n`;
  });
  for (const name of required)
    if (typeof name === 'string' && !Object.hasOwn(properties, name))
      members.push(`${indent}${keyOf(name)}: unknown;\n`);
  const rest = restType(node, members.length > 0, inside);
  if (rest) members.push(`${indent}[key: string]: ${rest.text};\n`);
  return alone(`{\n${members.join('')}${spot.indent}}`);
}

// The type of further properties; beside named ones TypeScript needs a type that includes all of them.
function restType(node: Node, hasMembers: boolean, spot: Spot): TypeText | undefined {
  const { additionalProperties: additional, patternProperties: byPattern } = node;
  const patterns = isObject(byPattern) ? Object.values(byPattern) : [];
  const isSilent = additional === undefined || additional === false;
  if (hasMembers) return isSilent && patterns.length === 0 ? undefined : UNKNOWN;
  const types = patterns.map((schema) => typeOf(schema, spot));
  return unionOf([...types, additional === undefined ? UNKNOWN : typeOf(additional, spot)]);
}

function describe(schema: unknown): string {
  if (!isObject(schema)) return '';
  const { description, title, deprecated } = schema;
  const text = [description, title].find((one) => typeof one === 'string') ?? '';
  const fallback = 'default' in schema ? `@default ${JSON.stringify(schema['default'])}` : '';
  return [text, fallback, deprecated === true ? '@deprecated' : ''].filter(Boolean).join('\n');
}
