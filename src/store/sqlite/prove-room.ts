import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs';

// Many groups of rows: a disk with room for one row only would be full again with the next.
const ROOM_BYTES = 1_048_576;

/** Shows that the disk of a database takes more than a row; throws when it does not. */
export function proveRoom(database: string): void {
  const file = `${database}-room`;
  rmSync(file, { force: true });
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    // Without a name already, it is gone whatever happens to this process.
    rmSync(file);
    // Not zeros, which some file systems keep without taking room.
    writeFileSync(descriptor, randomBytes(ROOM_BYTES));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
