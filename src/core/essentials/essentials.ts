import { systemClock, type Clock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import type { ToolSource } from '../source.ts';
import { withInnerStages } from '../stage.ts';
import { limitTime } from './limit-time.ts';
import { permit } from './permit.ts';
import { validateInputWithin, validateOutputWithin, type OnInvalidOutput } from './validate.ts';

/** The settings of the essential stages. */
export interface EssentialOptions {
  /** The longest a call may take, 30 seconds unless set. */
  readonly deadlineMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** What becomes of a result that breaks its output schema; `fail` unless set. */
  readonly onInvalidOutput?: OnInvalidOutput | undefined;
}

/**
 * The same source with the stages that no source is called without: arguments and results are checked, the tool's own
 * `authorize` is asked, and time is limited. One that the source brings itself is not added again. They are added
 * inside of the source's other stages, which therefore see how every call ends.
 */
export function withEssentials(source: ToolSource, options: EssentialOptions = {}): ToolSource {
  const { deadlineMs = 30_000, clock = systemClock, onInvalidOutput = 'fail' } = options;
  const limits = { msFor: () => deadlineMs, deadlines: new Deadlines(clock) };
  const essentials = [
    validateInputWithin(limits),
    permit(limits),
    validateOutputWithin(limits, onInvalidOutput),
    limitTime(limits),
  ];
  const missing = essentials.filter(({ name }) => !source.stages?.has(name));
  return missing.length > 0 ? withInnerStages(source, missing) : source;
}
