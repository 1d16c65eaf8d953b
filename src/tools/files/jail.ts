import { constants, type Stats } from 'node:fs';
import { lstat, open, type FileHandle } from 'node:fs/promises';
import { JailRefusal } from './jail-refusal.ts';

/** A place below a root: where the operator's path leads, and the names to follow from there. */
export interface Place {
  /** A folder the operator named; links on the way there are the operator's own. */
  readonly base: string;
  /** Names that were checked, each an entry of the one before. */
  readonly names: readonly string[];
  readonly signal: AbortSignal;
}

/** A file or folder that is held: whatever happens to its name, this is still the same one. */
export interface Entry {
  /** Its name in its folder; empty for the root. */
  readonly name: string;
  /** Leads to what is held, and nowhere else, for as long as it is held. */
  readonly path: string;
  readonly stats: Stats;
}

/** Marks a descriptor that holds something without opening it, so that a pipe or a device does not notice; Node has no name for it. */
export const O_PATH = 0o10_000_000;

/** Where a process finds what it holds. */
export const DESCRIPTORS = '/proc/self/fd';

/** Walks to a place, one held folder after the other and never through a link, and holds what is there while it is used. */
export async function withEntry<T>(place: Place, use: (entry: Entry) => Promise<T>): Promise<T> {
  let held = await hold(await open(place.base, O_PATH | constants.O_DIRECTORY), '');
  try {
    for (const name of place.names) {
      place.signal.throwIfAborted();
      const next = await step(held, name);
      await held.handle.close();
      held = next;
    }
    place.signal.throwIfAborted();
    return await use(held);
  } finally {
    await held.handle.close();
  }
}

/** As `withEntry`, for a folder. */
export function withFolder<T>(place: Place, use: (folder: Entry) => Promise<T>): Promise<T> {
  return withEntry(place, (entry) => {
    if (!entry.stats.isDirectory()) throw new JailRefusal('missing');
    return use(entry);
  });
}

/** What a name in a held folder stands for at the moment, if anything; links are refused. */
export async function lookUp(folder: Entry, name: string): Promise<Stats | undefined> {
  try {
    const stats = await lstat(`${folder.path}/${name}`);
    if (stats.isSymbolicLink()) throw new JailRefusal('invalid');
    return stats;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

interface Held extends Entry {
  readonly handle: FileHandle;
}

async function step(folder: Held, name: string): Promise<Held> {
  if (!folder.stats.isDirectory()) throw new JailRefusal('missing');
  const next = await hold(await open(`${folder.path}/${name}`, O_PATH | constants.O_NOFOLLOW), name);
  const { stats } = next;
  if (stats.isFile() || stats.isDirectory()) return next;
  await next.handle.close();
  // A link is refused wherever it points, so that the answer tells nothing about what is there.
  throw new JailRefusal(stats.isSymbolicLink() ? 'invalid' : 'missing');
}

async function hold(handle: FileHandle, name: string): Promise<Held> {
  try {
    return { name, path: `${DESCRIPTORS}/${handle.fd}`, stats: await handle.stat(), handle };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
