import { outlineMakers } from './interpreted-keywords.ts';
import { beginRun, interpret, TooManyMisses } from './interpreter.ts';
import type { Issue, JsonSchema, SelfDescribing } from './schema.ts';

// How many branches of unions a library may try in vain for one value.
const MAX_MISSES = 150_000;

/**
 * A check that finds the first problem of a value without the library of its schema. What it refuses, the library
 * refuses, too; what it accepts, the library may still refuse.
 */
export function outlineCheckOf(schema: SelfDescribing): (value: unknown) => readonly Issue[] {
  const check = interpret(outlineOf(schema), outlineMakers());
  return (value) => {
    const run = beginRun(false, MAX_MISSES);
    try {
      check(value, run);
      return run.issues;
    } catch (error) {
      if (!(error instanceof TooManyMisses)) throw error;
      return [{ message: 'holds more than can be checked against this schema; send it in parts' }];
    }
  };
}

/** A JSON Schema that every value accepted by the library fits. */
function outlineOf({ '~standard': { jsonSchema, vendor } }: SelfDescribing): JsonSchema {
  const libraryOptions = vendor === 'zod' ? { libraryOptions: { override: loosen } } : {};
  try {
    return jsonSchema.input({ target: 'draft-2020-12', ...libraryOptions });
  } catch {
    return {};
  }
}

interface ZodPart {
  readonly zodSchema: {
    readonly _zod: {
      readonly def: {
        readonly type?: string;
        readonly coerce?: boolean;
        readonly in?: ZodPart['zodSchema'];
        readonly checks?: readonly { readonly _zod: { readonly def: { readonly check?: string } } }[];
      };
    };
    meta?(): Readonly<Record<string, unknown>> | undefined;
  };
  readonly jsonSchema: Record<string, unknown>;
}

function loosen({ zodSchema, jsonSchema }: ZodPart): void {
  const { type, coerce, in: from, checks } = zodSchema._zod.def;
  // A value that is converted before its check, or replaced after a failed one, may be anything.
  const isReplaced =
    coerce === true || type === 'catch' || (type === 'pipe' && from?._zod.def.type === 'transform');
  const isOverruled = Object.keys(zodSchema.meta?.() ?? {}).some((keyword) => !NOTE.test(keyword));
  if (isReplaced || isOverruled) leaveOut(jsonSchema, () => true);
  else if (checks?.some((check) => check._zod.def.check === 'overwrite'))
    leaveOut(jsonSchema, (keyword) => LIMIT.test(keyword));
}

function leaveOut(schema: Record<string, unknown>, isLeftOut: (keyword: string) => boolean): void {
  for (const keyword of Object.keys(schema)) if (isLeftOut(keyword)) delete schema[keyword];
}

const LIMIT = /^(?:min|max|exclusive)/;
// Checks that may be added to a schema without changing which values its JSON form accepts.
const NOTE = /^(?:id|title|description|examples?|deprecated|\$comment|x-.*)$/;
