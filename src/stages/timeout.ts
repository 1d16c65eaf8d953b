import { z } from 'zod';
import { systemClock, type Clock } from '../base/clock.ts';
import { Deadlines } from '../base/deadlines.ts';
import { compileGlobTable } from '../base/glob.ts';
import { limitTime, type TimeLimits } from '../core/essentials/limit-time.ts';
import type { Stage } from '../core/stage.ts';

const seconds = z.number().positive().max(3600);

/** How long calls may take. */
export const timeoutOptions = z.strictObject({
  seconds: seconds.default(30).describe('The longest a call may take; waiting for a person does not count.'),
  perTool: z
    .record(z.string().min(1), seconds)
    .default({})
    .describe('The same for some tools, by name or pattern such as "github.*".'),
});

/** What the stage needs. */
export interface TimeoutParts {
  readonly clock?: Clock;
  /** Where deadlines are watched; the stage creates its own unless set. */
  readonly deadlines?: Deadlines;
}

/** Ends calls that take too long, and tells the tool to stop through its signal. */
export function timeout(options: z.input<typeof timeoutOptions> = {}, parts: TimeoutParts = {}): Stage {
  return limitTime(timeLimits(options, parts));
}

/** How long each tool may take, for other code with the same limits. */
export function timeLimits(options: z.input<typeof timeoutOptions>, parts: TimeoutParts): TimeLimits {
  const limits = timeoutOptions.parse(options, { jitless: true });
  const { clock = systemClock, deadlines = new Deadlines(clock) } = parts;
  const secondsOf = compileGlobTable(limits.perTool);
  return {
    msFor: (tool) => ((tool === undefined ? undefined : secondsOf(tool)) ?? limits.seconds) * 1000,
    deadlines,
  };
}
