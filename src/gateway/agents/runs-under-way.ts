import { ToolcribError } from '../../base/errors.ts';
import type { ToolCall } from '../../core/call.ts';
import type { Caller } from '../../core/caller.ts';

/** The calls that agents are answering: they make further calls, so they end when their caller loses access. */
export class RunsUnderWay {
  readonly #calls = new Set<ToolCall>();

  /** Notes that a call is being answered, until the returned function is called. */
  begin(call: ToolCall): () => void {
    this.#calls.add(call);
    return () => this.#calls.delete(call);
  }

  /** Ends those of callers whose access has ended. */
  dismiss(isGone: (caller: Caller) => boolean): void {
    for (const { caller, cancellation } of this.#calls)
      if (isGone(caller))
        cancellation.abort(new ToolcribError('cancelled', 'Its caller no longer has access.'));
  }
}
