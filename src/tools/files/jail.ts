import { constants, type Stats } from 'node:fs';
import { lstat, open, type FileHandle } from 'node:fs/promises';
import { JailRefusal } from './jail-refusal.ts';

/** A place below a root: the operator's folder, and the names to follow from there. */
export interface JailPlace {
  /** A folder the operator named; links in its path are trusted. */
  readonly base: string;
  /** Checked names, each an entry of the one before. */
  readonly names: readonly string[];
  readonly signal: AbortSignal;
}

/** A file or folder held by a descriptor: it stays the same one, whatever happens to its name. */
export interface HeldEntry {
  /** Its name in its folder; empty for the root. */
  readonly name: string;
  /** Opens what is held, and nothing else, as long as it is held. */
  readonly path: string;
  readonly stats: Stats;
}

/** Holds an entry without opening it, so that a pipe or device is not affected; Node has no constant for it. */
export const O_PATH = 0o10_000_000;

/** Where a process finds its descriptors. */
export const DESCRIPTORS = '/proc/self/fd';

/** Walks to a place, one held folder after the other and never through a link, and holds the entry while it is used. */
export async function withEntry<T>(place: JailPlace, use: (entry: HeldEntry) => Promise<T>): Promise<T> {
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
export function withFolder<T>(place: JailPlace, use: (folder: HeldEntry) => Promise<T>): Promise<T> {
  return withEntry(place, (entry) => {
    if (!entry.stats.isDirectory()) throw new JailRefusal('missing');
    return use(entry);
  });
}

/** The entry of a held folder with this name, if there is one; links are refused. */
export async function lookUp(folder: HeldEntry, name: string): Promise<Stats | undefined> {
  try {
    const stats = await lstat(`${folder.path}/${name}`);
    if (stats.isSymbolicLink()) throw new JailRefusal('invalid');
    return stats;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

interface Held extends HeldEntry {
  readonly handle: FileHandle;
}

async function step(folder: Held, name: string): Promise<Held> {
  if (!folder.stats.isDirectory()) throw new JailRefusal('missing');
  const next = await hold(await open(`${folder.path}/${name}`, O_PATH | constants.O_NOFOLLOW), name);
  const { stats } = next;
  if (stats.isFile() || stats.isDirectory()) return next;
  await next.handle.close();
  // A link is refused wherever it points, so that the response reveals nothing about its target.
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
