import type { ToolcribError } from '../../base/errors.ts';
import type { ToolCall } from '../../core/call.ts';

/** The decision about a call; `by` goes on record, also with a no. */
export type Consent = Yes | { readonly by: string; readonly refusal: ToolcribError };

/** Somebody agreed to a call. */
export interface Yes {
  /** Who decided, or the earlier grant that did. */
  readonly by: string;
  /** An approval to be used up with the intent. */
  readonly uses?: string;
  /** The call is to be made with these arguments instead. */
  readonly edited?: ToolCall['arguments'];
}

/** A way to reach a person who may agree to calls. */
export interface Approver {
  /** Asks about a call, or finds the decision about it. Throws if nobody has decided. */
  ask(call: ToolCall): Promise<Consent>;
  /** Told that a call it agreed to ended with questions to its client, and goes on in a further call. */
  goesOn?(call: ToolCall, by: string): void;
}
