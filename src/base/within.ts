import { LONGEST_TIMER_MS } from './clock.ts';
import { nothing } from './awaitable.ts';

/** Some work took longer than it may. */
export class Overdue extends Error {
  override readonly name = 'Overdue';

  constructor(ms: number) {
    super(`It took over ${ms / 1000} s.`);
  }
}

/**
 * Settles as `work` does, or fails as soon as that takes longer than `ms` (with `Overdue`) or the signal is aborted
 * (with its reason). The work itself continues; its outcome is ignored then. Not for the path of every call:
 * `Deadlines` and `Cancellation.race` do it there for less.
 */
export async function within<T>(ms: number, signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let stop = nothing;
  const over = new Promise<never>((_resolve, reject) => {
    if (ms < Infinity) timer = setTimeout(() => reject(new Overdue(ms)), Math.min(ms, LONGEST_TIMER_MS));
    if (!signal) return;
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    // A signal notifies only listeners that were added before.
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Waits for work for at most `ms`, and says whether it ended; what it fails with is thrown. */
export async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  try {
    await within(ms, undefined, work);
    return true;
  } catch (error) {
    if (error instanceof Overdue) return false;
    throw error;
  }
}
