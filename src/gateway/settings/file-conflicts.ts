import type { Config, Conflict } from './config.ts';
import type { LoadedConfig } from './load-config.ts';
import { storePlaces } from '../open-store.ts';
import { realPlace } from '../modules/real-place.ts';
import type { HeldFile } from './reach.ts';
import { reachConflicts } from './tool-reach.ts';
import type { Path } from '../../config/yaml-text.ts';

/** A configuration and the files it was read from. */
export interface ConfigAndFiles extends Pick<LoadedConfig, 'config' | 'folder' | 'sources'> {
  /** Whether a setting is written in the file, and not a default. */
  readonly isWritten: (path: Path) => boolean;
}

/** Finds settings that name the same file, where one would overwrite the other, and tools that reach such a file. */
export function fileConflicts({ config, folder, sources, isWritten }: ConfigAndFiles): Conflict[] {
  const named = filesOf(config, folder).toSorted(
    (a, b) => Number(isWritten(a.path)) - Number(isWritten(b.path)),
  );
  const read = Array.from(sources.keys(), (file, index) => ({
    file,
    what: index === 0 ? 'this configuration' : 'a secret that is read from it',
  }));
  const held = [...read, ...named.flatMap(({ files }) => files)];
  return [...sharedFiles(named, read), ...reachConflicts({ config, folder, held })];
}

function sharedFiles(named: readonly Named[], read: readonly HeldFile[]): Conflict[] {
  // Links are resolved: another name may be the same file.
  const taken = new Map(read.map(({ file, what }) => [realPlace(file), what]));
  return named.flatMap(({ path, files }) => {
    const holder = files.map(({ file }) => taken.get(realPlace(file))).find((found) => found !== undefined);
    for (const { file, what } of files) taken.set(realPlace(file), what);
    if (holder === undefined) return [];
    const message = `names a file that is needed for ${holder}`;
    return [{ path, message, remedy: 'give it a file of its own', severity: 'error' }];
  });
}

interface Named {
  readonly path: Path;
  readonly files: readonly HeldFile[];
}

function filesOf(config: Config, folder: string): Named[] {
  const places = storePlaces(config, folder);
  if (!places) return [];
  const database = ['', '-wal', '-shm'].map((end) => ({
    file: places.database + end,
    what: 'the database (store.url)',
  }));
  return [
    { path: ['store', 'url'], files: database },
    { path: ['store', 'secrets'], files: [{ file: places.secrets, what: 'the secrets (store.secrets)' }] },
    ...places.checkpoints.map((file, index) => ({
      path: ['stages', 'audit', 'checkpoints', index],
      files: [{ file, what: `checkpoints (stages.audit.checkpoints[${index}])` }],
    })),
  ];
}
