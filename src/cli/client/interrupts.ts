import { exitCodes } from './exit-codes.ts';

/** Ctrl-C: once it stops what is under way, twice it ends the program. */
export interface Interrupts {
  /** Something begins that can be stopped. */
  begin(): AbortSignal;
  /** It is over; Ctrl-C ends the program from here on. */
  end(): void;
  /** As if Ctrl-C was pressed. */
  cancel(): void;
  readonly stop: () => void;
}

// npm passes on a Ctrl-C that the program already got from the terminal; no person presses it twice so fast.
const SAME_MS = 100;

/** Listens for Ctrl-C and for the end of the terminal. */
export function watchInterrupts(): Interrupts {
  let current: AbortController | undefined;
  let lastAt = -Infinity;
  const cancel = (): void => {
    const now = performance.now();
    const isSame = now - lastAt < SAME_MS;
    lastAt = now;
    if (isSame) return;
    if (!current || current.signal.aborted) process.exit(exitCodes.interrupted);
    current.abort();
  };
  // A process that exits ends the programs it started; one that a signal ends does not.
  const terminate = (): void => process.exit(143);
  const hangUp = (): void => process.exit(129);
  process.on('SIGINT', cancel).on('SIGTERM', terminate).on('SIGHUP', hangUp);
  return {
    begin() {
      lastAt = -Infinity;
      current = new AbortController();
      return current.signal;
    },
    end: () => (current = undefined),
    cancel,
    stop: () => void process.off('SIGINT', cancel).off('SIGTERM', terminate).off('SIGHUP', hangUp),
  };
}
