import { within } from '../../base/within.ts';
import { nothing } from '../../base/awaitable.ts';
import type { HeldEntry } from './jail.ts';

/** Changes folders one call at a time within this process, first come first served; a cancelled call does not wait. */
export async function inTurn<T>(
  folders: readonly HeldEntry[],
  signal: AbortSignal,
  change: () => Promise<T>,
): Promise<T> {
  const keys = new Set(folders.map(({ stats }) => `${stats.dev}:${stats.ino}`));
  let leave = nothing;
  const own = new Promise<void>((done) => (leave = done));
  // All folders are queued for at once, so that two calls cannot deadlock.
  const before = Promise.all([...keys].flatMap((key) => lastTurns.get(key) ?? []));
  // Later calls also wait for earlier ones if this call leaves early.
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
  await within(Infinity, signal, waiting);
  signal.throwIfAborted();
}
