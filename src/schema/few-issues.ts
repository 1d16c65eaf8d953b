import { MAX_ISSUES } from './parts.ts';

/** A value on its way through a check of Zod, and what is wrong with it. */
export interface Payload {
  value: unknown;
  issues: RawIssue[];
}

/** A problem that is not worded yet. */
export interface RawIssue {
  readonly code?: string;
  readonly message?: string;
  readonly continue?: boolean | undefined;
  readonly path?: readonly PropertyKey[];
  /** How many problems after this one were left out. */
  dropped?: number;
}

/** How many problems a reported one represents. */
export function countOf({ dropped = 0 }: RawIssue): number {
  return 1 + dropped;
}

/**
 * Keeps the first few problems of the results that it is given, and counts the others. It changes the results, because
 * there may be tens of thousands.
 */
export function fewIssues(most = MAX_ISSUES): (result: Payload) => Payload {
  const kept: RawIssue[] = [];
  const isKept = (issue: RawIssue): boolean => {
    // One of each kind is kept, because the kinds decide which checks of the whole still run.
    if (kept.length >= most && kept.some((one) => isLike(one, issue))) {
      const last = kept.at(-1)!;
      last.dropped = (last.dropped ?? 0) + countOf(issue);
      return false;
    }
    kept.push(issue);
    return true;
  };
  return (result) => {
    if (result.issues.length > 0) result.issues = result.issues.filter(isKept);
    return result;
  };
}

function isLike(one: RawIssue, other: RawIssue): boolean {
  return one.code === other.code && one.continue === other.continue;
}
