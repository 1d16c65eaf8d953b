import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that only this user can read, for one process of an upstream. */
export interface PrivateFolder {
  readonly path: string;
  /** Removes it with everything in it. */
  remove(): Promise<void>;
}

/** Makes a folder for a process. */
export async function createPrivateFolder(): Promise<PrivateFolder> {
  const path = await mkdtemp(join(tmpdir(), 'toolcrib-upstream-'));
  // What cannot be removed stays where temporary files are, and nobody waits for it.
  const remove = (): Promise<void> =>
    rm(path, { recursive: true, force: true, maxRetries: 2 }).catch(() => {});
  return { path, remove };
}
