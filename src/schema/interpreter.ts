import { isObject } from '../base/json.ts';
import { resolverOf, type Follow, type Node } from './references.ts';
import type { Issue, JsonSchema } from './schema.ts';

/** Checks a value; adds what is wrong to the run, and returns whether nothing was. */
export type Check = (value: unknown, run: CheckRun) => boolean;

/** Makes the check of one keyword from its value; `undefined` if there is nothing to check. */
export type Maker = (told: never, node: Node, inside: Inside) => Check | undefined;

/** The keywords that are checked, in this order; all others are passed over. */
export type Makers = readonly (readonly [keyword: string, maker: Maker])[];

/** What a keyword needs of the schema around it. */
export interface Inside {
  readonly checkOf: (node: unknown) => Check;
  readonly follow: Follow;
}

/** One value being checked. */
export interface CheckRun {
  readonly path: (string | number)[];
  readonly issues: Issue[];
  /** Whether to go on after the first problem. */
  readonly isThorough: boolean;
  /** Above 0 inside of branches, where problems are not reported. */
  silence: number;
  /** How many more branches may be tried in vain. */
  misses: number;
}

/** Begins to check a value. */
export function beginRun(isThorough: boolean, misses = Infinity): CheckRun {
  return { path: [], issues: [], isThorough, silence: 0, misses };
}

/** The number of branches that may be tried in vain was used up. */
export class TooManyMisses extends Error {}

/**
 * The check of a schema as a tree of functions, each made when a value first needs it. Compiled code is a few times
 * faster, but must be made as a whole, which takes a long schema as long as thousands of such checks.
 */
export function interpret(schema: JsonSchema, makers: Makers): Check {
  const known = new Map<unknown, Check>();
  const inside: Inside = {
    checkOf(node) {
      const before = known.get(node);
      if (before) return before;
      // Made when it is first called: a reference may lead back to a schema that is still being made.
      let made: Check | undefined;
      const check: Check = (value, run) => (made ??= make(node, makers, inside))(value, run);
      known.set(node, check);
      return check;
    },
    follow: resolverOf(schema),
  };
  return inside.checkOf(schema);
}

/** Adds a problem at the place of the run, or at a member of it. */
export function addProblem(run: CheckRun, message: string, member?: string): false {
  if (run.silence === 0) {
    const path = run.path.map(String);
    run.issues.push({ path: member === undefined ? path : [...path, member], message });
  }
  return false;
}

/** Whether each of these passes; the first that does not ends it, unless all problems are wanted. */
export function passAll(checks: readonly Check[], value: unknown, run: CheckRun): boolean {
  let passed = true;
  for (const check of checks) {
    if (check(value, run)) continue;
    if (!run.isThorough) return false;
    passed = false;
  }
  return passed;
}

/** Whether a value passes, without a word about why it does not. */
export function passesSilently(check: Check, value: unknown, run: CheckRun): boolean {
  run.silence++;
  const passed = check(value, run);
  run.silence--;
  return passed;
}

function make(node: unknown, makers: Makers, inside: Inside): Check {
  if (node === false) return (_, run) => addProblem(run, 'boolean schema is false');
  if (!isObject(node)) return () => true;
  const checks: Check[] = [];
  for (const [keyword, maker] of makers) {
    const check = Object.hasOwn(node, keyword) ? maker(node[keyword] as never, node, inside) : undefined;
    if (check) checks.push(check);
  }
  if (checks.length === 1) return checks[0]!;
  return (value, run) => passAll(checks, value, run);
}
