import { authorFailure, checkInTime } from '../author-failure.ts';
import type { Caller } from '../caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { TimeLimits } from './limit-time.ts';
import { andThen, type Awaitable } from '../../base/awaitable.ts';
import type { Stage } from '../stage.ts';
import type { Tool } from '../tool.ts';

/** Asks the tool itself, where its author wrote `authorize`, whether this caller may do this with these arguments. */
export function permit({ msFor, deadlines }: TimeLimits): Stage {
  return {
    name: 'permit',
    wrap: (tool, next) => {
      if (!tool.authorize) return next;
      const limit = { ms: msFor(tool.name), name: `${tool.name}.authorize`, deadlines };
      return (call) => {
        call.record.rule = limit.name;
        call.record.beforeRun();
        let answer: Awaitable<void>;
        try {
          answer = permitCall(tool, call.arguments, call.caller);
        } catch (error) {
          throw authorFailure(error, call, tool.name);
        }
        if (!(answer instanceof Promise)) return next(call);
        return checkInTime(answer, call, limit).then(() => next(call));
      };
    },
  };
}

/** Throws `refused` unless the tool's own decision is a plain yes. */
export function permitCall(
  tool: Pick<Tool, 'name' | 'authorize'>,
  args: Readonly<Record<string, unknown>>,
  caller: Caller,
): Awaitable<void> {
  if (!tool.authorize) return;
  return andThen(tool.authorize(args, caller), (answer) => {
    if (answer === true) return;
    const reason = typeof answer === 'string' ? answer : `You may not use ${tool.name} with these arguments.`;
    throw new ToolcribError('refused', reason);
  });
}
