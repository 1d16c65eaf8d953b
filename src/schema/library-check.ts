import { outlineCheckOf } from './outline.ts';
import { parserIn, parserOfLarge } from './library-parsers.ts';
import { partsLeft } from './parts.ts';
import type { JsonSchema, Parse, SelfDescribing } from './schema.ts';

// A library takes about a microsecond to note one problem, and notes them all.
const FEW_PROBLEMS = 30_000;
const MAX_PARTS = 1_000;
const MIN_PARTS = 10;
// About as short as a subschema is as text.
const LETTERS_A_SUBSCHEMA = 16;

/**
 * The check of a library, such as Zod. It sees a large value only if that is like the outline of its schema: noting
 * tens of thousands of problems would keep everybody else waiting.
 */
export function parserOf(schema: SelfDescribing, json: JsonSchema): Parse {
  const parse = parserIn(schema);
  let room: number | undefined;
  let check: ReturnType<typeof outlineCheckOf> | undefined;
  let parseLarge: Parse | undefined;
  return (value, tenant) => {
    room ??= roomFor(json);
    if (partsLeft(value, room) >= 0) return parse(value);
    check ??= outlineCheckOf(schema);
    const issues = check(value);
    if (issues.length > 0) return { issues };
    parseLarge ??= parserOfLarge(schema);
    return parseLarge(value, tenant);
  };
}

// Every part of a value may have as many problems as the schema has parts.
function roomFor(schema: JsonSchema): number {
  const parts = JSON.stringify(schema).length / LETTERS_A_SUBSCHEMA;
  return Math.min(MAX_PARTS, Math.max(MIN_PARTS, FEW_PROBLEMS / parts));
}
