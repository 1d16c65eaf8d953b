import { isObject } from '../../base/json.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import { asObject, type Json, type OpenApiDocument } from './document.ts';
import { keepForInput, keepForOutput, type Convert } from './keywords.ts';
import { plainText } from './text.ts';

/** Whether a schema is for what a caller sends or for what the API returns. */
export type Direction = 'input' | 'output';

const MAX_DEPTH = 20;
// Short definitions without references are inlined, which every client and model understands.
const MAX_INLINE = { input: 3_000, output: 600 };

/** Replaces a part of a schema that is too long to show. */
export const UNSHOWN: JsonSchema = { description: 'As the API describes it; too long to show here.' };

/**
 * Converts the schemas of a description to JSON Schema 2020-12, each definition once, however many operations use it.
 */
export class OpenApiSchemas {
  readonly #document: OpenApiDocument;
  readonly #direction: Direction;
  readonly #definitions = new Map<string, Definition | undefined>();
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** References without a target; any value is accepted there. */
  readonly lost = new Set<string>();

  constructor(document: OpenApiDocument, direction: Direction) {
    this.#document = document;
    this.#direction = direction;
  }

  /** Converts one schema, with references into `$defs`. */
  convert(schema: unknown): JsonSchema {
    return asObject(this.#convert(schema, 0));
  }

  /** The converted target of a schema that is only a reference; otherwise the schema itself. */
  unfold(schema: JsonSchema): JsonSchema {
    let found = schema;
    // Bounded, because a definition may only refer to itself.
    for (let hop = 0; hop < MAX_DEPTH; hop++) {
      const name = nameIn(found);
      const target = name === undefined ? undefined : this.#definitions.get(name)?.schema;
      if (!target) return found;
      found = target;
    }
    return UNSHOWN;
  }

  /** The `$defs` of a schema, nearest first; above `maxLength` characters they are only named. */
  definitionsOf(schema: unknown, maxLength: number): { readonly $defs?: JsonSchema } {
    const found = new Map<string, JsonSchema>();
    let left = maxLength;
    for (let names = referencesIn(schema); names.size > 0;) {
      const next = new Set<string>();
      for (const name of names) {
        if (found.has(name)) continue;
        const definition = this.#definitions.get(name);
        const fits = definition !== undefined && definition.length <= left;
        found.set(name, fits ? definition.schema : UNSHOWN);
        if (!fits) continue;
        left -= definition.length;
        definition.references.forEach((reference) => next.add(reference));
      }
      names = next;
    }
    return found.size > 0 ? { $defs: Object.fromEntries(found) } : {};
  }

  readonly #convert = (schema: unknown, depth: number): JsonSchema | boolean => {
    if (typeof schema === 'boolean') return this.#direction === 'output' || schema;
    if (!isObject(schema)) return {};
    if (depth > MAX_DEPTH) return UNSHOWN;
    if (typeof schema['$ref'] === 'string') return this.#refer(schema['$ref'], schema);
    const inner: Convert = (value) => this.#convert(value, depth + 1);
    return this.#direction === 'input'
      ? keepForInput(schema, inner, this.#document)
      : keepForOutput(schema, inner, this.#document);
  };

  #refer(reference: string, { description }: Json): JsonSchema {
    const name = this.#nameOf(reference);
    if (!this.#definitions.has(name)) this.#define(name, reference);
    const definition = this.#definitions.get(name);
    const isSmall =
      definition !== undefined &&
      definition.references.size === 0 &&
      definition.length <= MAX_INLINE[this.#direction];
    const target = isSmall ? definition.schema : { $ref: `#/$defs/${name}` };
    return typeof description === 'string' ? { ...target, description: plainText(description) } : target;
  }

  #define(name: string, reference: string): void {
    // Marked as started, so that a recursive definition ends.
    this.#definitions.set(name, undefined);
    const target = this.#document.find(reference);
    if (target === undefined) this.lost.add(reference);
    const schema = asObject(this.#convert(target, 0));
    this.#definitions.set(name, {
      schema,
      length: JSON.stringify(schema).length,
      references: referencesIn(schema),
    });
  }

  #nameOf(reference: string): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const last = reference.slice(reference.lastIndexOf('/') + 1);
    const plain = last.replaceAll(/[^\w.-]+/g, '_').slice(0, 100) || 'part';
    let name = plain;
    for (let number = 2; this.#taken.has(name); number++) name = `${plain}_${number}`;
    this.#taken.add(name);
    this.#names.set(reference, name);
    return name;
  }
}

interface Definition {
  readonly schema: JsonSchema;
  readonly length: number;
  readonly references: ReadonlySet<string>;
}

function nameIn({ $ref: reference }: JsonSchema): string | undefined {
  return typeof reference === 'string' ? reference.slice('#/$defs/'.length) : undefined;
}

function referencesIn(schema: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(schema)) for (const item of schema) referencesIn(item, found);
  if (!isObject(schema)) return found;
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$ref' && typeof value === 'string') found.add(value.slice('#/$defs/'.length));
    else if (typeof value === 'object') referencesIn(value, found);
  }
  return found;
}
