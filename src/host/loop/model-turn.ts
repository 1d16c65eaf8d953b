import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { Cancelled } from '../../client/errors.ts';
import type { Model, ModelEvent, ModelRequest } from '../models/model.ts';

/** How a turn of the model ended. */
export type TurnEnd = Extract<ModelEvent, { type: 'end' }>;

/** What is needed beside the request. */
export interface TurnOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onEvent: (event: Exclude<ModelEvent, { type: 'end' }>) => void;
}

/** How long something that was cancelled may still take to end by itself. */
export const GRACE_MS = 2_000;

/** Asks a model for one turn, and passes on its events meanwhile. */
export async function takeTurn(model: Model, request: ModelRequest, options: TurnOptions): Promise<TurnEnd> {
  const { signal, onEvent } = options;
  const events = model.respond(request, { signal })[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const next = await soonAfterAbort(events.next(), options);
      if (next.done === true) {
        isOver = true;
        throw new ToolcribError('invalid_answer', `The model ${model.name} said nothing at its end.`);
      }
      if (next.value.type === 'end') return next.value;
      onEvent(next.value);
    }
  } catch (error) {
    isOver = true;
    throw signal.aborted && !(error instanceof Cancelled) ? new Cancelled({ cause: error }) : error;
  } finally {
    // Lets go of the connection; nothing is expected from it any more.
    if (!isOver) await soonAfterAbort(Promise.resolve(events.return?.()), options);
  }
}

/** The work's end, or a cancellation once it takes too long to end after the signal was aborted. */
export async function soonAfterAbort<T>(
  work: Promise<T>,
  { signal, clock }: Pick<TurnOptions, 'signal' | 'clock'>,
): Promise<T> {
  let stop = (): void => {};
  let cancelTimer = (): void => {};
  const late = new Promise<never>((_resolve, reject) => {
    stop = () => {
      cancelTimer = clock.after(GRACE_MS, () => reject(new Cancelled({ cause: signal.reason })));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    signal.removeEventListener('abort', stop);
    cancelTimer();
  }
}
