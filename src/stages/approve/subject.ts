import { digest } from '../../base/digest.ts';
import { definitionDigest } from '../../core/definition-digest.ts';
import type { CallRecord } from '../../core/record.ts';
import { governedName, type Tool } from '../../core/tool.ts';
import { jsonDigest } from '../json-digest.ts';

/**
 * The fingerprint of what somebody agrees to: the tool, what it promises and the arguments; `undefined` where the
 * arguments are no JSON.
 */
export function subjectOf(tool: Tool, given: unknown): string | undefined {
  const fingerprint = jsonDigest(given);
  return fingerprint && digest([governedName(tool), definitionDigest(tool), fingerprint]);
}

/** Whether a person has agreed to a call at an outer stage; the word of the model in an argument is none. */
export function isAgreedTo({ approval }: CallRecord): boolean {
  return approval !== undefined && approval !== 'argument';
}
