import type { Caller } from './caller.ts';
import type { ErrorCode } from '../base/errors.ts';

/** A request of a known caller that was turned away before it became a call. */
export interface Refusal {
  readonly caller: Caller;
  /** The method, where the message could be read that far. */
  readonly method: string | undefined;
  /** The tool, prompt, resource or task that was named. */
  readonly target: string | undefined;
  readonly code: ErrorCode;
}
