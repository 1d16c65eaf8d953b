import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../observe/log.ts';
import { createInMemory } from '../core/memory/in-memory.ts';
import type { StoreSecrets } from '../store/secrets-file.ts';
import type { Store } from '../store/store.ts';
import type { Config } from './settings/config.ts';
import type { LoadedConfig } from './settings/load-config.ts';

/** A store and its secrets. */
export interface OpenedStore {
  readonly store: Store;
  readonly secrets: Pick<StoreSecrets, 'pepper' | 'digestKey'> & Partial<StoreSecrets>;
  /** Its file, where it is in one. */
  readonly database?: string;
}

/** The files of a deployment. */
export interface StorePlaces {
  readonly database: string;
  readonly secrets: string;
  readonly checkpoints: readonly string[];
}

/** The files a configuration names; `undefined` if everything is in memory. */
export function storePlaces({ store, stages }: Config, folder: string): StorePlaces | undefined {
  if (!store.url.startsWith('sqlite:')) return undefined;
  const checkpoints = stages.audit === false ? [] : stages.audit.checkpoints;
  return {
    database: resolve(folder, store.url.slice('sqlite:'.length)),
    secrets: resolve(folder, store.secrets),
    checkpoints: checkpoints.map((file) => resolve(folder, file)),
  };
}

/** Opens the store of a configuration; only the kind in use is loaded. */
export async function openStore(
  { config, folder }: Pick<LoadedConfig, 'config' | 'folder'>,
  log: Log,
  worker?: Worker,
): Promise<OpenedStore> {
  const places = storePlaces(config, folder);
  if (!places) {
    await worker?.terminate();
    const { createInMemoryStore } = await import('../store/memory/store.ts');
    const store = createInMemoryStore({ clock: systemClock, memory: createInMemory(systemClock) });
    return { store, secrets: { pepper: newSecret(), digestKey: newSecret() } };
  }
  const [{ openSqliteStore }, { openSecrets }] = await Promise.all([
    import('../store/sqlite/store.ts'),
    import('../store/secrets-file.ts'),
  ]);
  // Secrets first: an existing database was made with its own, and creating new ones would hide that those are lost.
  const isNew = !existsSync(places.secrets);
  const secrets = openSecrets(places.secrets, hasDatabase(places) ? 'existing' : 'any');
  const hint = isNew ? (await import('./ignore-hint.ts')).ignoreHint(places) : undefined;
  if (hint !== undefined) log('warn', hint);
  const { audit } = config.stages;
  const store = await openSqliteStore({
    file: places.database,
    signingKey: secrets.signingKey,
    checkpointFiles: places.checkpoints,
    worker,
    ...(audit !== false && {
      checkpointMs: audit.checkpointSeconds * 1000,
      retentionDays: audit.retentionDays,
    }),
    onTrouble: (reason) =>
      log('error', 'The record cannot be written: no tool runs until it can.', { reason }),
    onWarning: (reason) =>
      log('warn', 'Maintenance of the store failed; it will be tried again.', { reason }),
    onRecovery: () => log('info', 'The record can be written again.'),
  });
  return { store, secrets, database: places.database };
}

/** Whether a deployment has a database; an empty file is none. */
export function hasDatabase({ database }: StorePlaces): boolean {
  return (statSync(database, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** A secret for as long as this process lives. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
