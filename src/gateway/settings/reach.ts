import { basename, dirname, join } from 'node:path';
import { isTenantFolder } from '../../tools/files/tenant-folders.ts';
import { namesOf, realPlace } from '../modules/real-place.ts';

/** A name on the way to a folder; `undefined` is the id of any tenant. */
export type Name = string | undefined;

/** Whether a caller that may write to a folder, given by its path names, reaches something. */
export type Reach = (folder: readonly Name[]) => boolean;

/** Something that must not be reached. */
export interface Protected {
  readonly what: string;
  readonly isWithin: Reach;
}

/** A file or folder the server itself needs, and what for. */
export interface HeldFile {
  readonly file: string;
  readonly what: string;
}

/** Protects a file from those who reach a folder that holds it. */
export function protectedFile({ file, what }: HeldFile): Protected {
  const places = placesOf(file);
  const isWithin: Reach = (folder) =>
    places.some((place) => folder.length < place.length && leadsTo(folder, place));
  return { what, isWithin };
}

/** Protects a folder from those who reach one that holds it, the folder itself or one below it. */
export function protectedFolder({ file, what }: HeldFile): Protected {
  const places = placesOf(file);
  const isWithin: Reach = (folder) => places.some((place) => leadsTo(folder.slice(0, place.length), place));
  return { what, isWithin };
}

/** Whether a folder is this place or contains it. */
export function leadsTo(folder: readonly Name[], place: readonly string[]): boolean {
  return folder.every((name, index) =>
    name === undefined ? isTenantFolder(place[index]!) : name === place[index],
  );
}

// Both a link and its target must not be reached.
function placesOf(file: string): string[][] {
  return [join(realPlace(dirname(file)), basename(file)), realPlace(file)].map(namesOf);
}
