import { realpathSync } from 'node:fs';
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
