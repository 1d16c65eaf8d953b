import { randomBytes } from 'node:crypto';
import { readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { signInFailed } from './failure.ts';

/** How patient a lock is. */
export interface LockOptions {
  /** How long to wait for somebody else before going on without the lock. */
  readonly waitMs?: number;
  /** How old a lock is that was left behind by a process that ended. */
  readonly staleMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

const PATIENCE_MS = 20_000;
const LOOK_AGAIN_MS = 20;

/**
 * Does work while the file `file` says so to others that ask in the same way. The wait is bounded, so the work must be
 * safe without the lock too, only more than once.
 */
export async function withFileLock<T>(
  file: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const mine = randomBytes(12).toString('hex');
  const isMine = await take(file, mine, options);
  try {
    return await work();
  } finally {
    if (isMine) await release(file, mine);
  }
}

async function take(
  file: string,
  mine: string,
  { waitMs = PATIENCE_MS, staleMs = PATIENCE_MS, signal }: LockOptions,
): Promise<boolean> {
  const end = performance.now() + waitMs;
  for (;;) {
    if (await isWritten(file, mine)) return true;
    if ((await ageOf(file)) > staleMs) await release(file, await holderOf(file));
    else if (performance.now() >= end) return false;
    else await pause(LOOK_AGAIN_MS, undefined, { signal }).catch(closed);
  }
}

async function isWritten(file: string, mine: string): Promise<boolean> {
  try {
    await writeFile(file, mine, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    throw signInFailed(`The token cannot be renewed, because ${file} cannot be written (${code}).`);
  }
}

// One that was taken over belongs to somebody else by now.
async function release(file: string, holder: string | undefined): Promise<void> {
  if (holder !== undefined && (await holderOf(file)) === holder) await unlink(file).catch(nobody);
}

function holderOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(nobody);
}

async function ageOf(file: string): Promise<number> {
  const there = await stat(file).catch(nobody);
  return there ? Date.now() - there.mtimeMs : 0;
}

function closed(): never {
  throw signInFailed('The connection was closed while another process renewed the token.');
}

function nobody(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
}
