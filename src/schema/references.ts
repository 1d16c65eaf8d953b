import { asList, isObject } from '../base/json.ts';

// How many subschemas may apply to one value: shared references can double at every level.
const MAX_APPLIED = 5_000;

/** A schema that is an object. */
export type Node = Readonly<Record<string, unknown>>;

/** Resolves a reference; `undefined` if its target does not exist. */
export type Follow = (pointer: string) => unknown;

/**
 * Finds a reference that has no target, never ends or multiplies too often; returns the complaint. `subschemas`
 * are the places where a schema may stand: only those were checked.
 */
export function checkReferences(root: unknown, subschemas: ReadonlySet<Node>): string | undefined {
  const anchors = new Map<string, Node>();
  for (const node of subschemas) {
    if (!('$anchor' in node)) continue;
    const anchor = `#${String(node['$anchor'])}`;
    if (anchors.has(anchor)) return `names two places ${anchor}`;
    anchors.set(anchor, node);
  }
  const follow = (pointer: string): unknown => {
    const target = isPointer(pointer) ? resolvePointer(root, pointer) : anchors.get(pointer);
    return typeof target === 'boolean' || subschemas.has(target as Node) ? target : undefined;
  };

  const costs = new Map<Node, number>();
  for (const node of subschemas) {
    const problem = measure(node, { follow, costs });
    if (typeof problem === 'string') return problem;
  }
  return undefined;
}

/** Makes a function that resolves the references of a checked schema. */
export function resolverOf(root: Node): Follow {
  const anchors = new Map<string, Node>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (isObject(value) && typeof value['$anchor'] === 'string') anchors.set(`#${value['$anchor']}`, value);
    Object.values(value).forEach(collect);
  };
  collect(root);
  return (pointer) => (isPointer(pointer) ? resolvePointer(root, pointer) : anchors.get(pointer));
}

/** The same schema for another place: its references to itself lead to where it stands now, such as `#/anyOf/0`. */
export function moveReferences(node: unknown, place: string): unknown {
  if (Array.isArray(node)) return node.map((item) => moveReferences(item, place));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      const isOwn = key === '$ref' && typeof value === 'string' && isPointer(value);
      return [key, isOwn ? `${place}${value.slice(1)}` : moveReferences(value, place)];
    }),
  );
}

interface Measuring {
  readonly follow: Follow;
  readonly costs: Map<Node, number>;
}

// Counts the schemas that apply to the same value as `node`; recursion through properties and items is bounded by
// the value.
function measure(node: Node, measuring: Measuring): number | string {
  const known = measuring.costs.get(node);
  if (known === -1) return 'has a reference that leads back to itself with no property or item between';
  if (known !== undefined) return known;
  measuring.costs.set(node, -1);

  let total = 1;
  for (const next of appliedInPlace(node, measuring.follow)) {
    if (typeof next === 'string') return `points at nothing: ${next}`;
    const cost = measure(next, measuring);
    if (typeof cost === 'string') return cost;
    total += cost;
  }
  if (total > MAX_APPLIED)
    return `applies over ${MAX_APPLIED} subschemas to one value; use fewer nested references`;
  measuring.costs.set(node, total);
  return total;
}

/** The schemas that apply to the same value as `node`, and its references without a target. */
export function appliedInPlace(node: Node, follow: Follow): (Node | string)[] {
  const applied: unknown[] = [node['not'], node['if'], node['then'], node['else']];
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) applied.push(...asList(node[keyword]));
  if (isObject(node['dependentSchemas'])) applied.push(...Object.values(node['dependentSchemas']));
  const found: (Node | string)[] = applied.filter(isObject);
  if (typeof node['$ref'] === 'string') {
    const target = follow(node['$ref']);
    if (isObject(target)) found.push(target);
    else if (target === undefined) found.push(node['$ref']);
  }
  return found;
}

function resolvePointer(root: unknown, pointer: string): unknown {
  let node = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Record<string, unknown>)[key];
  }
  return node;
}

// A pointer in a reference is part of a URI, and the validator decodes it as one.
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function isPointer(pointer: string): boolean {
  return pointer === '#' || pointer.startsWith('#/');
}
