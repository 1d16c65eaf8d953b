import { isObject } from '../base/json.ts';
import type { Node } from '../schema/references.ts';

/** A subschema and its place. */
export interface SchemaPlace {
  readonly node: Node;
  /** Such as `inputSchema.properties.city`. */
  readonly path: string;
  /** Its role; a branch applies to the same value as the schema around it. */
  readonly role: 'root' | 'property' | 'item' | 'branch' | 'definition' | 'other';
  /** The last step of the path. */
  readonly name: string;
  /** How many objects and arrays are around a value at this place. */
  readonly levels: number;
  /** Whether it is conditional or negated: such schemas describe nothing new. */
  readonly isCondition: boolean;
}

/** All subschemas in the order they are written, the schema itself first; very deep ones are left out. */
export function schemasIn(schema: unknown, path: string): readonly SchemaPlace[] {
  const places: SchemaPlace[] = [];
  const visit = (node: unknown, place: Omit<SchemaPlace, 'node'>): void => {
    if (!isObject(node) || place.levels > MAX_LEVELS) return;
    places.push({ ...place, node });
    for (const [keyword, value] of Object.entries(node)) {
      const step = Object.hasOwn(STEPS, keyword) ? STEPS[keyword] : undefined;
      if (!step) continue;
      for (const [name, child] of childrenOf(value, step)) {
        visit(child, {
          path: [place.path, keyword, ...(name === undefined ? [] : [name])].join('.'),
          role: step.role,
          name: name ?? keyword,
          levels: place.levels + step.levels,
          isCondition: place.isCondition || step.isCondition === true,
        });
      }
    }
  };
  visit(schema, { path, role: 'root', name: path, levels: 0, isCondition: false });
  return places;
}

const MAX_LEVELS = 64;

interface Step {
  readonly role: SchemaPlace['role'];
  readonly levels: 0 | 1;
  /** Whether the keyword holds schemas by name. */
  readonly isMap?: true;
  readonly isCondition?: true;
}

const property: Step = { role: 'property', levels: 1, isMap: true };
const item: Step = { role: 'item', levels: 1 };
const branch: Step = { role: 'branch', levels: 0 };
const condition: Step = { ...branch, isCondition: true };
const definition: Step = { role: 'definition', levels: 1, isMap: true };
const other: Step = { role: 'other', levels: 1 };

const STEPS: Readonly<Record<string, Step>> = {
  properties: property,
  patternProperties: { ...other, isMap: true },
  additionalProperties: other,
  items: item,
  prefixItems: item,
  contains: branch,
  allOf: branch,
  anyOf: branch,
  oneOf: branch,
  not: condition,
  if: condition,
  then: condition,
  else: condition,
  dependentSchemas: { ...condition, isMap: true },
  $defs: definition,
  definitions: definition,
};

function childrenOf(value: unknown, { isMap }: Step): readonly (readonly [string | undefined, unknown])[] {
  if (Array.isArray(value)) return value.map((child: unknown, index) => [String(index), child]);
  if (isMap) return isObject(value) ? Object.entries(value) : [];
  return [[undefined, value]];
}
