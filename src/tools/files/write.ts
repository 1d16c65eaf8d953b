import { constants, type Stats } from 'node:fs';
import { link, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { nothing } from '../../base/awaitable.ts';
import { lookUp, withFolder, type HeldEntry } from './jail.ts';
import { TEMPORARY_PREFIX } from './jail-path.ts';
import { ALREADY_EXISTS, HARD_LINKED, typeNotAllowed } from './failure.ts';
import { isAllowedType, nameIn, type FileOperation, type FileOutcome } from './site.ts';
import { inTurn } from './folder-turns.ts';

/** Writes text to a file atomically: readers see all of the old or all of the new content. */
export const write: FileOperation = async ({ path, content, overwrite = false }, site) => {
  const { settings, signal } = site;
  const { folder: place, name } = nameIn(path, site);
  if (content === undefined) return { error: 'Missing content', message: 'Pass the text as content.' };
  if (!isAllowedType(name, settings)) return typeNotAllowed(settings);
  const bytes = Buffer.from(content);
  if (bytes.length > settings.maxBytes) return tooLarge(bytes.length, settings.maxBytes);
  const put = async (folder: HeldEntry): Promise<FileOutcome> => {
    const before = await lookUp(folder, name);
    if (before && (!overwrite || !before.isFile())) return ALREADY_EXISTS;
    if (before && before.nlink > 1) return HARD_LINKED;
    const temporary = `${folder.path}/${TEMPORARY_PREFIX}${crypto.randomUUID()}`;
    try {
      await fill(temporary, { bytes, before }, signal);
      // A link fails if the name exists, and a rename replaces only the name: neither follows a link created meanwhile.
      await (overwrite ? rename : link)(temporary, `${folder.path}/${name}`);
    } finally {
      // After a rename there is nothing to remove.
      await unlink(temporary).catch(nothing);
    }
    await syncFolder(folder);
    return { path: name, size: bytes.length, replaced: before !== undefined };
  };
  return withFolder(place, (folder) => inTurn([folder], signal, () => put(folder)));
};

/** Makes changes in a folder survive a power failure. */
export async function syncFolder(folder: HeldEntry): Promise<void> {
  const handle = await open(folder.path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const CHUNK = 256 * 1024;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

interface Filling {
  readonly bytes: Buffer;
  /** The file it will replace. */
  readonly before: Stats | undefined;
}

async function fill(path: string, { bytes, before }: Filling, signal: AbortSignal): Promise<void> {
  // Meanwhile, nobody may read the new file who could not read the old one.
  const handle = await open(path, NEW_FILE, before ? 0o600 : 0o644);
  try {
    if (before) await likeBefore(handle, before);
    for (let at = 0; at < bytes.length;) {
      signal.throwIfAborted();
      at += (await handle.write(bytes, at, Math.min(CHUNK, bytes.length - at))).bytesWritten;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  signal.throwIfAborted();
}

async function likeBefore(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const own = await handle.stat();
  // Only privileged processes may change the owner; others keep their own.
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(nothing);
  await handle.chmod(mode & 0o777);
}

function tooLarge(size: number, maxBytes: number): FileOutcome {
  return {
    error: 'File too large',
    message: `The content has ${size} bytes; one call writes at most ${maxBytes}. Split it into several files.`,
  };
}
