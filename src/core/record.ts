import type { ErrorCode } from '../base/errors.ts';
import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { Reservation } from './memory/memory.ts';

/** What names this process among those that share a record: the number of a process may be given out again. */
export const processName = `${process.pid}.${crypto.randomUUID().slice(-12)}`;

/** Looks at a call before its author's code can change what was sent. */
export interface Witness {
  /** The text about the arguments for the record: computed once, and kept. */
  look(): string;
  /** Looks at what a person made of the call: that is what runs. */
  lookAgain(changed: Call): void;
  /** Puts on record that the call is under way; it has an intent from then on. */
  intend(): Promise<void>;
}

/** Where an answer comes from that was not made for its call: the cache, a run of another call, or an earlier call. */
export type AnsweredFrom = 'cache' | 'joined' | 'replay';

/** What the steps of a call note about it while it passes, for the stage that writes it down. */
export class CallRecord {
  #id: string | undefined;
  #answeredFrom: AnsweredFrom | undefined;
  #bytes: number | undefined;
  #hasIntent = false;
  #hasRun = false;
  /** A verified continuation of an earlier request: it was counted then. */
  readonly isResumed: boolean;
  /** The call within which this one is made, such as that of an agent. */
  readonly within: CallRecord | undefined;
  /** Whether the call has a slot of its caller, which a call within it may use; set by `concurrency`. */
  slot: 'free' | 'lent' | undefined;
  /** The stage that writes the call down; set by `audit`. */
  witness: Witness | undefined;
  /** The trace this call is part of; set by `trace`. */
  traceId: string | undefined;
  /** The access rule that decided, such as `access[2]`; set by each step that decides, so the last one counts. */
  rule: string | undefined;
  /** The idempotency key to be taken, with the intent, before the tool runs; set by `idempotency`. */
  reservation: Reservation | undefined;
  /** The account an upstream was called with; set by the gateway. */
  account: string | undefined;
  /** Who agreed to the call, or how that was told; set by `approve`. */
  approval: string | undefined;
  /** The approval to be used up, with the intent, before the tool runs; set by `approve`. */
  approvalToUse: string | undefined;
  /** Set by `approve` when the answer says, as a result, that the tool was not run: the code for the record. */
  refusal: 'approval_required' | undefined;

  constructor(round: 'first' | 'resumed' = 'first', within?: CallRecord) {
    this.isResumed = round === 'resumed';
    this.within = within;
  }

  /** Where the answer is from, when it was not made for this call. */
  get answeredFrom(): AnsweredFrom | undefined {
    return this.#answeredFrom;
  }

  /** How large the cleaned result is. */
  get bytes(): number | undefined {
    return this.#bytes;
  }

  /** Whether the call's intent is on record. */
  get hasIntent(): boolean {
    return this.#hasIntent;
  }

  /** Whether the target was let run: what ends a call before that is a refusal. */
  get hasRun(): boolean {
    return this.#hasRun;
  }

  /** Notes that the answer is from elsewhere, and how large it is once that is known; `undefined` takes it back. */
  answerFrom(place: AnsweredFrom | undefined, bytes?: number): void {
    this.#answeredFrom = place;
    if (bytes !== undefined) this.#bytes = bytes;
  }

  /** Notes how large the cleaned result is. */
  measure(bytes: number): void {
    this.#bytes = bytes;
  }

  /** Notes that the intent is on record, or is about to be. */
  noteIntent(): void {
    this.#hasIntent = true;
  }

  /** Notes that the intent could not be written. */
  dropIntent(): void {
    this.#hasIntent = false;
  }

  /**
   * To be called before the target is let run: what was sent is looked at before anything an author wrote can change
   * it.
   */
  letRun(): void {
    this.beforeRun();
    this.#hasRun = true;
  }

  /** Notes that the target did not run after all. */
  keepFromRunning(): void {
    this.#hasRun = false;
  }

  /** Ties the intent, the outcome and the log together; made when first asked for. */
  get id(): string {
    return (this.#id ??= `${processName}-${(++count).toString(36)}`);
  }

  /** To be called before anything an author wrote is given the arguments. */
  beforeRun(): void {
    // An intent has said what they are.
    if (!this.#hasIntent) this.witness?.look();
  }

  /** To be awaited before a client learns that the call continues without it: it must not get lost then. */
  beforeDetaching(): Promise<void> | undefined {
    return this.#hasIntent ? undefined : this.witness?.intend();
  }
}

let count = 0;

/** The refusals that are on record already, so that they are not recorded twice. */
export const recorded = new WeakSet<object>();

/** A request of a known caller that was turned away before it became a call. */
export interface Refusal {
  readonly caller: Caller;
  /** The method, where the message could be read that far. */
  readonly method: string | undefined;
  /** The tool, prompt, resource or task that was named. */
  readonly target: string | undefined;
  readonly code: ErrorCode;
}
