import { OutboundError } from './outbound.ts';

/** Runs work under one deadline; the signal it gets tells it to let go of everything at once, and why. */
export async function withinTime<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const cancel = (): void =>
    controller.abort(new OutboundError('cancelled', 'The request was cancelled.', signal?.reason));
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  const timer = setTimeout(() => {
    controller.abort(
      new OutboundError(
        'timed_out',
        `The answer took over ${timeoutMs / 1000} s; ask for less, or try again.`,
      ),
    );
  }, timeoutMs);
  try {
    controller.signal.throwIfAborted();
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
  }
}

/** Settles as work that cannot be stopped does, or fails as soon as nobody waits for it any more. */
export async function raceStop<T>(work: Promise<T>, stop: AbortSignal): Promise<T> {
  let giveUp = (): void => {};
  const stopped = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(stop.reason as Error);
    stop.addEventListener('abort', giveUp, { once: true });
    // A signal tells only those who listened before.
    if (stop.aborted) giveUp();
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    stop.removeEventListener('abort', giveUp);
  }
}
