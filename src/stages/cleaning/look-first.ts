import type { RelayedJson } from '../../core/result.ts';
import type { Secrets } from '../../observe/secrets.ts';

// How much longer than its JSON a result may be counted: a number of few characters may be written with many.
const MAX_GROWTH = 6;

/** The settings of cleaning that the look at the bytes needs. */
export interface LookOptions {
  readonly maxBytes: number;
  readonly secrets: Secrets | undefined;
}

/**
 * Whether cleaning would surely leave a result as it is, told from the JSON that another server wrote for it: much
 * faster than parsing and cleaning it. A no may be wrong, a yes is not.
 */
export function isSurelyUntouched(json: RelayedJson, { maxBytes, secrets }: LookOptions): boolean {
  const { message, start, end } = json;
  if (!secrets || (end - start) * MAX_GROWTH > maxBytes) return false;
  return !secrets.mayBeIn(message, start, end);
}
