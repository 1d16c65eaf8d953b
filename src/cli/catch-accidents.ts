import type { Log } from '../observe/log.ts';

/** Errors that nobody caught, in a process that serves. */
export interface Accidents {
  /** Aborted by the first of them: the server has to drain. */
  readonly signal: AbortSignal;
  /** From now on there is a server that can drain, and a log that keeps secrets to itself. */
  onServing(log: Log, drainMs: number): void;
  /** The server has drained; what its tools left behind keeps the process no longer. */
  onDrained(): void;
}

// How much longer than its drain the server may take to end; then it is ended.
const GRACE_MS = 10_000;
// How long a line of the log may take to be written once all else is done.
const LAST_WORDS_MS = 1_000;
// A timer that fails again and again must not fill the log while the server drains.
const MAX_TOLD = 10;

/** Takes over the errors that nobody caught; only for a command, which owns its process. */
export function catchAccidents(): Accidents {
  const first = new AbortController();
  let log: Log | undefined;
  let limitMs = 0;
  let isDrained = false;
  let end: NodeJS.Timeout | undefined;
  let told = 0;

  const endLater = (): void => {
    clearTimeout(end);
    end = setTimeout(() => process.exit(1), limitMs);
    if (isDrained) end.unref();
  };
  // What failed may have left anything half done, so the process cannot go on; but calls of others under way did not fail, so they are finished first.
  const take = (cause: unknown): void => {
    if (!log) failToStart();
    if (told++ < MAX_TOLD) tell(log, cause);
    if (first.signal.aborted) return;
    process.exitCode = 1;
    endLater();
    first.abort();
  };
  process.on('uncaughtException', take).on('unhandledRejection', take);
  // Without a listener Node.js warns of those that are caught too late, in a form that is not the log's.
  process.on('rejectionHandled', () => {});

  return {
    signal: first.signal,
    onServing(serverLog, drainMs) {
      log = serverLog;
      limitMs = drainMs + GRACE_MS;
    },
    onDrained() {
      isDrained = true;
      limitMs = LAST_WORDS_MS;
      if (first.signal.aborted) endLater();
    },
  };
}

// Nothing of the error is shown: which secrets may be in it is not known yet.
function failToStart(): never {
  process.stderr.write(
    'toolcrib: While the server started, something failed outside of any call; toolcrib check shows where.\n',
  );
  process.exit(1);
}

function tell(log: Log, cause: unknown): void {
  try {
    log('error', 'Something failed outside of any call, so the server finishes what is under way and ends.', {
      cause: cause ?? String(cause),
    });
  } catch {
    // An error from here would end the process at once, and its text would be on standard error as it is.
  }
}
