import { andThen } from '../base/awaitable.ts';
import { MAX_ISSUES } from './parts.ts';
import { isQuick, searchingParser } from './quick-search.ts';
import type { Issue, Outcome, Parse, SelfDescribing } from './schema.ts';
import { countOf, type Payload } from './few-issues.ts';
import { frameOf, type Context, type ZodSchema } from './zod-frames.ts';
import { beginSlices, checkInFrame, runSlices, type Steps } from './zod-slices.ts';

/** The check of a library as it is. */
export function parserIn(schema: SelfDescribing): Parse {
  const standard = schema['~standard'];
  const waiting = isZod(schema) ? schema : undefined;
  // Zod tries every check synchronously first and discards a promise; after the first one, that is skipped.
  let waits = false;
  return (value) => {
    if (waits) return parseWaiting(waiting!, value);
    const outcome = standard.validate(value);
    waits = waiting !== undefined && outcome instanceof Promise;
    return outcome;
  };
}

/** The check of a library for large values: it reports a few problems, and gives other work turns in between. */
export function parserOfLarge(schema: SelfDescribing): Parse {
  if (!isZod(schema)) return isQuick(schema) ? searchingParser(schema, parserIn(schema)) : parserIn(schema);
  const frame = frameOf(schema);
  if (!frame) return parserIn(withFewIssues(schema));
  const outcomeOf = reporterFor(schema);
  let context: Context = { async: false };
  return (value, tenant) => {
    const slices = beginSlices(context, tenant);
    function* steps(): Steps<Outcome | Promise<Outcome>> {
      const result = yield* checkInFrame(frame!, value, slices);
      context = slices.context;
      return andThen(result, outcomeOf);
    }
    return runSlices<Outcome>(steps(), slices);
  };
}

// Zod writes the messages of problems at the end of a run. This schema only passes on problems that were found before.
function reporterFor(schema: ZodSchema & SelfDescribing): (result: Payload) => Outcome {
  const reporter = schema.clone(schema._zod.def) as typeof schema;
  const { run } = reporter._zod;
  return (result) => {
    reporter._zod.run = () => result;
    try {
      return shortened(reporter['~standard'].validate(undefined) as Outcome);
    } finally {
      reporter._zod.run = run;
    }
  };
}

function shortened(outcome: Outcome): Outcome {
  return 'issues' in outcome && outcome.issues ? { issues: fewOf(outcome.issues) } : outcome;
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

async function parseWaiting(parser: ZodMethods, value: unknown): Promise<Outcome> {
  const outcome = await parser.safeParseAsync(value);
  return outcome.success ? { value: outcome.data } : { issues: outcome.error.issues };
}

// Zod writes a message for every problem, and all of them into the text of one error.
function withFewIssues(schema: ZodMethods): SelfDescribing {
  const check = ({ issues }: { readonly issues: object[] }): void => {
    issues.splice(0, Infinity, ...fewOf(issues));
  };
  return schema.check({ _zod: { check, def: { check: 'custom', when: () => true }, onattach: [] } });
}

// The first problems, and how many more there are.
function fewOf<T extends object>(issues: readonly T[]): readonly (T | typeof MORE)[] {
  const found = issues.reduce((sum, issue) => sum + countOf(issue), 0);
  if (found <= MAX_ISSUES) return issues;
  const shown = issues.slice(0, MAX_ISSUES - 1);
  return [...shown, { ...MORE, message: `and ${found - shown.length} more` }];
}

const MORE = { code: 'custom', path: [] as PropertyKey[], message: '' };

function isZod(schema: SelfDescribing): schema is SelfDescribing & ZodMethods & ZodSchema {
  return 'safeParseAsync' in schema && 'check' in schema;
}
