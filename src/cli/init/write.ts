import { lstatSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';

/** Throws if files are in the way, and names them. */
export function refuseExisting(folder: string, paths: Iterable<string>): void {
  const there = [...paths].filter((path) => isThere(join(folder, path)));
  if (there.length === 0) return;
  const text = `There ${there.length === 1 ? 'is' : 'are'} already ${there.join(', ')}; use --force to overwrite, or name another folder.`;
  throw new ToolcribError('invalid_setup', text);
}

/** Writes files into a folder; on failure, removes the files and folders it created. */
export function writeFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
  { overwrite }: { readonly overwrite: boolean },
): void {
  const made: string[] = [];
  const folders: string[] = [];
  // Ctrl+C does not interrupt it, so that the project is complete.
  const wait = (): void => {};
  process.on('SIGINT', wait);
  try {
    for (const [path, text] of files) {
      const file = join(folder, path);
      const first = mkdirSync(dirname(file), { recursive: true });
      if (first !== undefined) folders.push(...foldersBetween(first, dirname(file)));
      if (!isThere(file)) made.push(file);
      writeFileSync(file, text, { flag: overwrite ? 'w' : 'wx' });
    }
  } catch (cause) {
    for (const file of made) rmSync(file, { force: true });
    for (const one of folders.toReversed()) rmdirSync(one);
    const { code } = cause as NodeJS.ErrnoException;
    throw new ToolcribError(
      'invalid_setup',
      `${folder} cannot be written to (${code ?? 'unknown reason'}).`,
      { cause },
    );
  } finally {
    process.off('SIGINT', wait);
  }
}

// A dangling link counts as existing.
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function foldersBetween(first: string, last: string): string[] {
  const steps = relative(first, last).split('/').filter(Boolean);
  return [first, ...steps.map((_, index) => join(first, ...steps.slice(0, index + 1)))];
}
