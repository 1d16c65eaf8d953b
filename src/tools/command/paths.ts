import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { refusal, type Argument } from './arguments.ts';

/**
 * Refuses a path that leads out of the working folder through a link; a process that changes the folder at the same
 * moment can still win the race.
 */
export async function requireBelow(folder: string, args: readonly Argument[]): Promise<void> {
  const paths = args.filter(({ isPath }) => isPath);
  if (paths.length === 0) return;
  const top = await realpath(folder).catch(() => undefined);
  // Starting a program in a missing folder fails with its own message.
  if (top === undefined) return;
  for (const { text, label } of paths) {
    const real = await resolveExisting(join(top, text));
    if (real === undefined || /^\.\.(\/|$)/.test(relative(top, real)))
      throw refusal(`${label} must stay below the working folder, also where it goes through a link.`);
  }
}

// The real path of the existing part of a path; `undefined` if it cannot be resolved, such as a dangling link that a
// program could follow.
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
