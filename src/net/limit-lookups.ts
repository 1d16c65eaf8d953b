/** Resolves a host name to addresses. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

/**
 * Limits how many lookups run at once. A running lookup cannot be stopped and holds a thread until the system
 * gives up; one that is cancelled while it waits is never started.
 */
export function limitLookups(
  lookup: ResolveHost,
  most: number,
): (host: string, stop: AbortSignal) => Promise<readonly string[]> {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  return async (host, stop) => {
    if (underWay < most) underWay++;
    else await new Promise<void>((go) => void waiting.push(go));
    try {
      stop.throwIfAborted();
      return await lookup(host);
    } finally {
      const next = waiting.shift();
      // The slot is handed over directly, so that no newcomer can take it.
      if (next) next();
      else underWay--;
    }
  };
}
