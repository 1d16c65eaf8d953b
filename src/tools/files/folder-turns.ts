import type { Entry } from './jail.ts';

/** Changes folders when nobody else in this process does; whoever comes first is first, and a call that is cancelled does not wait. */
export async function inTurn<T>(
  folders: readonly Entry[],
  signal: AbortSignal,
  change: () => Promise<T>,
): Promise<T> {
  const keys = new Set(folders.map(({ stats }) => `${stats.dev}:${stats.ino}`));
  let leave = nothing;
  const own = new Promise<void>((done) => (leave = done));
  // All places are taken at once, so that no two calls can wait for each other.
  const before = Promise.all([...keys].flatMap((key) => lastTurns.get(key) ?? []));
  // Those who come later wait for those before as well, should this call leave early.
  const over = before.then(() => own);
  for (const key of keys) lastTurns.set(key, over);
  try {
    await unlessAborted(before, signal);
    return await change();
  } finally {
    leave();
    void over.then(() => {
      for (const key of keys) if (lastTurns.get(key) === over) lastTurns.delete(key);
    });
  }
}

const lastTurns = new Map<string, Promise<void>>();

async function unlessAborted(waiting: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let stop = nothing;
  const aborted = new Promise<void>((done) => (stop = done));
  signal.addEventListener('abort', stop);
  try {
    await Promise.race([waiting, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
  signal.throwIfAborted();
}

function nothing(): void {}
