import { watch, type FSWatcher } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { watch as watchTree } from 'chokidar';
import { isIgnoredFolder, isSource, type FilePattern } from './module-files.ts';

/** Who hears what. */
export interface SourceListener {
  /** Told of every source file that appears, changes or goes. */
  readonly onChange: (path: string) => void;
  readonly onError: (error: unknown) => void;
}

type Wanted = (path: string, isDirectory: boolean) => boolean;

/** Watches the folders that patterns look into, until the returned function is called. */
export async function watchSources(
  patterns: readonly FilePattern[],
  baseDir: string,
  { onChange, onError }: SourceListener,
): Promise<() => Promise<void>> {
  const { folders, depth } = watchedFolders(patterns, baseDir);
  // The store writes into this folder with every call, and the watcher of trees would read the folder again each time.
  const own = folders.includes(baseDir) ? watchFolder(baseDir, onError) : undefined;
  const isWanted: Wanted = (path, isDirectory) =>
    isDirectory ? depth !== 0 && !isBelowIgnored(path, folders) : isSource(path);
  const inside = own ? await wantedIn(baseDir, isWanted) : [];
  const tree = watchTree([...folders.filter((folder) => !own || folder !== baseDir), ...inside], {
    ignoreInitial: true,
    ...(depth !== undefined && { depth }),
    ignored: (path, stats) => isBelowIgnored(path, folders) || (stats?.isFile() === true && !isSource(path)),
  });
  tree.on('all', (_event, path) => (isSource(path) ? onChange(path) : undefined));
  tree.on('error', onError);
  own?.on('change', (event, name) => {
    const path = join(baseDir, String(name));
    if (isSource(path)) onChange(path);
    // What is new, and what was put in the place of another, is to be watched from now on.
    if (event === 'rename')
      void isFolder(path).then((is) => {
        if (isWanted(path, is)) tree.add(path);
      });
  });
  if (inside.length > 0 || folders.some((folder) => !own || folder !== baseDir))
    await new Promise<void>((resolve) => tree.once('ready', resolve));
  return async () => {
    own?.close();
    await tree.close();
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

async function wantedIn(folder: string, isWanted: Wanted): Promise<string[]> {
  const paths = (await readdir(folder)).map((name) => join(folder, name));
  const areFolders = await Promise.all(paths.map(isFolder));
  return paths.filter((path, index) => isWanted(path, areFolders[index]!));
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

// What tools import is mostly in folders beside them; but a whole project is too much to watch.
function watchedFolders(
  patterns: readonly FilePattern[],
  baseDir: string,
): { folders: string[]; depth: number | undefined } {
  const all = [...new Set(patterns.map(({ folder }) => folder))];
  // A folder inside another is watched with it: the watcher loses changes if it is told of both.
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
