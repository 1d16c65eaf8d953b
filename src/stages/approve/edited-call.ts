import { systemClock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import type { ToolCall } from '../../core/call.ts';
import { permit } from '../../core/essentials/permit.ts';
import { validateInput } from '../../core/essentials/validate.ts';
import type { Result } from '../../core/result.ts';
import type { Next, Stage } from '../../core/stage.ts';

/** A call as a person has changed it. */
export interface Edited {
  readonly arguments: ToolCall['arguments'];
  /** The stages that the arguments pass before the call continues. */
  readonly checks: readonly Stage[];
  readonly next: Next;
}

/** The checks of arguments that are in every line: the schema, and the tool's own `authorize`. */
export const usualChecks: readonly Stage[] = [
  validateInput,
  permit({ msFor: () => 30_000, deadlines: new Deadlines(systemClock) }),
];

/** Runs a call with other arguments. They are checked again, because those of the model were checked before. */
export async function runEdited(call: ToolCall, { arguments: args, checks, next }: Edited): Promise<Result> {
  const { tool, record } = call;
  let shown = '';
  const last: Next = (changed) => {
    shown = JSON.stringify(changed.arguments);
    record.witness?.lookAgain(changed);
    return next(changed);
  };
  const line = checks.reduceRight((inner, stage) => stage.wrap?.(tool, inner) ?? inner, last);
  const result = await line({ ...call, arguments: args, longIntegers: undefined });
  return withNote(result, `[a person changed the arguments to ${shown}]`);
}

// Otherwise the model would take the result for the one of its own arguments.
function withNote(result: Result, text: string): Result {
  if (result.kind === 'needs_input') return result;
  const data =
    result.data === undefined ? [] : [{ type: 'text' as const, text: JSON.stringify(result.data) }];
  return { ...result, content: [...(result.content ?? data), { type: 'text', text }] };
}
