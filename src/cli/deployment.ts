import { existsSync } from 'node:fs';
import { ToolcribError } from '../base/errors.ts';
import type { Identities } from '../core/memory/identities.ts';
import { processName } from '../core/record.ts';
import { loadConfig, type LoadedConfig, type LoadOptions } from '../gateway/settings/load-config.ts';
import {
  hasDatabase,
  openStore,
  storePlaces,
  type OpenedStore,
  type StorePlaces,
} from '../gateway/open-store.ts';
import { openLog } from '../gateway/open-log.ts';
import { requirePlaces } from '../gateway/settings/place-problems.ts';
import { damageIn } from '../store/journal/damage.ts';
import { OPERATOR_CHAIN } from '../store/journal/chain.ts';
import { openSecrets } from '../store/secrets-file.ts';
import { SqliteDatabase } from '../store/sqlite/database.ts';
import { createOperations, type Operations } from '../store/sqlite/operations.ts';
import { schemaVersion } from '../store/sqlite/schema.ts';
import type { Entry } from '../store/store.ts';
import { concealInComplaints } from './complain.ts';

/** Where commands find a deployment. */
export interface DeploymentFlags {
  readonly config: string;
  readonly json?: boolean;
}

/** A deployment as a command sees it. */
export interface Deployment extends OpenedStore {
  readonly config: LoadedConfig['config'];
  /** Runs work and records it. */
  readonly operate: <T>(work: Promise<T>, facts: Readonly<Record<string, unknown>>) => Promise<T>;
}

/** Runs a command on the store of a deployment, and closes it afterwards. */
export async function withDeployment<T>(
  { config }: DeploymentFlags,
  use: (deployment: Deployment) => Promise<T>,
): Promise<T> {
  const loaded = await loadDeployment(config);
  storeFilesOf(loaded);
  const opened = await openStore(loaded, openLog(loaded, undefined).log);
  const operate: Deployment['operate'] = async (work, facts) => {
    // Both are asked for in one turn, so they are in one transaction.
    const [value] = await Promise.all([work, opened.store.journal.append(operatorRow(facts))]);
    return value;
  };
  try {
    return await use({ ...opened, operate, config: loaded.config });
  } catch (error) {
    if (!(error instanceof ToolcribError) || error.code !== 'record_unavailable') throw error;
    const why = error.cause instanceof Error ? ` (${error.cause.message})` : '';
    // A slow disk may still have written it.
    const text = `The store did not answer in time${why}: it may have been done or not. List what there is before you try again.`;
    throw new ToolcribError('record_unavailable', text, { cause: error });
  } finally {
    await opened.store.close();
  }
}

/** Reads from a deployment without changing anything: a missing database is not created. */
export async function readDeployment<T>(
  { config }: DeploymentFlags,
  list: (operations: Operations) => readonly T[],
): Promise<readonly T[]> {
  const places = await findPlaces(config);
  if (!hasDatabase(places)) return [];
  openSecrets(places.secrets, 'existing');
  return withDatabase(places, (db) => list(createOperations(db, processName)));
}

/** The keys and tenants of a deployment, for reading: no use of a key is noted. */
export function storedIdentities(places: StorePlaces): Identities {
  const find = <T>(look: (operations: Operations) => T): T | undefined =>
    hasDatabase(places) ? withDatabase(places, (db) => look(createOperations(db, processName))) : undefined;
  return {
    findKey: (hash) => find((operations) => operations.findKey(hash)),
    findTenant: (id) => find((operations) => operations.findTenant(id)),
    touch: () => {},
    watch: () => () => {},
  };
}

/** Reads the database of a deployment; reports damage in one line. */
export function withDatabase<T>({ database }: StorePlaces, use: (db: SqliteDatabase) => T): T {
  let db: SqliteDatabase | undefined;
  try {
    db = new SqliteDatabase(database, 'existing');
    if (db.version !== schemaVersion)
      throw new ToolcribError(
        'invalid_setup',
        `${database} is not a database of this version of Toolcrib; start the server with it once, or use the version that wrote it.`,
      );
    return use(db);
  } catch (error) {
    const damage = damageIn(error);
    if (damage === undefined) throw error;
    const [told, cause] =
      error instanceof ToolcribError
        ? [`${error.message}.`, error.cause]
        : [`${database} cannot be read. ${damage}`, error];
    throw new ToolcribError('invalid_setup', `${told} Run: toolcrib audit verify`, { cause });
  } finally {
    db?.close();
  }
}

/** Reads the configuration of a deployment; if there is none, says how to get one. */
export async function loadDeployment(file: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  if (!existsSync(file)) {
    throw new ToolcribError(
      'invalid_setup',
      `There is no ${file} here; name the configuration with --config FILE.`,
    );
  }
  const loaded = await loadConfig(file, options);
  concealInComplaints(loaded);
  return loaded;
}

/** The files of a deployment, for commands that only read them and do not need the secrets of its tools. */
export async function findPlaces(file: string): Promise<StorePlaces> {
  return storeFilesOf(await loadDeployment(file, { sections: ['store', 'stages'] }));
}

/** The files of a deployment; one that keeps everything in memory has none. */
export function storeFilesOf(loaded: LoadedConfig): StorePlaces {
  const { config, folder, file } = loaded;
  const places = storePlaces(config, folder);
  if (places) {
    requirePlaces(loaded);
    return places;
  }
  throw new ToolcribError(
    'invalid_setup',
    `${file} keeps everything in memory, where no other process can see it: set store.url to "sqlite:./toolcrib.db".`,
  );
}

/** A row for the operators' chain: what was done, and by whom. */
export function operatorRow(facts: Readonly<Record<string, unknown>>): Entry {
  const body = JSON.stringify({
    kind: 'operator',
    at: new Date().toISOString(),
    by: operatorName(),
    ...facts,
  });
  return { chain: OPERATOR_CHAIN, body };
}

/** The user who runs the command. */
export function operatorName(): string {
  return process.env['SUDO_USER'] ?? process.env['USER'] ?? `uid ${process.getuid?.() ?? 'unknown'}`;
}
