import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';

/** A short hash of any JSON value, the same in whatever order its keys are. */
export function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url').slice(0, 22);
}
