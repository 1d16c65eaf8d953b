import { realpathSync, statSync, type Stats } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

/** The real path of a place; of a path that does not exist yet, the existing folders are resolved. */
export function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPlace(parent), basename(path));
  }
}

/** The names that lead from the root of the file system to a place. */
export function namesOf(place: string): string[] {
  return place.split(sep).filter((name) => name !== '');
}

/** The file status at a path; `undefined` if it cannot be read. */
export function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
