import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs';

// Room for many groups: with room for one row only, the disk would be full again at once.
const ROOM_BYTES = 1_048_576;

/** Checks that the disk of a database has room for more than a row; throws if not. */
export function proveRoom(database: string): void {
  const file = `${database}-room`;
  rmSync(file, { force: true });
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    // Unlinked at once, so that it disappears even if the process dies.
    rmSync(file);
    // Random, because some file systems store zeros without using space.
    writeFileSync(descriptor, randomBytes(ROOM_BYTES));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
