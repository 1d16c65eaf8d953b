import { realpathSync, statSync, type Stats } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

/** Where a path leads once links are followed; of what is not there yet, the folders that are. */
export function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPlace(parent), basename(path));
  }
}

/** The names that lead from the top of the file system to a place. */
export function namesOf(place: string): string[] {
  return place.split(sep).filter((name) => name !== '');
}

/** What is at a path, if anything can be seen there. */
export function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
