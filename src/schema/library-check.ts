import { outlineCheckOf } from './outline.ts';
import type { Issue, JsonSchema, Outcome, Parse, SelfDescribing } from './schema.ts';

// A library takes about a microsecond to note one problem, and notes them all.
const FEW_PROBLEMS = 30_000;
const MAX_PARTS = 1_000;
const MIN_PARTS = 10;
// About as short as a subschema is as text.
const LETTERS_A_SUBSCHEMA = 16;
// Nobody is told of more.
const MAX_ISSUES = 8;

/**
 * The check of a library, such as Zod. It sees a large value only if that is like the outline of its schema: noting
 * tens of thousands of problems would keep everybody else waiting.
 */
export function parserOf(schema: SelfDescribing, json: JsonSchema): Parse {
  const parse = parserIn(schema);
  let room: number | undefined;
  let check: ReturnType<typeof outlineCheckOf> | undefined;
  let parseLarge: Parse | undefined;
  return (value) => {
    room ??= roomFor(json);
    if (roomLeft(value, room) >= 0) return parse(value);
    check ??= outlineCheckOf(schema);
    const issues = check(value);
    if (issues.length > 0) return { issues };
    parseLarge ??= parserIn(withFewIssues(schema));
    return parseLarge(value);
  };
}

// Every part of a value may have as many problems as the schema has parts.
function roomFor(schema: JsonSchema): number {
  const parts = JSON.stringify(schema).length / LETTERS_A_SUBSCHEMA;
  return Math.min(MAX_PARTS, Math.max(MIN_PARTS, FEW_PROBLEMS / parts));
}

// On the path of every call: what holds nothing is not gone into.
function roomLeft(value: unknown, room: number): number {
  if (typeof value !== 'object' || value === null) return room;
  let left = room;
  if (Array.isArray(value)) {
    left -= value.length;
    for (let index = 0; index < value.length && left >= 0; index++)
      if (typeof value[index] === 'object') left = roomLeft(value[index], left);
    return left;
  }
  for (const key in value) {
    if (--left < 0) return left;
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === 'object') left = roomLeft(member, left);
  }
  return left;
}

/** Zod's methods for asynchronous checks and for checks of one's own. */
interface ZodMethods {
  safeParseAsync(
    value: unknown,
  ): Promise<
    | { readonly success: true; readonly data: unknown }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } }
  >;
  check(check: { readonly _zod: object }): SelfDescribing;
}

// Zod tries every check synchronously first and discards an asynchronous result; after the first asynchronous one,
// that is skipped.
function parserIn(schema: SelfDescribing): Parse {
  const standard = schema['~standard'];
  const waiting = isZod(schema) ? schema : undefined;
  let waits = false;
  return (value) => {
    if (waits) return parseWaiting(waiting!, value);
    const outcome = standard.validate(value);
    waits = waiting !== undefined && outcome instanceof Promise;
    return outcome;
  };
}

async function parseWaiting(parser: ZodMethods, value: unknown): Promise<Outcome> {
  const outcome = await parser.safeParseAsync(value);
  return outcome.success ? { value: outcome.data } : { issues: outcome.error.issues };
}

// Zod words every problem that it found, and writes them all into the text of an error.
function withFewIssues(schema: SelfDescribing): SelfDescribing {
  if (!isZod(schema)) return schema;
  const check = ({ issues }: { readonly issues: object[] }): void => {
    const dropped = issues.length - MAX_ISSUES + 1;
    if (dropped > 1)
      issues.splice(MAX_ISSUES - 1, dropped, { code: 'custom', path: [], message: `and ${dropped} more` });
  };
  return schema.check({ _zod: { check, def: { check: 'custom', when: () => true }, onattach: [] } });
}

function isZod(schema: SelfDescribing): schema is SelfDescribing & ZodMethods {
  return 'safeParseAsync' in schema && 'check' in schema;
}
