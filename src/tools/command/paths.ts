import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { refusal, type Argument } from './arguments.ts';

/** Refuses a path that a link leads out of the working folder; whoever can change the folder at this moment can still be faster. */
export async function requireBelow(folder: string, args: readonly Argument[]): Promise<void> {
  const paths = args.filter(({ isPath }) => isPath);
  if (paths.length === 0) return;
  const top = await realpath(folder).catch(nothing);
  // Nothing can be started in a folder that is gone, and whoever tries to will say so.
  if (top === undefined) return;
  for (const { text, label } of paths) {
    const real = await resolveExisting(join(top, text));
    if (real === undefined || /^\.\.(\/|$)/.test(relative(top, real)))
      throw refusal(`${label} must stay below the working folder, also where it goes through a link.`);
  }
}

// Where the part of a path leads that is there; nowhere if nobody can tell, as with a link to what is not there, which a program could make.
async function resolveExisting(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isAbsence(error)) return undefined;
  }
  const isThere = await lstat(path).then(
    () => true,
    (error: unknown) => !isAbsence(error),
  );
  return isThere ? undefined : resolveExisting(dirname(path));
}

function isAbsence(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function nothing(): undefined {}
