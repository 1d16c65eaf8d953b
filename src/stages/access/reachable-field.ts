import { asList, isObject } from '../../base/json.ts';
import { resolverOf, type Follow, type Node } from '../../schema/references.ts';

/** One step into a value: a key, any array element, or a test for true or false. */
export type FieldStep = string | typeof anyItem | typeof asTruth;

/** Stands for any array element. */
export const anyItem = Symbol('anyItem');

/** A last step that requires a boolean. */
export const asTruth = Symbol('asTruth');

/**
 * Whether a value of this schema can have the field. Only declared fields count, in any branch, unless the schema
 * explicitly allows more. If the schema is too complex to tell, the answer is yes.
 */
export function canHaveField(schema: unknown, path: readonly FieldStep[]): boolean {
  return new FieldSearch(schema, path).canHave(schema, 0);
}

/** Whether a schema allows a step: yes, not declared, nothing declared at all, or impossible for the type. */
type Word = 'yes' | 'undeclared' | 'silent' | 'never';

class FieldSearch {
  readonly #root: unknown;
  readonly #path: readonly FieldStep[];
  // Cached, because branches may share references: visiting them once per branch could take for ever.
  readonly #known = new Map<Node, Map<number, Word>>();
  #follow: Follow | undefined;

  constructor(root: unknown, path: readonly FieldStep[]) {
    this.#root = root;
    this.#path = path;
  }

  canHave(schema: unknown, at: number): boolean {
    if (at === this.#path.length) return true;
    const word = this.#ask(schema, at);
    return word === 'yes' || word === 'silent';
  }

  #ask(schema: unknown, at: number): Word {
    if (!isObject(schema)) return schema === false ? 'never' : 'silent';
    const known = this.#known.get(schema) ?? new Map<number, Word>();
    this.#known.set(schema, known);
    const before = known.get(at);
    if (before) return before;
    // Preliminary, so that a reference to itself ends.
    known.set(at, 'silent');
    const word = this.#together(schema, at);
    known.set(at, word);
    return word;
  }

  #together(schema: Node, at: number): Word {
    const words = new Set([
      this.#alone(schema, at),
      ...this.#referred(schema).map((each) => this.#ask(each, at)),
      ...asList(schema['allOf']).map((each) => this.#ask(each, at)),
      ...[schema['anyOf'], schema['oneOf']].filter(Array.isArray).map((each) => this.#either(each, at)),
    ]);
    if (words.has('never')) return 'never';
    // A conditional subschema can add a field but never removes one.
    const sometimes = conditionalIn(schema).some((each) => this.#ask(each, at) === 'yes');
    if (sometimes || words.has('yes')) return 'yes';
    return words.has('undeclared') ? 'undeclared' : 'silent';
  }

  #either(branches: readonly unknown[], at: number): Word {
    const words = new Set(branches.map((branch) => this.#ask(branch, at)));
    return (['yes', 'silent', 'undeclared'] as const).find((word) => words.has(word)) ?? 'never';
  }

  #referred(schema: Node): unknown[] {
    if (typeof schema['$ref'] !== 'string') return [];
    this.#follow ??= resolverOf(this.#root as Node);
    return [this.#follow(schema['$ref'])];
  }

  #alone(schema: Node, at: number): Word {
    const step = this.#path[at]!;
    if ('$dynamicRef' in schema) return 'yes';
    if (step === asTruth) return mayBe(schema['type'], 'boolean') ? 'silent' : 'never';
    if (!mayBe(schema['type'], step === anyItem ? 'array' : 'object')) return 'never';
    if (step !== anyItem) return this.#key(schema, step, at);
    if ('prefixItems' in schema) return 'yes';
    return 'items' in schema ? this.#inside(schema['items'], at) : 'silent';
  }

  #key(schema: Node, key: string, at: number): Word {
    const { properties, patternProperties, additionalProperties = false } = schema;
    if (isObject(properties) && Object.hasOwn(properties, key)) return this.#inside(properties[key], at);
    if (isObject(patternProperties) && Object.keys(patternProperties).length > 0) return 'yes';
    if (properties === undefined && !('additionalProperties' in schema)) return 'silent';
    return additionalProperties === false ? 'undeclared' : this.#inside(additionalProperties, at);
  }

  #inside(schema: unknown, at: number): Word {
    return this.canHave(schema, at + 1) ? 'yes' : 'undeclared';
  }
}

function conditionalIn(schema: Node): unknown[] {
  const { if: when, then, else: otherwise, dependentSchemas } = schema;
  return [when, then, otherwise, ...(isObject(dependentSchemas) ? Object.values(dependentSchemas) : [])];
}

function mayBe(type: unknown, wanted: string): boolean {
  return type === undefined || type === wanted || (Array.isArray(type) && type.includes(wanted));
}
