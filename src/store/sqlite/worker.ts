import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { parentPort } from 'node:worker_threads';
import { checkpointKeys, openCheckpoint } from '../journal/checkpoint.ts';
import { JournalWriter } from './journal-writer.ts';
import { OPERATOR_CHAIN } from '../journal/chain.ts';
import { proveRoom } from './prove-room.ts';
import { retain, settleIntents, settleTasks } from './journal-upkeep.ts';
import { SqliteDatabase } from './database.ts';
import { createOperations, type Operations } from './operations.ts';
import { SqliteShares } from './shares.ts';
import { sweepSlice } from './sweep.ts';
import { migrate, schemaVersion } from './schema.ts';
import type { Entry } from '../store.ts';
import type { WorkBatch, Operation, BatchReply, WorkerOptions } from './worker-messages.ts';

const SWEEP_MS = 60_000;
const PAUSE_MS = 1;
const REOPEN_MS = 200;
const MAX_REOPEN_MS = 5_000;
const STEADY_MS = 60_000;

/** An open database and everything that works on it. */
interface Opened {
  readonly db: SqliteDatabase;
  readonly writer: JournalWriter;
  readonly operations: Operations;
  readonly shares: SqliteShares;
  /** Verifies the checkpoints. */
  readonly key: KeyObject;
}

const port = parentPort!;
const [options] = (await once(port, 'message')) as [WorkerOptions];
let opened: Opened | undefined;
let foreignWrites = 0;
let refusedRows = 0;
let reopenMs = REOPEN_MS;
let reopenedAt = -Infinity;
let isClosing = false;

async function open(): Promise<Opened> {
  const db = new SqliteDatabase(options.file);
  try {
    return await prepare(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

async function prepare(db: SqliteDatabase): Promise<Opened> {
  if (db.version > schemaVersion)
    throw new Error(
      `${options.file} was written by a newer version of Toolcrib; use that version, or another file.`,
    );
  if (db.version < schemaVersion) await migrate(db);
  const { signing, checking } = checkpointKeys(options.signingKey);
  const last = db.get<{ line: string }>('select line from checkpoints order by n desc limit 1');
  if (last && !openCheckpoint(last.line, checking))
    throw new Error(
      `the secrets do not belong to ${options.file}: its checkpoints were signed with another key. Restore the file of secrets from a backup.`,
    );
  const writer = new JournalWriter(db, {
    key: signing,
    files: options.checkpointFiles,
    everyRows: options.checkpointRows,
  });
  foreignWrites = db.foreignWrites;
  const shares = new SqliteShares(db);
  return { db, writer, shares, operations: createOperations(db, options.holder, shares), key: checking };
}

function perform(batch: WorkBatch): BatchReply {
  const { db, writer, shares, operations } = opened!;
  const entries = readRows(batch.rows);
  const results: unknown[] = [];
  db.atOnce(() => {
    for (const operation of batch.operations) results.push(runOne(operation, operations, entries));
    shares.flush();
    if (entries.length > 0) writer.write(entries);
  });
  if (entries.length > 0) writer.kept(entries);
  return { id: batch.id, results };
}

// The row of an operation is written only if the operation was done.
function runOne({ name, args, row }: Operation, operations: Operations, entries: Entry[]): unknown {
  const value = (operations[name] as (...values: readonly unknown[]) => unknown)(...args);
  const isDone = name === 'claim' ? value === 'committed' : value !== undefined;
  if (row && isDone) entries.push(row);
  return value;
}

function readRows(text: string): Entry[] {
  if (text === '') return [];
  return text.split('\n').map((line) => {
    const [chain, body] = line.split('\t') as [string, string];
    return { chain, body };
  });
}

function answer(batch: WorkBatch): BatchReply {
  if (!opened) {
    refusedRows += rowsIn(batch) + batch.refused;
    return { id: batch.id, error: 'The database is being reopened.' };
  }
  try {
    return perform(batch);
  } catch (error) {
    opened.writer.lost();
    opened.shares.forget();
    const { code = 'SQLITE_UNKNOWN' } = error as { code?: string };
    if (isDiskTrouble(code)) {
      refusedRows += rowsIn(batch);
      abandon(code);
    }
    return { id: batch.id, error: String(error) };
  }
}

function rowsIn({ rows, operations }: WorkBatch): number {
  const riding = operations.filter(({ row }) => row).length;
  return riding + (rows === '' ? 0 : rows.split('\n').length);
}

// An error of one request, or of another writer, says nothing about the disk.
function isDiskTrouble(code: string): boolean {
  return (
    code.startsWith('SQLITE_') && !code.startsWith('SQLITE_CONSTRAINT') && !code.startsWith('SQLITE_BUSY')
  );
}

// A file whose sync failed is not trusted again: the connection and its write-ahead log are closed, and a new one is
// opened.
function abandon(reason: string): void {
  try {
    opened?.db.close();
  } catch {
    // It is abandoned in any case.
  }
  opened = undefined;
  port.postMessage({ trouble: reason });
  // If it fails again soon, it waits longer, so that the record does not fill with gaps.
  if (performance.now() - reopenedAt > STEADY_MS) reopenMs = REOPEN_MS;
  reopenLater(reason);
}

function reopenLater(reason: string): void {
  setTimeout(() => {
    if (!isClosing) reopen(reason).catch(() => reopenLater(reason));
  }, reopenMs).unref();
  reopenMs = Math.min(reopenMs * 2, MAX_REOPEN_MS);
}

async function reopen(reason: string): Promise<void> {
  const fresh = await open();
  try {
    fresh.db.get('pragma wal_checkpoint(truncate)');
    // Closing the log frees room for a row or two, but a disk with no more room than that is still full.
    proveRoom(options.file);
    const body = JSON.stringify({ kind: 'gap', at: new Date().toISOString(), reason, refused: refusedRows });
    const gap = [{ chain: OPERATOR_CHAIN, body }];
    fresh.db.atOnce(() => fresh.writer.write(gap));
    fresh.writer.kept(gap);
  } catch (error) {
    fresh.db.close();
    throw error;
  }
  refusedRows = 0;
  reopenedAt = performance.now();
  opened = fresh;
  port.postMessage({ ready: true });
}

// Failed maintenance is tried again next time; a copy that cannot be written says nothing about the database.
function keepUp(work: (store: Opened) => void): void {
  const store = opened;
  try {
    if (store) work(store);
  } catch (error) {
    port.postMessage({ upkeep: String(error) });
    const { code = '' } = error as { code?: string };
    store?.writer.lost();
    if (isDiskTrouble(code)) abandon(code);
  }
}

let isCleaning = false;

// Each slice is a transaction of its own, so that other work runs between them.
function cleanUp(): void {
  if (!isCleaning) cleanSlice();
}

function cleanSlice(): void {
  isCleaning = false;
  keepUp(({ db, writer, shares, key }) => {
    const { retentionDays: days } = options;
    isCleaning = sweepSlice(db, shares) || (days !== undefined && retain(db, writer, { days, key }));
  });
  if (isCleaning) setTimeout(cleanSlice, PAUSE_MS).unref();
}

function lookForForeignWrites({ db }: Opened): void {
  const writes = db.foreignWrites;
  port.postMessage({ changed: writes !== foreignWrites });
  foreignWrites = writes;
}

port.on('message', (batch: WorkBatch | 'close') => {
  if (batch === 'close') {
    isClosing = true;
    keepUp(({ writer }) => writer.checkpoint());
    opened?.db.close();
    port.close();
    return;
  }
  port.postMessage(answer(batch));
  keepUp(({ writer }) => {
    if (writer.isDue) writer.checkpoint();
  });
});

try {
  opened = await open();
  // First: nothing is added to a database that contradicts a copy.
  opened.writer.copies.catchUp();
  settleIntents(opened.db, opened.writer, options.holder);
  settleTasks(opened.db, options.holder);
  port.postMessage({ ready: true });
  setInterval(() => keepUp(lookForForeignWrites), options.watchMs).unref();
  setInterval(() => keepUp(({ writer }) => writer.checkpointInTurn()), options.checkpointMs).unref();
  setInterval(cleanUp, SWEEP_MS).unref();
} catch (error) {
  port.postMessage({ failed: (error as Error).message });
  port.close();
}
