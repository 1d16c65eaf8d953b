import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { checkpointKeys } from '../src/store/journal/checkpoint.ts';
import { SqliteDatabase } from '../src/store/sqlite/database.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../src/store/sqlite/store.ts';
import type { Store } from '../src/store/store.ts';
import { verifyJournal, type JournalVerdict } from '../src/store/journal/verify.ts';
import { borrowBuiltWorker } from './store-worker.ts';

/** A folder with a database and the copies of its checkpoints, for one test. */
export interface StoreFolder {
  readonly file: string;
  readonly copy: string;
  readonly signingKey: string;
  /** Opens a store on it, which the test closes or which is closed with it. */
  open(options?: Partial<SqliteStoreOptions>): Promise<Store>;
  /** Looks into the database, or changes it behind the back of its store. */
  inside<T>(use: (db: SqliteDatabase) => T): T;
  verify(signingKey?: string): JournalVerdict;
}

/** Makes an empty folder that goes when the test is over. */
export function createStoreFolder(): StoreFolder {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-store-'));
  const opened = new Set<Store>();
  onTestFinished(async () => {
    await Promise.all(Array.from(opened, (store) => store.close()));
    rmSync(folder, { recursive: true, force: true });
  });
  const file = join(folder, 'toolcrib.db');
  const copy = join(folder, 'toolcrib.checkpoints');
  const signingKey = newSigningKey();
  const inside: StoreFolder['inside'] = (use) => {
    const db = new SqliteDatabase(file, 'existing');
    try {
      return use(db);
    } finally {
      db.close();
    }
  };
  return {
    file,
    copy,
    signingKey,
    inside,
    async open(options = {}) {
      const worker = borrowBuiltWorker();
      const store = await openSqliteStore({ file, signingKey, checkpointFiles: [copy], worker, ...options });
      opened.add(store);
      return store;
    },
    verify: (key = signingKey) =>
      inside((db) => verifyJournal(db, { checkpointFiles: [copy], key: checkpointKeys(key).checking })),
  };
}

/** A key to sign checkpoints with. */
export function newSigningKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}
