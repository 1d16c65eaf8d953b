import { watch, type FSWatcher, type Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { isIgnoredFolder, isSource, type FilePattern } from './files.ts';
import { followTree, WatchedFolder, type SourceListener } from './watched-folder.ts';

type Wanted = (path: string, isDirectory: boolean) => boolean;

// How often to check whether a folder was removed or replaced.
const LOOK_MS = 1_000;

/** Watches the folders of some patterns until the returned function is called. */
export async function watchSources(
  patterns: readonly FilePattern[],
  baseDir: string,
  told: Omit<SourceListener, 'isWatched'>,
): Promise<() => Promise<void>> {
  const listener = { ...told, isWatched: isSource };
  const { folders, depth } = watchedFolders(patterns, baseDir);
  // The store writes to this folder with every call, and the tree watcher would read the folder again each time.
  const own = folders.includes(baseDir) ? watchFolder(baseDir, listener.onError) : undefined;
  const isWanted: Wanted = (path, isDirectory) =>
    isDirectory ? depth !== 0 && !isBelowIgnored(path, folders) : isSource(path);
  const options = {
    ...(depth !== undefined && { depth }),
    ignored: (path: string, stats?: Stats) =>
      isBelowIgnored(path, folders) || (stats?.isFile() === true && !isSource(path)),
  };
  const watched = new Map<string, WatchedFolder>();
  const follow = (folder: string): WatchedFolder => {
    const one = watched.get(folder) ?? new WatchedFolder(folder, options, listener);
    watched.set(folder, one);
    return one;
  };
  const outside = folders.filter((folder) => !own || folder !== baseDir);
  const inside = own ? await wantedIn(baseDir, isWanted) : { folders: [], files: [] };
  const files = own && followTree(inside.files, options, listener);
  const isReady = inside.files.length > 0 && new Promise<void>((resolve) => files?.once('ready', resolve));
  let isClosed = false;
  own?.on('change', (event, name) => {
    const path = join(baseDir, String(name));
    if (isSource(path)) listener.onChange(path);
    if (event === 'rename') void renamed(path);
  });
  // New and replaced folders are watched from now on.
  const renamed = async (path: string): Promise<void> => {
    const is = await isFolder(path);
    if (isClosed) return;
    if (is && isWanted(path, is)) await follow(path).look();
    else if (isWanted(path, is)) files?.add(path);
    const one = watched.get(path);
    if (is || !one) return;
    await one.look();
    // If it comes back, its name is reported again.
    if (one.isAway) watched.delete(path);
  };
  await Promise.all([...outside, ...inside.folders].map((folder) => follow(folder).start()));
  await isReady;
  const timer = setInterval(() => watched.forEach((folder) => void folder.look()), LOOK_MS).unref();
  return async () => {
    isClosed = true;
    clearInterval(timer);
    own?.close();
    await Promise.all([files?.close(), ...[...watched.values()].map((folder) => folder.close())]);
  };
}

function watchFolder(folder: string, onError: SourceListener['onError']): FSWatcher | undefined {
  try {
    return watch(folder).on('error', onError);
  } catch (error) {
    onError(error);
    return undefined;
  }
}

async function wantedIn(
  folder: string,
  isWanted: Wanted,
): Promise<{ readonly folders: string[]; readonly files: string[] }> {
  const paths = (await readdir(folder)).map((name) => join(folder, name));
  const areFolders = await Promise.all(paths.map(isFolder));
  const wanted = (areThey: boolean): string[] =>
    paths.filter((path, index) => areFolders[index] === areThey && isWanted(path, areThey));
  return { folders: wanted(true), files: wanted(false) };
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

// Imported files are mostly in folders beside the tools; but a whole project is too much to watch.
function watchedFolders(
  patterns: readonly FilePattern[],
  baseDir: string,
): { folders: string[]; depth: number | undefined } {
  const all = [...new Set(patterns.map(({ folder }) => folder))];
  // A folder inside another is watched with it: the watcher loses changes if it is given both.
  const folders = all.filter((folder) => !all.some((other) => other !== folder && isBelow(folder, other)));
  if (!folders.some((folder) => folder === baseDir || isBelow(baseDir, folder)))
    return { folders, depth: undefined };
  const depths = patterns.map(({ folder, depth }) => {
    const outer = folders.find((one) => one === folder || isBelow(folder, one)) ?? folder;
    return depth + relative(outer, folder).split(sep).filter(Boolean).length;
  });
  const depth = Math.max(...depths);
  return { folders, depth: Number.isFinite(depth) ? depth : undefined };
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function isBelowIgnored(path: string, folders: readonly string[]): boolean {
  const folder = folders.find((one) => isBelow(path, one));
  if (folder === undefined) return false;
  return relative(folder, path).split(/[\\/]/).some(isIgnoredFolder);
}
