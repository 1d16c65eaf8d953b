import type { Stats } from 'node:fs';
import { link, lstat, mkdir, opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { lookUp, withFolder, type HeldEntry } from './jail.ts';
import { JailRefusal } from './jail-refusal.ts';
import { ALREADY_EXISTS, HARD_LINKED, typeNotAllowed } from './failure.ts';
import {
  isAllowedType,
  nameIn,
  jailPlaceOf,
  type Failure,
  type FileSettings,
  type FileOperation,
  type FileOutcome,
} from './site.ts';
import { syncFolder } from './write.ts';
import { inTurn } from './folder-turns.ts';

/** Moves a file or folder below the same root. */
export const move: FileOperation = async ({ path, to, overwrite = false }, site) => {
  if (to === undefined) return { error: 'Missing to', message: 'Pass the new path as to.' };
  const { settings, signal } = site;
  const source = nameIn(path, site);
  const target = nameIn(to, site);
  const carryOver = async (from: HeldEntry, into: HeldEntry): Promise<FileOutcome> => {
    const moved = await lookUp(from, source.name);
    if (!moved?.isFile() && !moved?.isDirectory()) throw new JailRefusal('missing');
    const isFile = moved.isFile();
    if (isFile && !(isAllowedType(source.name, settings) && isAllowedType(target.name, settings)))
      return typeNotAllowed(settings);
    const problem = obstacle(moved, await lookUp(into, target.name), { overwrite });
    if (problem) return problem;
    if (!isFile && !isAllOffered(settings) && !(await withFolder(jailPlaceOf(path, site), isEmpty)))
      return NOT_EMPTY;
    signal.throwIfAborted();
    const carry = isFile ? (overwrite ? rename : moveFile) : moveFolder;
    await carry(`${from.path}/${source.name}`, `${into.path}/${target.name}`);
    await syncFolder(into);
    await syncFolder(from);
    return { path: target.name, type: isFile ? 'file' : 'directory' };
  };
  return withFolder(source.folder, (from) =>
    withFolder(target.folder, (into) => inTurn([from, into], signal, () => carryOver(from, into))),
  );
};

const NOT_EMPTY: Failure = {
  error: 'Directory not empty',
  message:
    'Only empty directories can be moved here, because others may hold files that are not offered. Move the files one by one.',
};

// Moving a folder moves everything in it.
function isAllOffered({ extensions, hidden }: FileSettings): boolean {
  return extensions.length === 0 && hidden;
}

async function isEmpty({ path }: HeldEntry): Promise<boolean> {
  const entries = await opendir(path);
  try {
    return (await entries.read()) === null;
  } finally {
    await entries.close();
  }
}

function obstacle(
  moved: Stats,
  there: Stats | undefined,
  { overwrite }: { readonly overwrite: boolean },
): Failure | undefined {
  if (there && !(overwrite && there.isFile() && moved.isFile())) return ALREADY_EXISTS;
  const isLinked = [moved, there].some((stats) => stats?.isFile() && stats.nlink > 1);
  return isLinked ? HARD_LINKED : undefined;
}

// A rename would replace a file created since the check; making a link, or a folder, fails instead.
async function moveFile(from: string, to: string): Promise<void> {
  await link(from, to);
  try {
    // If another process has replaced the file since, it is kept.
    if (await isSame(from, to)) await unlink(from);
  } catch (error) {
    await unlink(to);
    throw error;
  }
}

async function isSame(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => lstat(path, { bigint: true })));
  return a!.dev === b!.dev && a!.ino === b!.ino;
}

async function moveFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  try {
    await rename(from, to);
  } catch (error) {
    await rmdir(to);
    throw error;
  }
}
