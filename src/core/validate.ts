import type { ToolCall } from './call.ts';
import { ToolcribError } from './errors.ts';
import type { Result } from './result.ts';
import type { Outcome } from './schema.ts';
import type { Next, Stage } from './stage.ts';
import type { Tool } from './tool.ts';
import { describeIssues, validatorOf } from './validator.ts';

/** Checks arguments before anything may act on them and fills in defaults; a bad call tells the model what to correct. */
export const validateInput: Stage = {
  name: 'validateInput',
  wrap: (tool, next) => async (call) =>
    next({ ...call, arguments: await checkArguments(tool, call.arguments) }),
};

/** Holds a tool to the output schema it declares; what it breaks is the tool's fault, never the caller's. */
export const validateOutput: Stage = {
  name: 'validateOutput',
  wrap: (tool, next) => (tool.outputSchema ? checkingOutput(tool, next) : next),
};

/** The arguments a handler may rely on; throws `invalid_arguments` naming each field and rule. */
export async function checkArguments(
  tool: Tool,
  args: ToolCall['arguments'],
): Promise<ToolCall['arguments']> {
  const checked = tool.parseInput ? tool.parseInput(args) : validatorOf(tool.inputSchema)(args);
  const outcome = checked instanceof Promise ? await checked : checked;
  if (isGood(outcome)) return outcome.value as ToolCall['arguments'];
  throw new ToolcribError(
    'invalid_arguments',
    `Invalid arguments for ${tool.name}: ${describeIssues(outcome.issues)}`,
  );
}

function checkingOutput(tool: Tool, next: Next): Next {
  return async (call): Promise<Result> => {
    const result = await next(call);
    if (result.kind !== 'done') return result;
    const checked = tool.parseOutput
      ? tool.parseOutput(result.data)
      : validatorOf(tool.outputSchema!)(result.data);
    const outcome = checked instanceof Promise ? await checked : checked;
    if (!isGood(outcome)) {
      throw new ToolcribError(
        'invalid_output',
        `${tool.name} returned something other than it promises; it needs to be repaired.`,
        {
          cause: new Error(`Output of ${tool.name}: ${describeIssues(outcome.issues)}`),
        },
      );
    }
    return outcome.value === result.data ? result : { ...result, data: outcome.value };
  };
}

// Standard Schema marks success by the absence of issues, and its value may be undefined.
function isGood(outcome: Outcome): outcome is { readonly value: unknown } {
  return !('issues' in outcome) || outcome.issues === undefined;
}
