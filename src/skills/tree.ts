import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** A file below a folder of skills, or why it cannot be one. */
export interface TreeFile {
  /** Where it is below the folder, with slashes. */
  readonly path: string;
  /** Where it is read; a link inside the folder is followed. */
  readonly place: string;
  readonly size: number;
  readonly flaw?: string;
}

// More than any folder of skills has, and far less than a whole disk.
const MAX_ENTRIES = 50_000;

/**
 * All files below a folder. What begins with a dot is left out. Links are followed to files inside the folder only, so
 * that nothing from elsewhere is served.
 */
export async function treeOf(folder: string): Promise<readonly TreeFile[]> {
  const top = await realpath(folder);
  const files: TreeFile[] = [];
  const waiting = [''];
  for (let at = 0; at < waiting.length; at++) {
    const within = waiting[at]!;
    const entries = await readdir(join(top, within), { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const path = within === '' ? entry.name : `${within}/${entry.name}`;
      if (entry.isDirectory()) waiting.push(path);
      else files.push(await fileAt(top, path, entry.isFile()));
      if (files.length + waiting.length > MAX_ENTRIES)
        throw new RangeError(`The folder has more than ${MAX_ENTRIES} files and folders`);
    }
  }
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function fileAt(top: string, path: string, isPlain: boolean): Promise<TreeFile> {
  const named = join(top, ...path.split('/'));
  try {
    const place = isPlain ? named : await realpath(named);
    if (!isBelow(place, top)) return flawed(path, 'is a link that leads out of the folder');
    const { size, ...there } = await facts(place);
    if (there.isFolder) return flawed(path, 'is a link to a folder');
    return there.isFile ? { path, place, size } : flawed(path, 'is not a regular file');
  } catch (error) {
    return flawed(path, `cannot be read (${readErrorOf(error)})`);
  }
}

/** The bytes of a file; throws where it is larger than it was, or was replaced by a link. */
export async function readTreeFile({ place, size }: TreeFile): Promise<Buffer> {
  const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const now = await handle.stat();
    if (!now.isFile()) throw new Error('it is not a regular file');
    const bytes = Buffer.alloc(size + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
      length += bytesRead;
      if (length > size) throw new Error('it is being written');
      if (bytesRead === 0) return bytes.subarray(0, length);
    }
  } finally {
    await handle.close();
  }
}

/** The code or the text of an error. */
export function readErrorOf(error: unknown): string {
  if (error instanceof Error) return 'code' in error ? String(error.code) : error.message;
  return String(error);
}

async function facts(place: string): Promise<{ size: number; isFile: boolean; isFolder: boolean }> {
  const there = await stat(place);
  return { size: there.size, isFile: there.isFile(), isFolder: there.isDirectory() };
}

function flawed(path: string, flaw: string): TreeFile {
  return { path, place: '', size: 0, flaw };
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
