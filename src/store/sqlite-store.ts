import type { Worker } from 'node:worker_threads';
import type { Memory, SessionRecord } from '../core/memory.ts';
import { processName } from '../core/record.ts';
import { WorkerLine, type LineEvents } from './worker-line.ts';
import type { WorkerOptions } from './worker-messages.ts';
import type { OperationName, Operations } from './sqlite-operations.ts';
import type { IdentityStore, Store } from './store.ts';

/** Where a store is kept, and how its record is secured. */
export interface SqliteStoreOptions {
  readonly file: string;
  /** Signs the checkpoints. */
  readonly signingKey: string;
  /** Where copies of the checkpoints go, outside the database. */
  readonly checkpointFiles: readonly string[];
  /** A checkpoint is due after so many rows, 50,000 unless set. */
  readonly checkpointRows?: number;
  /** And after so long, 10 seconds unless set. */
  readonly checkpointMs?: number;
  readonly retentionDays?: number | undefined;
  /** A thread that was started ahead of time. */
  readonly worker?: Worker | undefined;
  readonly onTrouble?: LineEvents['onTrouble'];
  readonly onRecovery?: LineEvents['onRecovery'];
  /** Hears of upkeep that did not work; `onTrouble` unless set. */
  readonly onWarning?: LineEvents['onWarning'];
}

type Ask = <N extends OperationName>(
  name: N,
  ...args: Parameters<Operations[N]>
) => Promise<ReturnType<Operations[N]>>;

const WATCH_MS = 1_000;

/** Keeps everything in one SQLite file, owned by a thread of its own. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const listeners = new Set<() => void>();
  let lookedAt = performance.now();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  const workerOptions: WorkerOptions = {
    file: options.file,
    holder: processName,
    signingKey: options.signingKey,
    checkpointFiles: options.checkpointFiles,
    checkpointRows: options.checkpointRows ?? 50_000,
    checkpointMs: options.checkpointMs ?? 10_000,
    watchMs: WATCH_MS,
    retentionDays: options.retentionDays,
  };
  const events: LineEvents = {
    onLook: (hasChanged) => {
      lookedAt = performance.now();
      if (hasChanged) tell();
    },
    onTrouble: (reason) => options.onTrouble?.(reason),
    onRecovery: () => options.onRecovery?.(),
    onWarning: (reason) => (options.onWarning ?? options.onTrouble)?.(reason),
  };
  const line = await WorkerLine.open(workerOptions, events, options.worker);
  const ask: Ask = (name, ...args) => line.ask({ name, args });
  return {
    journal: {
      append: (entry) => line.append(entry),
      async commit(entry, reservation, approval) {
        if (reservation || approval !== undefined)
          return line.ask({ name: 'claim', args: [reservation, approval], row: entry });
        await line.intend(entry);
        return 'committed';
      },
      get isReady() {
        return line.isReady;
      },
    },
    reservations: {
      find: (owner, key) => ask('findReserved', owner, key),
      finish: (owner, key, outcome) => ask('finish', owner, key, outcome),
      release: (owner, key) => ask('release', owner, key),
    },
    approvals: {
      ask: (request) => ask('askApproval', request),
      find: (id) => ask('findApproval', id),
      decide: (id, decision, row) => line.ask({ name: 'decideApproval', args: [id, decision], row }),
      use: (id) => ask('useApproval', id),
      resume: (owner, subject) => ask('resumeApproval', owner, subject),
      list: () => ask('listApprovals'),
    },
    quotas: { take: (name, { startsAt, endsAt }) => ask('takeQuota', name, startsAt, endsAt) },
    identities: createIdentities(ask, { tell, listeners, confirmedAt: () => lookedAt }),
    memory: createMemory(ask),
    close: () => line.close(),
  };
}

interface Watchers {
  readonly tell: () => void;
  readonly listeners: Set<() => void>;
  readonly confirmedAt: () => number;
}

function createIdentities(ask: Ask, { tell, listeners, confirmedAt }: Watchers): IdentityStore {
  const change = async <T>(work: Promise<T>): Promise<T> => {
    const value = await work;
    tell();
    return value;
  };
  return {
    findKey: (hash) => ask('findKey', hash),
    findTenant: (id) => ask('findTenant', id),
    touch: (ids, at) => ask('touch', ids, at),
    putKey: (key) => change(ask('putKey', key)),
    revokeKey: (id, at) => change(ask('revokeKey', id, at)),
    listKeys: () => ask('listKeys'),
    putTenant: (tenant) => change(ask('putTenant', tenant)),
    listTenants: () => ask('listTenants'),
    confirmedAt,
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

// Every request of a session asks for its record: it is fetched once, and again when it could have been ended elsewhere.
const SESSION_FRESH_MS = 5_000;
const MAX_SESSIONS = 10_000;
const SEALING_KEY_FRESH_MS = 3_600_000;

function createMemory(ask: Ask): Memory {
  const sessions = new Map<string, { record: SessionRecord; until: number }>();
  // The last reading of each session that is under way, unless the session was ended since.
  const readings = new Map<string, object>();
  const remember = (record: SessionRecord): SessionRecord => {
    if (sessions.size >= MAX_SESSIONS) sessions.delete(sessions.keys().next().value!);
    sessions.set(record.id, { record, until: performance.now() + SESSION_FRESH_MS });
    return record;
  };
  return {
    keys: createSealingKeys(ask),
    spent: { spend: (id, expiresAt) => ask('spend', id, expiresAt) },
    tasks: { put: (record) => ask('putTask', record), get: (id) => ask('getTask', id) },
    events: {
      keep: (stream, event) => ask('keepEvent', stream, event),
      after: (stream, eventId) => ask('eventsAfter', stream, eventId),
      forget: (stream) => ask('forgetEvents', stream),
    },
    sessions: {
      async put(record) {
        remember(record);
        await ask('putSession', record);
      },
      async get(id) {
        const known = sessions.get(id);
        if (known && known.until > performance.now()) return known.record;
        sessions.delete(id);
        const reading = {};
        readings.set(id, reading);
        try {
          const record = await ask('getSession', id);
          return record && readings.get(id) === reading ? remember(record) : record;
        } finally {
          if (readings.get(id) === reading) readings.delete(id);
        }
      },
      async delete(id) {
        sessions.delete(id);
        readings.delete(id);
        await ask('deleteSession', id);
      },
    },
  };
}

function createSealingKeys(ask: Ask): Memory['keys'] {
  let current: { key: { id: string; bytes: Uint8Array }; until: number } | undefined;
  return {
    async current() {
      if (current && current.until > performance.now()) return current.key;
      const { id, bytes } = await ask('currentSealingKey');
      current = {
        key: { id, bytes: Buffer.from(bytes, 'base64url') },
        until: performance.now() + SEALING_KEY_FRESH_MS,
      };
      return current.key;
    },
    async find(id) {
      if (current?.key.id === id) return current.key;
      const bytes = await ask('findSealingKey', id);
      return bytes === undefined ? undefined : { id, bytes: Buffer.from(bytes, 'base64url') };
    },
  };
}
