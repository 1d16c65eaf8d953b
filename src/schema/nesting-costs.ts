import { isObject } from '../base/json.ts';
import type { JsonSchema } from './schema.ts';
import { appliedInPlace, resolverOf, type Follow, type Node } from './references.ts';

// Limits for the steps of a check, per value and per message; a step takes up to 100 ns.
const MAX_AT_ONE = 500_000;
const MAX_IN_ALL = 1_000_000;
// With so few steps per value, or patterns per character, even the largest message stays within the limit.
const HARMLESS = 20;
const HARMLESS_PATTERNS = 3;
const LETTERS_A_STEP = 4;
const STEPS_A_PATTERN = 2;
const MAX_LEVELS = 64;

/** The worst-case cost of checking a value against a schema. */
export interface Costs {
  /** By level of nesting: steps per value. */
  readonly steps: readonly number[];
  /** By level of nesting: how many patterns one string or property name is matched against. */
  readonly patterns: readonly number[];
  /** Per value on levels that are not listed. */
  readonly beyond: number;
}

/**
 * The worst-case number of steps of a check, per value and level of nesting. Branches that refer back to
 * themselves are all tried at every level, so that the cost multiplies with each level.
 */
export function nestingCosts(schema: JsonSchema): Costs {
  const places = placesIn(schema);
  const steps = byLevel(places, schema, (counts) => counts.steps);
  const patterns = byLevel(places, schema, (counts) => counts.patterns).slice(0, steps.length);
  // Messages are never nested deeper, and a schema that says nothing about deeper values does not check them.
  const isWhole = steps.length > MAX_LEVELS || steps.at(-1) === 0;
  return { steps, patterns, beyond: isWhole ? 1 : Infinity };
}

/** Whether no message can take too long to check. */
export function areHarmless({ steps, patterns, beyond }: Costs): boolean {
  // There is only one value on the first level, so its cost does not matter.
  return (
    beyond === 1 &&
    Math.max(0, ...steps.slice(1)) <= HARMLESS &&
    Math.max(0, ...patterns) <= HARMLESS_PATTERNS
  );
}

/** Whether checking a value takes more steps than `limit`. */
export function isCostly(value: unknown, costs: Costs, limit = MAX_IN_ALL): boolean {
  const { steps, patterns, beyond } = costs;
  const spend = (item: unknown, level: number, spent: number): number => {
    let total = spent + Math.max(1, steps[level] ?? beyond);
    if (typeof item === 'string') return total + (item.length * (patterns[level] ?? 0)) / LETTERS_A_STEP;
    if (typeof item !== 'object' || item === null) return total;
    const forNames = Array.isArray(item) ? 0 : (patterns[level + 1] ?? 0);
    for (const key of Object.keys(item)) {
      if (total > limit) return total;
      if (forNames > 0) total += (key.length * forNames) / LETTERS_A_STEP;
      total = spend(item[key as keyof object], level + 1, total);
    }
    return total;
  };
  return spend(value, 0, 0) > limit;
}

function byLevel(
  places: ReadonlyMap<Node, Place>,
  schema: JsonSchema,
  count: (counts: Counts) => number,
): readonly number[] {
  let below = new Map([...places].map(([node, { here }]) => [node, count(here)]));
  const costs = [below.get(schema)!];
  while (costs.length === 1 || (costs.length <= MAX_LEVELS && Math.max(...below.values()) > 0)) {
    const above = below;
    const costOf = (node: Node): number => above.get(node) ?? 0;
    const ofEach = costs.length === 1 ? count : () => 0;
    below = new Map(
      [...places].map(([node, { faces }]) => [node, Math.max(...worstOf(faces, costOf, ofEach))]),
    );
    const cost = below.get(schema)!;
    if (cost > MAX_AT_ONE) return costs;
    costs.push(cost);
  }
  return costs;
}

interface Counts {
  readonly steps: number;
  readonly patterns: number;
}

/** What a schema requires of the members of an object or the items of an array. */
interface Face {
  /** Per member, apart from subschemas. */
  readonly each: Counts;
  readonly always: readonly Node[];
  readonly named: readonly (readonly [key: string, schema: Node])[];
  /** For members without a name of their own in the schema. */
  readonly others: Node | undefined;
}

type Faces = readonly [ofObjects: Repeated<Face>, ofLists: Repeated<Face>];
type Repeated<T> = readonly (readonly [T, times: number])[];

/**
 * A schema that is the first to apply to some value: the cost of all that applies there, and what it requires of
 * values inside.
 */
interface Place {
  readonly here: Counts;
  readonly faces: Faces;
}

function placesIn(schema: JsonSchema): ReadonlyMap<Node, Place> {
  const follow = resolverOf(schema);
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
    places.set(node, { here: countsOf(applied), faces });
    for (const [face] of faces.flat()) waiting.push(...childrenOf(face));
  }
  return places;
}

function countsOf(applied: Repeated<Node>): Counts {
  return {
    steps: applied.reduce((sum, [node, times]) => sum + times * stepsOf(node), 0),
    patterns: applied.reduce((sum, [node, times]) => sum + ('pattern' in node ? times : 0), 0),
  };
}

// Every property name in a schema is looked up in every object.
function stepsOf(node: Node): number {
  const lists = isObject(node['dependentRequired']) ? Object.values(node['dependentRequired']) : [];
  return (
    1 +
    sizeOf(node['properties']) +
    sizeOf(node['required']) +
    lists.reduce<number>((sum, list) => sum + 1 + sizeOf(list), 0)
  );
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

// All schemas that apply to the same value, and how often.
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
  const patterns = sizeOf(node['patternProperties']);
  return {
    each: { steps: patterns * STEPS_A_PATTERN, patterns },
    // Which names a pattern matches is not known, so it counts for all. A property name is checked as a value of
    // its own.
    always: [
      ...schemasIn(node['patternProperties']),
      node['unevaluatedProperties'],
      node['propertyNames'],
    ].filter(isObject),
    named: namedIn(node['properties']),
    others: nodeOr(node['additionalProperties']),
  };
}

function listFace(node: Node): Face {
  return {
    each: { steps: 0, patterns: 0 },
    always: [node['contains'], node['unevaluatedItems']].filter(isObject),
    named: namedIn(node['prefixItems']),
    others: nodeOr(node['items']),
  };
}

function childrenOf({ always, named, others }: Face): Node[] {
  return [...always, ...named.map(([, child]) => child), ...(others ? [others] : [])];
}

// A value has one name or index, so only schemas for the same one add up.
function worstOf(faces: Faces, costOf: (node: Node) => number, ofEach: (counts: Counts) => number): number[] {
  return faces.map((repeated) => {
    let everywhere = 0;
    const extra = new Map<string, number>();
    for (const [{ each, always, named, others }, times] of repeated) {
      const otherwise = others ? costOf(others) : 0;
      everywhere += times * always.reduce((sum, child) => sum + costOf(child), otherwise + ofEach(each));
      for (const [key, child] of named)
        extra.set(key, (extra.get(key) ?? 0) + times * (costOf(child) - otherwise));
    }
    return everywhere + Math.max(0, ...extra.values());
  });
}

function namedIn(value: unknown): (readonly [string, Node])[] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).filter((entry): entry is [string, Node] => isObject(entry[1]))
    : [];
}

function schemasIn(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : [];
}

function nodeOr(value: unknown): Node | undefined {
  return isObject(value) ? value : undefined;
}
