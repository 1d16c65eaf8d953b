const LOOK_MS = 1_000;
const parent = process.ppid;

/**
 * Aborted when the shell that npm started this process in is gone; `undefined` where npm did not start it.
 * npm passes SIGTERM on to that shell, which ends without telling its own child.
 */
export function parentGone(): AbortSignal | undefined {
  if (process.env['npm_execpath'] === undefined) return undefined;
  const gone = new AbortController();
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    gone.abort();
  }, LOOK_MS).unref();
  return gone.signal;
}
