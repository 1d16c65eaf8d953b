import type { ToolcribError } from '../../base/errors.ts';
import type { ToolCall } from '../../core/call.ts';

/** What somebody said about a call; `by` goes on record, also where it was a no. */
export type Consent = Yes | { readonly by: string; readonly refusal: ToolcribError };

/** Somebody agreed to a call. */
export interface Yes {
  /** By whom, or by what was said earlier. */
  readonly by: string;
  /** An approval to be used up with the intent. */
  readonly uses?: string;
  /** The call is to be made with these arguments instead. */
  readonly edited?: ToolCall['arguments'];
}

/** A way to reach a person who may agree to calls. */
export interface Approver {
  /** Asks about a call, or finds what was said about it. It throws where nobody has said anything. */
  ask(call: ToolCall): Promise<Consent>;
  /** Told that a call it agreed to ended with questions to its client: it goes on in a further one. */
  goesOn?(call: ToolCall, by: string): void;
}
