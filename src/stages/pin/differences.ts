import { canonicalJson } from '../../base/canonical-json.ts';
import { isObject } from '../../base/json.ts';
import { readJson } from '../../base/parse-json.ts';

/** One place where two definitions differ; the side that has nothing there is left out. */
export interface Difference {
  /** Such as `inputSchema.properties.city.default`. */
  readonly path: string;
  /** The old value, as JSON. */
  readonly before?: string;
  /** The new value, as JSON. */
  readonly after?: string;
}

/** The places where two definitions differ, by path; without an earlier one, everything is new. */
export function differencesBetween(before: string | undefined, after: string): readonly Difference[] {
  return differ(before === undefined ? {} : readJson(before, 'exact'), readJson(after, 'exact'), '');
}

function differ(before: unknown, after: unknown, path: string): readonly Difference[] {
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
    return keys.flatMap((key) =>
      differ(own(before, key), own(after, key), path === '' ? key : `${path}.${key}`),
    );
  }
  if (Array.isArray(before) && Array.isArray(after) && hasNested(before, after)) {
    const longer = before.length > after.length ? before : after;
    return longer.flatMap((_, at) => differ(before[at], after[at], `${path}[${at}]`));
  }
  const [old, now] = [textOf(before), textOf(after)];
  if (old === now) return [];
  return [{ path, ...(old !== undefined && { before: old }), ...(now !== undefined && { after: now }) }];
}

// Lists of plain values, such as those of enum and required, are easier to read as a whole.
function hasNested(...lists: readonly (readonly unknown[])[]): boolean {
  return lists.some((list) => list.some((item) => typeof item === 'object' && item !== null));
}

function own(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}
