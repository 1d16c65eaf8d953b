/** Finds the addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * Lets few lookups run at once. One that is under way cannot be stopped and keeps a thread of the process until the system gives up; whoever waits
 * for a turn and stops waiting never gets as far.
 */
export function limitLookups(
  lookup: Lookup,
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
      // The turn is handed on, so that nobody who comes now gets in between.
      if (next) next();
      else underWay--;
    }
  };
}
