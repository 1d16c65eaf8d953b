import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

/** Reads a small file; throws with a `code` for anything else, and does not wait for the other end of a pipe. */
export function readRegularFile(path: string, maxBytes: number): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size } = checked(fstatSync(file));
    if (size > maxBytes) throw failure('too large');
    // Some files say that they are empty and are not.
    const bytes = Buffer.alloc(Math.min(Math.max(size, 65_536), maxBytes) + 1);
    const length = readAll(file, bytes);
    if (length > maxBytes) throw failure('too large');
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}

function readAll(file: number, bytes: Buffer): number {
  let length = 0;
  for (;;) {
    const read = readSync(file, bytes, length, bytes.length - length, null);
    length += read;
    if (read === 0 || length === bytes.length) return length;
  }
}

function checked(stats: Stats): Stats {
  if (stats.isFile()) return stats;
  throw stats.isDirectory() ? failure('EISDIR') : failure('not a regular file');
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}
