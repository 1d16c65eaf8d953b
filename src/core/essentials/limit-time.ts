import type { Call } from '../call.ts';
import { whenOver } from '../../base/awaitable.ts';
import type { Deadlines } from '../../base/deadlines.ts';
import { ToolcribError } from '../../base/errors.ts';
import { governedName } from '../tool.ts';
import type { Stage } from '../stage.ts';

/** How long calls may take. */
export interface TimeLimits {
  /** The limit of a tool; readings have that of no name. */
  readonly msFor: (tool: string | undefined) => number;
  readonly deadlines: Deadlines;
}

/**
 * Ends a call that takes too long or is cancelled; the stages around it still see how it ended. Time stands still while
 * a person is asked.
 */
export function limitTime({ msFor, deadlines }: TimeLimits): Stage {
  return {
    name: 'timeout',
    wrap(tool, next) {
      const ms = msFor(governedName(tool));
      return (call) => {
        // Stopped while the stages before this one waited for something.
        if (call.cancellation.reason) throw call.cancellation.reason;
        const work = next(call);
        return work instanceof Promise ? bound(work, call, { ms, name: tool.name, deadlines }) : work;
      };
    },
    wrapReading(next) {
      const ms = msFor(undefined);
      return (call) => {
        const work = next(call);
        return work instanceof Promise ? bound(work, call, { ms, name: 'The request', deadlines }) : work;
      };
    },
  };
}

/** How long some work may take, and what it is called. */
export interface Bound {
  readonly ms: number;
  readonly name: string;
  readonly deadlines: Deadlines;
}

/** Ends work of a call that takes too long or is cancelled; only work that takes time needs it. */
export function bound<T>(
  work: Promise<T>,
  { interview, cancellation }: Call,
  { ms, name, deadlines }: Bound,
): Promise<T> {
  const start = (): (() => void) =>
    deadlines.start(ms, () =>
      cancellation.abort(new ToolcribError('timed_out', `${name} took over ${ms / 1000} s and was stopped.`)),
    );
  interview.limit(start);
  return whenOver(cancellation.race(work), () => interview.limit(undefined));
}
