import { lstatSync, mkdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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
      makeFolder(dirname(file), folders);
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

// Step by step: Node's own way never ends in a folder such as /proc, which says of each new one that it is not there.
function makeFolder(folder: string, made: string[]): void {
  const missing: string[] = [];
  for (let at = resolve(folder); !isFolder(at); at = dirname(at)) missing.unshift(at);
  for (const one of missing) {
    mkdirSync(one);
    made.push(one);
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
