import type { Log } from '../observe/log.ts';

/** Uncaught errors in a serving process. */
export interface UncaughtErrors {
  /** Aborted by the first of them: the server must drain. */
  readonly signal: AbortSignal;
  /** Called when there is a server that can drain, and a log that redacts secrets. */
  onServing(log: Log, drainMs: number): void;
  /** Called when the server has drained; the process ends even if tools left handles open. */
  onDrained(): void;
}

// How much longer than its drain the server may take before it is ended.
const GRACE_MS = 10_000;
// How long writing the last log line may take.
const LAST_WORDS_MS = 1_000;
// A timer that fails repeatedly must not fill the log while the server drains.
const MAX_TOLD = 10;

/** Handles uncaught errors; only for a command, which owns its process. */
export function catchAccidents(): UncaughtErrors {
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
  // The failed code may have left state half changed, so the process must end; calls under way did not fail, so they
  // finish first.
  const take = (cause: unknown): void => {
    if (!log) failToStart();
    if (told++ < MAX_TOLD) tell(log, cause);
    if (first.signal.aborted) return;
    process.exitCode = 1;
    endLater();
    first.abort();
  };
  process.on('uncaughtException', take).on('unhandledRejection', take);
  // Without a listener Node.js prints its own warning for rejections that are handled late.
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

// The error is not shown: which secrets it may contain is not known yet.
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
    // An error here would end the process at once and print its text unredacted.
  }
}
