import { digest } from '../base/digest.ts';
import { withLongIntegers, writeExact } from '../base/exact-json.ts';
import { givenOf, type ToolCall } from '../core/call.ts';
import { definitionDigest } from '../core/definition-digest.ts';
import { governedName } from '../core/tool.ts';
import { jsonDigest } from './json-digest.ts';

/** What is agreed to or run once: a tool and its arguments. */
export type Subject = Pick<ToolCall, 'tool' | 'arguments' | 'longIntegers'>;

/**
 * The fingerprint of a call: the tool, its definition and the arguments; `undefined` if the arguments are not JSON.
 */
export function fingerprintOf(subject: Subject): string | undefined {
  const { tool } = subject;
  const given = jsonDigest(givenOf(subject));
  return given && digest([governedName(tool), definitionDigest(tool), given]);
}

/** The arguments to the letter, as JSON; only for a subject that has a fingerprint. */
export function exactArguments({ arguments: args, longIntegers = {} }: Subject): string {
  return writeExact(withLongIntegers(args, longIntegers))!;
}
