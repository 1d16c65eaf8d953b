import { isObject } from '../base/json.ts';
import { endingParser, type CheckInSlices } from './first-problems.ts';
import { MAX_ISSUES } from './parts.ts';
import { isLarge, offsetOf, piecesOf, type Piece } from './pieces.ts';
import type { Issue, Outcome, Parse, SelfDescribing } from './schema.ts';
import { beginSlices, runSlices, type Slices, type Steps } from './zod-slices.ts';

const MAX_SEARCH_MS = 300;
// After a longer search, others have a turn before the whole value is checked.
const SHORT_MS = 5;

const TOO_LARGE = 'does not match the schema, and is too large to say where; send it in smaller parts';

/** A schema that says quickly whether it accepts a value; it replaces parts of values if `in` is another schema. */
export type QuickSchema = SelfDescribing & { allows(value: unknown): boolean; readonly in?: unknown };

/** Whether a schema, such as one of ArkType, has a quick check. */
export function isQuick(schema: SelfDescribing): schema is QuickSchema {
  return 'allows' in schema && typeof schema.allows === 'function';
}

/** The check of large values for a library that takes long to note a problem, and notes them all. */
export function searchingParser(schema: QuickSchema, parse: Parse): Parse {
  const parseWhole = endingParser(schema, parse);
  return (value, tenant) => {
    if (!isLarge(value)) return parse(value);
    const slices = beginSlices({ async: false }, tenant);
    // The quick check does not see what fails only once it is replaced. That may depend on all of the value.
    if (schema.allows(value))
      return schema.in === schema ? parse(value) : runSlices<Outcome>(parseWhole(value, slices), slices);
    const search: Search = { value, parse, schema, slices, issues: [], tookMs: 0, isUnclear: false };
    return runSlices<Outcome>(outcomeOf(search, parseWhole), slices);
  };
}

interface Search {
  readonly value: unknown;
  readonly parse: Parse;
  readonly schema: QuickSchema;
  readonly slices: Slices;
  readonly issues: Issue[];
  tookMs: number;
  /** Whether a piece was refused because members are missing, which may hide other problems. */
  isUnclear: boolean;
}

function* outcomeOf(search: Search, parseWhole: CheckInSlices): Steps<Outcome | Promise<Outcome>> {
  yield* searchIn(search, search.value);
  const { value, slices, issues, tookMs, isUnclear } = search;
  if (issues.length > 0) return { issues: issues.slice(0, MAX_ISSUES) };
  if (isUnclear || tookMs > MAX_SEARCH_MS) return { issues: [{ message: TOO_LARGE }] };
  if (tookMs > SHORT_MS) yield undefined;
  return yield* parseWhole(value, slices);
}

function* searchIn(search: Search, whole: unknown): Steps<void> {
  for (const piece of piecesOf(whole)) {
    if (search.issues.length > 0 || search.tookMs > MAX_SEARCH_MS) return;
    const startedAt = performance.now();
    const isSuspect = !search.schema.allows(piece.part);
    const isSmall = isSuspect && !isLarge(piece.part);
    if (isSmall) note(search, piece);
    search.tookMs += performance.now() - startedAt;
    if (performance.now() > search.slices.until) yield undefined;
    if (isSuspect && !isSmall) yield* searchIn(search, piece.part);
  }
}

// Only problems within the focus of the piece are reported: there it equals the whole value.
function note(search: Search, { part, focus }: Piece): void {
  // Conversions may change the value in place.
  const outcome = search.parse(copied(part));
  if (!('issues' in outcome) || !outcome.issues) return;
  for (const issue of outcome.issues) {
    const { message, path: given = [] } = issue;
    let [own, original, isWithin] = [part, search.value, false];
    const path: PropertyKey[] = [];
    for (const key of keysOf(given)) {
      isWithin ||= own === focus;
      path.push(Array.isArray(own) ? Number(key) + offsetOf(own) : key);
      own = memberOf(own, key);
      original = memberOf(original, path.at(-1)!);
    }
    if (!Object.is(own, original)) search.isUnclear ||= !isNarrow(issue);
    else if (isWithin) search.issues.push({ message: movedText(message, keysOf(given), path), path });
  }
}

// ArkType calls functions of the author only with otherwise valid values, so these hide no other problem.
function isNarrow(issue: Issue & { readonly code?: unknown }): boolean {
  return issue.code === 'predicate';
}

function keysOf(path: NonNullable<Issue['path']>): PropertyKey[] {
  return path.map((step) => (typeof step === 'object' ? step.key : step));
}

// ArkType also writes paths into its messages.
function movedText(message: string, from: readonly PropertyKey[], to: readonly PropertyKey[]): string {
  const [before, after] = [textOf(from), textOf(to)];
  return before === after ? message : message.replaceAll(before, () => after);
}

function textOf(path: readonly PropertyKey[]): string {
  const texts = path.map((key) => {
    if (typeof key !== 'string') return `[${String(key)}]`;
    return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  });
  return texts.join('').replace(/^\./, '');
}

function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copied(member)]));
}

function memberOf(value: unknown, key: PropertyKey): unknown {
  return (value as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key];
}
