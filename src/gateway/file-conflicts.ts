import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Config, Conflict } from './config.ts';
import type { LoadedConfig } from './load-config.ts';
import { storePlaces } from './open-store.ts';
import type { Path } from './yaml-text.ts';

/** A configuration with what its files are made of. */
export interface FileSettings extends Pick<LoadedConfig, 'config' | 'folder' | 'sources'> {
  /** Whether a setting is in the file, and not left to its default. */
  readonly isWritten: (path: Path) => boolean;
}

/** Finds settings that name the same file, where one would overwrite what the other keeps. */
export function fileConflicts({ config, folder, sources, isWritten }: FileSettings): Conflict[] {
  const named = filesOf(config, folder).toSorted(
    (a, b) => Number(isWritten(a.path)) - Number(isWritten(b.path)),
  );
  const taken = new Map<string, string>();
  for (const file of sources.keys())
    taken.set(identityOf(file), taken.size === 0 ? 'this configuration' : 'a secret that is read from it');
  return named.flatMap(({ path, files }) => {
    const holder = files.map(({ file }) => taken.get(identityOf(file))).find((found) => found !== undefined);
    for (const { file, what } of files) taken.set(identityOf(file), what);
    if (holder === undefined) return [];
    const message = `names a file that is needed for ${holder}`;
    return [{ path, message, remedy: 'give it a file of its own', severity: 'error' }];
  });
}

interface Named {
  readonly path: Path;
  readonly files: readonly { readonly file: string; readonly what: string }[];
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

// By another name it is the same file: what is not there yet is looked at by its folder.
function identityOf(file: string): string {
  for (const [whole, rest] of [[file], [dirname(file), basename(file)]] as const)
    try {
      return join(realpathSync(whole), rest ?? '');
    } catch {
      // It is not there, or a part of its path is not.
    }
  return file;
}
