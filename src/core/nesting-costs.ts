import type { JsonSchema } from './schema.ts';
import { appliedInPlace, followIn, isNode, type Follow, type Node } from './schema-references.ts';

// How many subschemas may be applied to one value, and to all values of one message together.
const MAX_AT_ONE = 100_000;
const MAX_IN_ALL = 10_000_000;
// Applied to each of the most values a message may hold, this many stay within the limit.
const HARMLESS = 200;
const MAX_LEVELS = 64;

/**
 * How many subschemas are applied, at worst, to a value on each level of nesting; `undefined` where no value can make that many.
 * Branches that refer back to where they came from are all tried at every level, so that each level multiplies the one before.
 */
export function nestingCosts(schema: JsonSchema): readonly number[] | undefined {
  // Without references no value meets more subschemas than are written down.
  if (!JSON.stringify(schema).includes('"$ref"')) return undefined;
  const places = placesIn(schema);
  let below = new Map([...places].map(([node, { size }]) => [node, size]));
  const costs = [below.get(schema)!];
  while (costs.length <= MAX_LEVELS) {
    const above = below;
    const costOf = (node: Node): number => above.get(node) ?? 0;
    below = new Map([...places].map(([node, { faces }]) => [node, Math.max(...worstOf(faces, costOf))]));
    const cost = below.get(schema)!;
    if (cost > MAX_AT_ONE) return costs;
    costs.push(cost);
  }
  return Math.max(...costs) > HARMLESS ? costs : undefined;
}

/** Whether checking a value takes more steps than `limit`, given what each level costs; without costs, each value is one step. */
export function isCostly(value: unknown, costs: readonly number[] | undefined, limit = MAX_IN_ALL): boolean {
  const spend = (item: unknown, level: number, spent: number): number => {
    let total = spent + (costs ? (costs[level] ?? Infinity) : 1);
    if (typeof item !== 'object' || item === null) return total;
    for (const inner of Object.values(item)) {
      if (total > limit) return total;
      total = spend(inner, level + 1, total);
    }
    return total;
  };
  return spend(value, 0, 0) > limit;
}

/** What a schema asks of the members of an object, or of the items of a list. */
interface Face {
  readonly always: readonly Node[];
  readonly named: readonly (readonly [key: string, schema: Node])[];
  /** For members that are not named. */
  readonly others: Node | undefined;
}

type Faces = readonly [ofObjects: Repeated<Face>, ofLists: Repeated<Face>];
type Repeated<T> = readonly (readonly [T, times: number])[];

/** A schema that some value meets first: how many subschemas apply to that value, and what they ask of the values inside it. */
interface Place {
  readonly size: number;
  readonly faces: Faces;
}

function placesIn(schema: JsonSchema): ReadonlyMap<Node, Place> {
  const follow = followIn(schema);
  const known = new Map<Node, ReadonlyMap<Node, number>>();
  const places = new Map<Node, Place>();
  const waiting: Node[] = [schema];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (places.has(node)) continue;
    const applied = [...applyIn(node, follow, known)];
    const faces = [
      applied.map(([inner, times]) => [objectFace(inner), times] as const),
      applied.map(([inner, times]) => [listFace(inner), times] as const),
    ] as const;
    places.set(node, { size: applied.reduce((sum, [, times]) => sum + times, 0), faces });
    for (const [face] of faces.flat()) waiting.push(...childrenOf(face));
  }
  return places;
}

// Everything that applies to the same value, and how often.
function applyIn(
  node: Node,
  follow: Follow,
  known: Map<Node, ReadonlyMap<Node, number>>,
): ReadonlyMap<Node, number> {
  const before = known.get(node);
  if (before) return before;
  const applied = new Map([[node, 1]]);
  known.set(node, applied);
  for (const next of appliedInPlace(node, follow)) {
    if (typeof next === 'string') continue;
    for (const [inner, times] of applyIn(next, follow, known))
      applied.set(inner, (applied.get(inner) ?? 0) + times);
  }
  return applied;
}

function objectFace(node: Node): Face {
  return {
    // Which names a pattern fits is not known, so it counts for all.
    always: [...schemasIn(node['patternProperties']), node['unevaluatedProperties']].filter(isNode),
    named: namedIn(node['properties']),
    others: nodeOr(node['additionalProperties']),
  };
}

function listFace(node: Node): Face {
  return {
    always: [node['contains'], node['unevaluatedItems']].filter(isNode),
    named: namedIn(node['prefixItems']),
    others: nodeOr(node['items']),
  };
}

function childrenOf({ always, named, others }: Face): Node[] {
  return [...always, ...named.map(([, child]) => child), ...(others ? [others] : [])];
}

// A value has one name or place, so only what applies to the same one adds up.
function worstOf(faces: Faces, costOf: (node: Node) => number): number[] {
  return faces.map((repeated) => {
    let everywhere = 0;
    const extra = new Map<string, number>();
    for (const [{ always, named, others }, times] of repeated) {
      const otherwise = others ? costOf(others) : 0;
      everywhere += times * always.reduce((sum, child) => sum + costOf(child), otherwise);
      for (const [key, child] of named)
        extra.set(key, (extra.get(key) ?? 0) + times * (costOf(child) - otherwise));
    }
    return everywhere + Math.max(0, ...extra.values());
  });
}

function namedIn(value: unknown): (readonly [string, Node])[] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).filter((entry): entry is [string, Node] => isNode(entry[1]))
    : [];
}

function schemasIn(value: unknown): unknown[] {
  return isNode(value) ? Object.values(value) : [];
}

function nodeOr(value: unknown): Node | undefined {
  return isNode(value) ? value : undefined;
}
