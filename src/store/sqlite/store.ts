import type { Worker } from 'node:worker_threads';
import type { ApprovalRequest, FiledRequest } from '../../core/memory/approval.ts';
import { tenantOf } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { maxKept } from '../../core/memory/limits.ts';
import { notKept } from '../../core/memory/text.ts';
import { processName } from '../../core/record.ts';
import { ANY_BYTES, requestsOver, LARGE_BYTES, type WorkerRequests } from './worker-requests.ts';
import { createMemory } from './memory.ts';
import type { Operations } from './operations.ts';
import { WorkerClient, type WorkerEvents } from './worker-client.ts';
import type { WorkerOptions } from './worker-messages.ts';
import type { Pins, SeenDefinition } from '../pin.ts';
import type { IdentityStore, Reservations, Reserved, Store } from '../store.ts';

/** Where a store is kept, and how its record is signed. */
export interface SqliteStoreOptions {
  readonly file: string;
  /** Signs the checkpoints. */
  readonly signingKey: string;
  /** Files for copies of the checkpoints, outside the database. */
  readonly checkpointFiles: readonly string[];
  /** Rows between checkpoints; 50,000 unless set. */
  readonly checkpointRows?: number;
  /** Time between checkpoints; 10 seconds unless set. */
  readonly checkpointMs?: number;
  readonly retentionDays?: number | undefined;
  /** A thread that was started earlier. */
  readonly worker?: Worker | undefined;
  readonly onTrouble?: WorkerEvents['onTrouble'];
  readonly onRecovery?: WorkerEvents['onRecovery'];
  /** Called when maintenance fails; `onTrouble` unless set. */
  readonly onWarning?: WorkerEvents['onWarning'];
}

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
  const events: WorkerEvents = {
    onLook: (hasChanged) => {
      lookedAt = performance.now();
      if (hasChanged) tell();
    },
    onTrouble: (reason) => options.onTrouble?.(reason),
    onRecovery: () => options.onRecovery?.(),
    onWarning: (reason) => (options.onWarning ?? options.onTrouble)?.(reason),
  };
  const client = await WorkerClient.open(workerOptions, events, options.worker);
  const requests = requestsOver(client);
  const { ask } = requests;
  return {
    journal: {
      append: (entry) => client.append(entry),
      async commit(entry, reservation, approval) {
        if (reservation || approval !== undefined)
          return client.ask({ name: 'claim', args: [reservation, approval], row: entry });
        await client.intend(entry);
        return 'committed';
      },
      get isReady() {
        return client.isReady;
      },
    },
    reservations: createReservations(requests),
    approvals: {
      ask: (request) => askApproval(requests, request),
      find: (id) => ask('findApproval', id),
      decide: (id, decision, row) => client.ask({ name: 'decideApproval', args: [id, decision], row }),
      use: (id) => ask('useApproval', id),
      resume: (owner, subject) => ask('resumeApproval', owner, subject),
      list: () => ask('listApprovals'),
    },
    quotas: { take: (name, { startsAt, endsAt }) => ask('takeQuota', name, startsAt, endsAt) },
    identities: createIdentities(ask, { tell, listeners, confirmedAt: () => lookedAt }),
    pins: createPins(requests, client, { tell, listeners }),
    memory: createMemory(requests),
    close: () => client.close(),
  };
}

function createReservations({ ask, askBody }: WorkerRequests): Reservations {
  return {
    async find(owner, key) {
      const found = await ask('findReserved', owner, key, LARGE_BYTES);
      if (!found || 'outcome' in found) return found;
      const body = { share: tenantOf(owner), bytes: found.bytes };
      const whole = await askBody(body, 'findReserved', owner, key, ANY_BYTES);
      return whole as Reserved | undefined;
    },
    async finish(owner, key, text) {
      const bytes = Buffer.byteLength(text);
      const finishWithout = (): Promise<void> => ask('finishWithout', owner, key, notKept(text));
      if (bytes > maxKept.outcome) return finishWithout();
      try {
        await askBody({ share: tenantOf(owner), bytes }, 'finish', owner, key, { text, bytes });
      } catch (error) {
        // Even if the queue is full, the end of a call must be stored.
        if (!(error instanceof ToolcribError) || error.code !== 'busy') throw error;
        await finishWithout();
      }
    },
    release: (owner, key) => ask('release', owner, key),
  };
}

async function askApproval(
  { askBody }: WorkerRequests,
  request: ApprovalRequest,
): Promise<FiledRequest | undefined> {
  const { owner, subject, expiresAt } = request;
  const text = JSON.stringify(request);
  const body = { share: tenantOf(owner), bytes: Buffer.byteLength(text) };
  const asked = await askBody(body, 'askApproval', text, { owner, subject, expiresAt });
  if (!asked) return undefined;
  const { id, known } = asked;
  return { approval: known ?? { ...request, id, decision: undefined }, isNew: known === undefined };
}

function createPins(
  { ask, askBody }: WorkerRequests,
  client: WorkerClient,
  { tell, listeners }: Pick<Watchers, 'tell' | 'listeners'>,
): Pins {
  const bytesOf = ({ definition }: SeenDefinition): number => Buffer.byteLength(definition);
  return {
    list: () => ask('listPins'),
    changed: (after) => ask('changedPins', after),
    pinListing: (lister, listing) =>
      askBody(
        { share: `pins of ${lister.server}`, bytes: listing.reduce((sum, one) => sum + bytesOf(one), 0) },
        'pinListing',
        lister,
        listing,
      ),
    pinFirst: (place, seen) =>
      askBody({ share: `pins of ${place.server}`, bytes: bytesOf(seen) }, 'pinFirst', place, seen),
    pinApproved: (place, digest) => ask('pinApproved', place, digest),
    hold: (place, seen, row) =>
      client.ask({ name: 'holdPin', args: [place, seen], ...(row && { row }) }, bytesOf(seen)),
    async approve(tool, approval, row) {
      const approved = await client.ask<ReturnType<Operations['approvePin']>>({
        name: 'approvePin',
        args: [tool, approval],
        row,
      });
      if (approved) tell();
      return approved ?? [];
    },
    async dismiss(tool, digest, row) {
      const isDone = await client.ask<true | undefined>({ name: 'dismissPin', args: [tool, digest], row });
      if (isDone) tell();
      return isDone === true;
    },
    watch(listener) {
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
}

interface Watchers {
  readonly tell: () => void;
  readonly listeners: Set<() => void>;
  readonly confirmedAt: () => number;
}

function createIdentities(
  ask: WorkerRequests['ask'],
  { tell, listeners, confirmedAt }: Watchers,
): IdentityStore {
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
