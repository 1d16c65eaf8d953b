import type { ErrorCode } from '../base/errors.ts';
import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { Reservation } from './memory/memory.ts';

/** The name of this process among those that share a record; not the process number alone, which is used again. */
export const processName = `${process.pid}.${crypto.randomUUID().slice(-12)}`;

/** Looks at a call before its author's code can change what was sent. */
export interface Witness {
  /** The text about the arguments for the record: computed once, and kept. */
  look(): string;
  /** Looks again after a person has changed the arguments: the changed call is the one that runs. */
  lookAgain(changed: Call): void;
  /** Writes the intent of the call, so that it is on record while it is under way. */
  intend(): Promise<void>;
}

/** Where an answer is from that was not made for its call: the cache, a run of another call, or an earlier call. */
export type AnsweredFrom = 'cache' | 'joined' | 'replay';

/** Facts that the steps of a call note on it, for the stage that writes the record. */
export class CallRecord {
  #id: string | undefined;
  #answeredFrom: AnsweredFrom | undefined;
  #bytes: number | undefined;
  #hasIntent = false;
  #hasRun = false;
  /** Whether the call goes on from an earlier request, as proven by its sealed state: limits counted it then. */
  readonly isResumed: boolean;
  /** The call within which this one is made, such as that of an agent. */
  readonly within: CallRecord | undefined;
  /** Whether the call has a slot of its caller, which a call within it may use; set by `concurrency`. */
  slot: 'free' | 'lent' | undefined;
  /** Looks at the call for the record; set by `audit`. */
  witness: Witness | undefined;
  /** The trace this call is part of; set by `trace`. */
  traceId: string | undefined;
  /** The access rule that decided, such as `access[2]`; set by each step that decides, so the last one counts. */
  rule: string | undefined;
  /** The idempotency key to be taken, with the intent, before the tool runs; set by `idempotency`. */
  reservation: Reservation | undefined;
  /** The account an upstream was called with; set by the gateway. */
  account: string | undefined;
  /** Who agreed to the call: a person, a grant or an argument; set by `approve`. */
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

  /** Whether the target was allowed to run: a call that fails before is refused. */
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

  /** Called right before the target runs: the arguments are recorded before its author's code can change them. */
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

  /** Called before code of an author gets the arguments. */
  beforeRun(): void {
    // The intent has them already.
    if (!this.#hasIntent) this.witness?.look();
  }

  /** Awaited before a client gets a task for the call: from then on the call must be on record. */
  beforeDetaching(): Promise<void> | undefined {
    return this.#hasIntent ? undefined : this.witness?.intend();
  }
}

let count = 0;

/** The refusals that are on record already, so that they are not recorded twice. */
export const recorded = new WeakSet<object>();

/** A request of a known caller that was refused before it became a call. */
export interface Refusal {
  readonly caller: Caller;
  /** The method, where the message could be read that far. */
  readonly method: string | undefined;
  /** The tool, prompt, resource or task that was named. */
  readonly target: string | undefined;
  readonly code: ErrorCode;
}
