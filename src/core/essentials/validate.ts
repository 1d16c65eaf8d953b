import { authorFailure, checkInTime } from '../author-failure.ts';
import type { ToolCall } from '../call.ts';
import { systemClock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { TimeLimits } from './limit-time.ts';
import type { Done, Result } from '../result.ts';
import type { Outcome } from '../../schema/schema.ts';
import { andThen, type Awaitable } from '../../base/awaitable.ts';
import type { Stage } from '../stage.ts';
import type { Tool } from '../tool.ts';
import { describeIssues, validatorOf } from '../../schema/validator.ts';

/**
 * Checks arguments before anything may act on them and fills in defaults; a bad call tells the model what to correct.
 */
export function validateInputWithin({ msFor, deadlines }: TimeLimits): Stage {
  return {
    name: 'validateInput',
    wrap: (tool, next) => {
      const limit = { ms: msFor(tool.name), name: `${tool.name}.input`, deadlines };
      return (call) => {
        let args: Awaitable<ToolCall['arguments']>;
        try {
          args = checkArguments(tool, call.arguments, call.caller.tenant.id);
        } catch (error) {
          throw authorFailure(error, call, tool.name);
        }
        if (args instanceof Promise)
          return checkInTime(args, call, limit).then((later) => next({ ...call, arguments: later }));
        return next(args === call.arguments ? call : { ...call, arguments: args });
      };
    },
  };
}

/** What becomes of a result that breaks its output schema: the call fails, or it goes out without the data. */
export type OnInvalidOutput = 'fail' | 'strip';

/** Holds a tool to the output schema it declares; what it breaks is the tool's fault, never the caller's. */
export function validateOutputWithin(
  { msFor, deadlines }: TimeLimits,
  onInvalid: OnInvalidOutput = 'fail',
): Stage {
  return {
    name: 'validateOutput',
    wrap: (tool, next) => {
      if (!tool.outputSchema) return next;
      const limit = { ms: msFor(tool.name), name: `${tool.name}.output`, deadlines };
      const checkOutput = outputCheck(tool, onInvalid);
      const check = (result: Result, call: ToolCall): Awaitable<Result> => {
        try {
          const checked = checkOutput(result, call.caller.tenant.id);
          return checked instanceof Promise ? checkInTime(checked, call, limit) : checked;
        } catch (error) {
          throw authorFailure(error, call, tool.name);
        }
      };
      return (call) => andThen(next(call), (result) => check(result, call));
    },
  };
}

const CHECK_LIMITS: TimeLimits = { msFor: () => 30_000, deadlines: new Deadlines(systemClock) };

/** Checks arguments, in at most 30 seconds where that takes time. */
export const validateInput: Stage = validateInputWithin(CHECK_LIMITS);

/** Checks what a tool returned, in at most 30 seconds where that takes time. */
export const validateOutput: Stage = validateOutputWithin(CHECK_LIMITS);

/** The arguments a handler may rely on; throws `invalid_arguments` naming each field and rule. */
export function checkArguments(
  tool: Tool,
  args: ToolCall['arguments'],
  tenant?: string,
): Awaitable<ToolCall['arguments']> {
  const checked = tool.parseInput ? tool.parseInput(args, tenant) : validatorOf(tool.inputSchema)(args);
  return andThen(checked, (outcome) => {
    if (isGood(outcome)) return outcome.value as ToolCall['arguments'];
    throw new ToolcribError(
      'invalid_arguments',
      `Invalid arguments for ${tool.name}: ${describeIssues(outcome.issues)}`,
    );
  });
}

function outputCheck(tool: Tool, onInvalid: OnInvalidOutput) {
  return (result: Result, tenant: string): Awaitable<Result> => {
    if (result.kind !== 'done') return result;
    const checked = tool.parseOutput
      ? tool.parseOutput(result.data, tenant)
      : validatorOf(tool.outputSchema!)(result.data);
    return andThen(checked, (outcome) => {
      if (isGood(outcome)) return outcome.value === result.data ? result : { ...result, data: outcome.value };
      if (onInvalid === 'strip') return withoutData(result);
      throw new ToolcribError(
        'invalid_output',
        `${tool.name} returned something other than it promises; it needs to be repaired.`,
        { cause: new Error(`Output of ${tool.name}: ${describeIssues(outcome.issues)}`) },
      );
    });
  };
}

// Its text stays, because the model needs it.
function withoutData({ data, ...result }: Done): Done {
  return result.content
    ? result
    : { ...result, content: [{ type: 'text', text: JSON.stringify(data) ?? '' }] };
}

// Standard Schema marks success by the absence of issues, and its value may be undefined.
function isGood(outcome: Outcome): outcome is { readonly value: unknown } {
  return !('issues' in outcome) || outcome.issues === undefined;
}
