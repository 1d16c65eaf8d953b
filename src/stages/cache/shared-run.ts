import type { ToolCall, Voice } from '../../core/call.ts';
import { Cancellation } from '../../base/cancellation.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Asker } from '../../core/interview.ts';
import type { Question } from '../../core/question.ts';
import type { Done, Failed, Result } from '../../core/result.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Next } from '../../core/stage.ts';

/** How a shared run ended: the result, and its JSON if it has one. */
export interface SharedEnding {
  readonly result: Done | Failed;
  readonly text: string | undefined;
}

interface SharedRunEvents {
  /** No more calls may join. */
  readonly onClosed: (run: SharedRun) => void;
  /** The result may be shared. */
  readonly onEnded: (ending: SharedEnding) => void;
}

/**
 * One run of a tool for all identical calls. It is stopped only when all of them have left. A run that asks the first
 * caller a question, uses its answers or becomes its task belongs to that caller alone: the others run for themselves.
 */
export class SharedRun implements Asker {
  readonly #cancellation = new Cancellation();
  readonly #call: ToolCall;
  readonly #events: SharedRunEvents;
  readonly #asker: Asker | undefined;
  readonly #others: Promise<SharedEnding | undefined>;
  #endOthers!: (ending: SharedEnding | undefined) => void;
  #failOthers!: (error: unknown) => void;
  #waiting = 0;
  #isOver = false;
  #isOwn = false;

  constructor(call: ToolCall, events: SharedRunEvents) {
    this.#call = call;
    this.#events = events;
    this.#asker = call.interview.asker;
    if (this.#asker) call.interview.askThrough(this);
    this.#others = new Promise((resolve, reject) => {
      this.#endOthers = resolve;
      this.#failOthers = reject;
    });
    // Avoids an unhandled rejection if no other call has joined.
    this.#others.catch(() => {});
  }

  /** Whether the tool has started. */
  get hasRun(): boolean {
    return this.#call.record.hasRun;
  }

  /** The size of the cleaned result. */
  get bytes(): number | undefined {
    return this.#call.record.bytes;
  }

  /** Runs the tool for the first call. */
  lead(next: Next): Awaitable<Result> {
    const { voice } = this.#call;
    let work: Awaitable<Result>;
    try {
      work = next({
        ...this.#call,
        cancellation: this.#cancellation,
        voice: voice.detach ? noteDetaching(voice, () => this.#keepToItself()) : voice,
      });
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    if (!(work instanceof Promise)) {
      this.#end(work);
      return work;
    }
    work.then(
      (result) => this.#end(result),
      (error: unknown) => this.#fail(error),
    );
    return this.#waitFor(work, this.#call.cancellation);
  }

  /** Waits for the run to end; `undefined` if the joining call must run for itself. */
  join({ cancellation }: ToolCall): Promise<SharedEnding | undefined> {
    return this.#waitFor(this.#others, cancellation);
  }

  /** Passes a question to the first caller, if it can be reached while the call runs. */
  ask(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>> {
    this.#keepToItself();
    return this.#asker!.ask(questions);
  }

  async #waitFor<T>(work: Promise<T>, cancellation: Cancellation): Promise<T> {
    this.#waiting++;
    try {
      return await cancellation.race(work);
    } finally {
      if (--this.#waiting === 0 && !this.#isOver) this.#abandon(cancellation.reason);
    }
  }

  #abandon(reason: Error | undefined): void {
    this.#keepToItself();
    this.#cancellation.abort(reason ?? new ToolcribError('cancelled', 'Nobody waits for the call any more.'));
  }

  // The others need not wait for the end.
  #keepToItself(): void {
    this.#isOwn = true;
    this.#events.onClosed(this);
    this.#endOthers(undefined);
  }

  #end(result: Result): void {
    this.#close();
    if (this.#isOwn || result.kind === 'needs_input') return this.#endOthers(undefined);
    const ending = { result, text: toText(result) };
    this.#events.onEnded(ending);
    this.#endOthers(ending);
  }

  #fail(error: unknown): void {
    this.#close();
    if (this.#isOwn) this.#endOthers(undefined);
    else this.#failOthers(error);
  }

  #close(): void {
    const { interview } = this.#call;
    this.#isOver = true;
    if (interview.asker === this) interview.askThrough(this.#asker);
    this.#isOwn ||= interview.raised !== undefined || interview.accepted.size > 0;
    this.#events.onClosed(this);
  }
}

function noteDetaching(voice: Voice, onDetach: () => void): Voice {
  const { report, log, publish, closeStream } = voice;
  return {
    ...(report && { report }),
    ...(log && { log }),
    ...(publish && { publish }),
    ...(closeStream && { closeStream }),
    detach() {
      onDetach();
      voice.detach?.();
    },
    cleanWith: (clean) => voice.cleanWith?.(clean),
  };
}

function toText(result: Done | Failed): string | undefined {
  try {
    return JSON.stringify(result);
  } catch {
    return undefined;
  }
}
