import { basename, resolve } from 'node:path';

// A package cannot be installed into one of its own name.
const TAKEN: ReadonlySet<string> = new Set(['jiti', 'node_modules', 'toolcrib', 'typescript', 'zod']);

/** Says what is wrong with the name of a project, if anything is. */
export function complaintAboutName(name = ''): string | undefined {
  if (!/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name))
    return 'A name has up to 100 small letters, digits, "-", "_" and ".", and begins with a letter or a digit.';
  return TAKEN.has(name) ? `"${name}" is the name of something it needs; choose another.` : undefined;
}

/** A name for the project in a folder. */
export function nameAfter(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, 100);
  return complaintAboutName(name) === undefined ? name : 'my-tools';
}
