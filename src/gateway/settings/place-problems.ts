import { closeSync, openSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import { complaintError, type Complaint } from '../../config/complaint.ts';
import type { Conflict } from './config.ts';
import type { LoadedConfig } from './load-config.ts';
import { storePlaces, type StorePlaces } from '../open-store.ts';
import { lookAt } from '../modules/real-place.ts';
import type { Path } from '../../config/yaml-text.ts';

/** Finds store files that cannot be where they should be; a missing folder may still be created before the start. */
export function placeProblems(loaded: LoadedConfig): Complaint[] {
  return conflictsOf(loaded).map((conflict) =>
    loaded.complain(conflict.path, { ...conflict, isFixed: true }),
  );
}

/**
 * Refuses a configuration with which no store can be opened; a copy of the checkpoints whose folder is missing catches
 * up later.
 */
export function requirePlaces(loaded: LoadedConfig): void {
  const fatal = conflictsOf(loaded).filter(
    ({ path, severity }) => severity === 'error' || path[0] === 'store',
  );
  if (fatal.length === 0) return;
  throw complaintError(
    fatal.map((one) => loaded.complain(one.path, { ...one, severity: 'error', isFixed: true })),
  );
}

function conflictsOf(loaded: LoadedConfig): Conflict[] {
  const places = storePlaces(loaded.config, loaded.folder);
  if (!places) return [];
  const named: (readonly [path: Path, file: string])[] = [
    [['store', 'url'], places.database],
    [['store', 'secrets'], places.secrets],
    ...places.checkpoints.map((file, at) => [['stages', 'audit', 'checkpoints', at], file] as const),
  ];
  const found = named.flatMap(([path, file]) => conflictAt(path, file, loaded.secrets));
  return isForeign(places)
    ? [...found, { path: ['store', 'url'], message: 'names a file that is not a database', ...ANOTHER }]
    : found;
}

const ANOTHER = { remedy: 'name another file, which need not be there yet', severity: 'error' } as const;

function conflictAt(path: Path, file: string, secrets: readonly string[]): Conflict[] {
  if (lookAt(file)?.isDirectory())
    return [{ path, message: 'names a folder', remedy: 'name a file', severity: 'error' }];
  const folder = dirname(file);
  if (lookAt(folder) !== undefined) return [];
  const message = 'names a file in a folder that does not exist';
  // Values from outside are not repeated.
  const remedy = secrets.some((secret) => folder.includes(secret)) ? 'make the folder' : `make ${folder}`;
  return [{ path, message, remedy, severity: 'warning' }];
}

// With its secrets beside it, it is a damaged database, which is reported when it is opened.
function isForeign({ database, secrets }: StorePlaces): boolean {
  const there = lookAt(database);
  if (!there?.isFile() || there.size === 0 || lookAt(secrets)) return false;
  const start = Buffer.alloc(HEADER.length);
  try {
    const descriptor = openSync(database, 'r');
    try {
      readSync(descriptor, start, 0, start.length, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Why it cannot be read is reported when it is opened.
    return false;
  }
  return start.toString('latin1') !== HEADER;
}

const HEADER = 'SQLite format 3\0';
