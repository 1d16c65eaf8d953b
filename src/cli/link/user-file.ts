import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readFile, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { nothing } from '../../base/awaitable.ts';
import { ToolcribError } from '../../base/errors.ts';
import { homeFolder } from '../servers/places.ts';

/** A file of another program, as it was read. */
export interface UserFile {
  /** Where the bytes are: links are followed, so that they stay. */
  readonly file: string;
  /** `undefined` if there is no such file. */
  readonly text: string | undefined;
  readonly mode: number;
  /** Whose it is; `undefined` if there is no such file. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** Whether a link leads out of the home of the user. */
  readonly isElsewhere: boolean;
}

/** Reads a file that is to be changed; one that is not UTF-8 is refused. */
export async function readUserFile(path: string): Promise<UserFile> {
  const file = await realPlace(path);
  const isElsewhere =
    file !== path && !(await isInside(file, homeFolder())) && (await isInside(path, homeFolder()));
  try {
    const [bytes, { mode, uid, gid }] = await Promise.all([readFile(file), stat(file)]);
    return { file, text: decode(bytes, path), mode: mode & 0o777, owner: { uid, gid }, isElsewhere };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { file, text: undefined, mode: 0o600, isElsewhere };
    if (error instanceof ToolcribError) throw error;
    throw new ToolcribError('invalid_setup', `${path} cannot be read (${code ?? 'unknown reason'}).`, {
      cause: error,
    });
  }
}

/** Refuses a file that nobody may write: a new one in its place would not ask for that. */
export function requireWritable({ file, text, mode }: UserFile): void {
  if (text === undefined || (mode & 0o222) !== 0) return;
  throw new ToolcribError(
    'invalid_setup',
    `${file} is read-only, so it stays as it is; make it writable first: chmod u+w.`,
  );
}

/** Puts a new text in the place of the old one, all at once; fails if somebody else changed it meanwhile. */
export async function writeUserFile(before: UserFile, text: string): Promise<void> {
  requireWritable(before);
  const { file, mode, owner } = before;
  const fresh = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(dirname(file), { recursive: true });
    const handle = await open(fresh, 'wx', mode);
    try {
      await keepOwner(handle, owner);
      await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await requireSame(file, before.text);
    await rename(fresh, file);
  } catch (error) {
    // Also fails where the folder could not be made.
    await rm(fresh, { force: true }).catch(() => {});
    throw error instanceof ToolcribError ? error : notWritten(file, error);
  }
}

// A new file belongs to who writes it: with `sudo`, its own program could not read it any more.
async function keepOwner(handle: FileHandle, owner: UserFile['owner']): Promise<void> {
  const { uid, gid } = await handle.stat();
  if (owner && (owner.uid !== uid || owner.gid !== gid))
    await handle.chown(owner.uid, owner.gid).catch(nothing);
}

/** Says that a file or its folder cannot be written. */
export function notWritten(file: string, cause: unknown): ToolcribError {
  const { code = 'unknown reason' } = cause as NodeJS.ErrnoException;
  const remedy = 'see whether its folder is one that this account may write in';
  return new ToolcribError('invalid_setup', `${file} cannot be written (${code}): ${remedy}.`, { cause });
}

/** Removes a file that is still as it was read. */
export async function removeUserFile({ file, text }: UserFile): Promise<void> {
  await requireSame(file, text);
  await rm(file).catch((error: unknown) => {
    throw notWritten(file, error);
  });
}

async function requireSame(file: string, before: string | undefined): Promise<void> {
  const now = await readFile(file, 'utf8').catch(() => undefined);
  if (now !== before)
    throw new ToolcribError('invalid_setup', `${file} was changed by another program meanwhile; try again.`);
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new ToolcribError('invalid_setup', `${path} is not UTF-8 text, so it stays as it is.`, { cause });
  }
}

// A link may lead to a file that is not there yet.
async function realPlace(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink();
    if (isLink) throw new ToolcribError('invalid_setup', `${path} is a link that leads nowhere; correct it.`);
    return path;
  }
}

async function isInside(file: string, folder: string): Promise<boolean> {
  const home = await realpath(folder).catch(() => folder);
  return file.startsWith(home + sep) || file.startsWith(folder + sep);
}
