import { copyJson, isObject } from '../base/json.ts';
import { appliedInPlace, resolverOf, type Follow, type Node } from './references.ts';
import type { JsonSchema } from './schema.ts';

// A default may have members with defaults, so a small schema could multiply with each level.
const MAX_STEPS = 100_000;
const STEPS_A_VALUE = 10;
const MAX_DEPTH = 128;

/**
 * Makes a function that tells whether the defaults of a schema make too much of a value; `undefined` where they
 * cannot, whatever the value.
 */
export function overgrowthIn(schema: JsonSchema): ((value: unknown) => boolean) | undefined {
  if (!canMultiply(schema)) return undefined;
  const follow = resolverOf(schema);
  return (value) => {
    const filling: Filling = { follow, left: MAX_STEPS + STEPS_A_VALUE * sizeOf(value), hasFilled: true };
    const copy = copyJson(value);
    // The validator may look at the parts of a schema in any order.
    while (filling.hasFilled && filling.left >= 0) {
      filling.hasFilled = false;
      fill(schema, copy, { filling, depth: 0 });
    }
    return filling.left < 0;
  };
}

interface Filling {
  readonly follow: Follow;
  /** How many steps may follow. */
  left: number;
  hasFilled: boolean;
}

interface Place {
  readonly filling: Filling;
  readonly depth: number;
}

function fill(schema: unknown, value: unknown, place: Place): void {
  const { filling, depth } = place;
  if (!isObject(schema) || typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) filling.left = -1;
  if (--filling.left < 0) return;
  const inside = { filling, depth: depth + 1 };
  if (Array.isArray(value)) fillItems(schema, value, inside);
  else fillMembers(schema, value as Record<string, unknown>, inside);
  for (const next of appliedInPlace(schema, filling.follow)) fill(next, value, place);
}

function fillItems(schema: Node, items: readonly unknown[], inside: Place): void {
  const tuple = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : [];
  for (const [index, item] of items.entries()) {
    for (const inner of [tuple[index], schema['items'], schema['contains'], schema['unevaluatedItems']])
      if (inner !== undefined) fill(inner, item, inside);
  }
}

function fillMembers(schema: Node, members: Record<string, unknown>, inside: Place): void {
  const named = isObject(schema['properties']) ? schema['properties'] : {};
  for (const [name, inner] of Object.entries(named)) {
    if (isObject(inner) && 'default' in inner && !Object.hasOwn(members, name)) {
      inside.filling.hasFilled = true;
      inside.filling.left -= sizeOf(inner['default']);
      if (inside.filling.left < 0) return;
      Object.defineProperty(members, name, { value: copyJson(inner['default']), enumerable: true });
    }
    if (Object.hasOwn(members, name)) fill(inner, members[name], inside);
  }
  const patterns = isObject(schema['patternProperties']) ? Object.values(schema['patternProperties']) : [];
  const others = [...patterns, schema['additionalProperties'], schema['unevaluatedProperties']];
  for (const inner of others.filter(isObject))
    for (const member of Object.values(members)) fill(inner, member, inside);
}

function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner), 1);
}

// Defaults that are empty are filled in once for each place of the schema, where that is a plain tree.
function canMultiply(schema: JsonSchema): boolean {
  const text = JSON.stringify(schema);
  if (!/"default":[[{]/.test(text)) return false;
  return /"default":(?:\[[^\]]|\{[^}])/.test(text) || !isPlainTree(text);
}

function isPlainTree(text: string): boolean {
  return !/"(?:\$ref|allOf|anyOf|oneOf|not|if|then|else|dependentSchemas|patternProperties)":|"(?:additional|unevaluated)Properties":\{/.test(
    text,
  );
}
