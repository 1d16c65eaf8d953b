import type { Reservation } from './memory/reservation.ts';

/** What names this process among those that share a record: the number of a process may be given out again. */
export const processName = `${process.pid}.${crypto.randomUUID().slice(-12)}`;

/** Somebody who has to look at a call before its author's code can change what was sent. */
export interface Witness {
  /** What goes on record about the arguments: worked out the first time, and kept. */
  look(): string;
  /** Puts on record that the call is under way; it has an intent from then on. */
  intend(): Promise<void>;
}

/** What the stages note about one call while it passes, for whoever writes it down. */
export class CallRecord {
  #id: string | undefined;
  /** The access rule that decided, such as `access[2]`. */
  rule: string | undefined;
  /** Set when the answer was not made for this call: found in the cache, shared with another call, or replayed. */
  answeredFrom: 'cache' | 'joined' | 'replay' | undefined;
  /** The idempotency key to be taken, with the intent, before the tool runs. */
  reservation: Reservation | undefined;
  /** Whether the call's intent is on record. */
  hasIntent = false;
  /** Whether the target was let run: what ends a call before that is a refusal. */
  hasRun = false;
  /** How large the cleaned result is. */
  bytes: number | undefined;
  /** The trace this call is part of. */
  traceId: string | undefined;
  /** Who agreed to the call, or how that was told. */
  approval: string | undefined;
  /** The approval to be used up, with the intent, before the tool runs. */
  grant: string | undefined;
  /** Set when the answer says, as a result, that the tool was not run: the code that goes on record. */
  refusal: 'approval_required' | undefined;
  /** A verified continuation of an earlier request: it was counted then. */
  isResumed = false;
  /** Who writes the call down. */
  witness: Witness | undefined;

  /** Ties the intent, the outcome and the log together; made when first asked for. */
  get id(): string {
    return (this.#id ??= `${processName}-${(++count).toString(36)}`);
  }

  /** To be called before anything an author wrote is given the arguments. */
  beforeRun(): void {
    // An intent has said what they are.
    if (!this.hasIntent) this.witness?.look();
  }

  /** To be awaited before a client is told that the call goes on without it: from then on, it must not get lost. */
  beforeDetaching(): Promise<void> | undefined {
    return this.hasIntent ? undefined : this.witness?.intend();
  }
}

let count = 0;

/** The refusals that are on record already, so that nobody writes them down again. */
export const recorded = new WeakSet<object>();
