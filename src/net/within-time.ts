import { OutboundError } from './outbound.ts';

/** Runs work under one timeout; its signal tells the work to release everything at once, and why. */
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
