import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { JsonSchema } from './schema.ts';

/** An argument that clients repeat in an HTTP header, so that a proxy can read it without the body. */
export interface Mirror {
  readonly header: string;
  readonly path: readonly string[];
}

/** The arguments a schema mirrors into headers with `x-mcp-header`; throws for an invalid annotation. */
export function mirrorsOf(inputSchema: JsonSchema): readonly Mirror[] {
  let mirrors = known.get(inputSchema);
  if (!mirrors) {
    mirrors = collect(inputSchema, [], new Set());
    if (mirrors.length !== countAnnotations(inputSchema)) {
      refuse('x-mcp-header may only stand on properties reached from the root through "properties" alone.');
    }
    known.set(inputSchema, mirrors);
  }
  return mirrors;
}

const known = new WeakMap<JsonSchema, readonly Mirror[]>();
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MIRRORED_TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

function collect(schema: JsonSchema, path: readonly string[], names: Set<string>): Mirror[] {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  return Object.entries(properties).flatMap(([key, property]) => {
    if (!isObject(property)) return [];
    const here = [...path, key];
    const nested = collect(property, here, names);
    const header = property['x-mcp-header'];
    if (header === undefined) return nested;
    const where = `x-mcp-header at ${here.join('.')}`;
    if (typeof header !== 'string' || !TOKEN.test(header)) refuse(`${where} must be a header name.`);
    if (!MIRRORED_TYPES.has(property['type']))
      refuse(`${where} needs a property of type string, integer or boolean.`);
    if (names.has(header.toLowerCase())) refuse(`${where} repeats the name "${header}".`);
    names.add(header.toLowerCase());
    return [{ header, path: here }, ...nested];
  });
}

function countAnnotations(node: unknown): number {
  if (Array.isArray(node)) return node.reduce<number>((sum, item) => sum + countAnnotations(item), 0);
  if (!isObject(node)) return 0;
  return Object.entries(node).reduce(
    // A property may itself be named x-mcp-header; only a string value is an annotation.
    (sum, [key, value]) => sum + (key === 'x-mcp-header' && !isObject(value) ? 1 : countAnnotations(value)),
    0,
  );
}

function refuse(text: string): never {
  throw new ToolcribError('invalid_tool', text);
}
