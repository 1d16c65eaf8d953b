import type { Worker } from 'node:worker_threads';
import { ToolcribError } from '../../base/errors.ts';
import type { Reservation } from '../../core/memory/memory.ts';
import { isOneRow } from '../journal/chain.ts';
import { endIntent, intentIn } from '../journal/intent.ts';
import { recordUnavailable, type Entry } from '../store.ts';
import { workerFailure, startStoreWorker } from './start-worker.ts';
import { refuseParcel, WorkQueue, type BodySize, type Parcel, type Waiting } from './work-queue.ts';
import type { WorkBatch, News, Operation, BatchReply, WorkerOptions } from './worker-messages.ts';

/** Events of the worker thread. */
export interface WorkerEvents {
  /** Every second the thread checks whether another process wrote to the database. */
  readonly onLook: (hasChanged: boolean) => void;
  readonly onTrouble: (reason: string) => void;
  readonly onRecovery: () => void;
  /** Maintenance that can be retried failed, such as writing a copy of a checkpoint. */
  readonly onWarning: (reason: string) => void;
}

// Longer than a healthy disk takes, and within a second: a disk that hangs is worse than one that fails. Checks are
// counted instead of time, because a suspended process has not waited for the disk.
const LOOKS = 9;
const LOOK_MS = 100;
const CLOSE_MS = 5_000;

interface Sent {
  readonly id: number;
  readonly parcel: Parcel;
  /** How often it was still under way at a check. */
  looks: number;
  /** Whether its callers were told that it takes too long. */
  isLate: boolean;
}

/**
 * Talks to the thread that owns the database. Everything asked for in one turn of the event loop, or while the thread
 * is busy, is sent as one batch, as far as it is small.
 */
export class WorkerClient {
  readonly #worker: Worker;
  readonly #events: WorkerEvents;
  readonly #queue = new WorkQueue();
  #sent: Sent | undefined;
  #lastId = 0;
  #isScheduled = false;
  #isReady = true;
  #refusedRows = 0;
  #hasEnded = false;
  #closing: Promise<void> | undefined;
  #watchdog: NodeJS.Timeout | undefined;

  private constructor(worker: Worker, events: WorkerEvents) {
    this.#worker = worker;
    this.#events = events;
  }

  /** Starts the thread and waits until the database is open. */
  static async open(
    options: WorkerOptions,
    events: WorkerEvents,
    worker: Worker = startStoreWorker(),
  ): Promise<WorkerClient> {
    const client = new WorkerClient(worker, events);
    worker.ref();
    worker.postMessage(options);
    await new Promise<void>((resolve, reject) => {
      const fail = ({ message }: Error): void =>
        reject(
          new ToolcribError('invalid_setup', `The store cannot be opened: ${message.split('\n', 1)[0]}`),
        );
      const earlier = workerFailure(worker);
      if (earlier) fail(earlier);
      worker.once('error', fail);
      worker.once('message', (news: News) => ('failed' in news ? fail(new Error(news.failed)) : resolve()));
    });
    worker.on('message', (news: News) => client.#hear(news));
    worker.on('error', (error) => client.#fail(String(error)));
    worker.on('exit', () => client.#end());
    // An idle thread must not keep the process alive.
    worker.unref();
    return client;
  }

  /** Whether rows can be written. */
  get isReady(): boolean {
    return this.#isReady && !this.#closing;
  }

  /** Writes a row; resolves when it is on disk. */
  append(entry: Entry): Promise<void> {
    return this.#queueRow(entry, undefined);
  }

  /**
   * Writes the intent of a call, which runs only if this resolves; an intent written too late gets an outcome on
   * record.
   */
  intend(intent: Entry): Promise<void> {
    return this.#queueRow(intent, intent);
  }

  #queueRow(entry: Entry, intent: Entry | undefined): Promise<void> {
    if (!this.isReady || !this.#queue.hasRoomForRow) return this.#refuseRow();
    if (!isOneRow(entry)) return Promise.reject(new TypeError(NOT_ONE_ROW));
    return new Promise((resolve, reject) => {
      this.#queue.addRow(`${entry.chain}\t${entry.body}`, { resolve, reject, intent });
      this.#schedule();
    });
  }

  /** Runs an operation in the next transaction; resolves with its result once that is on disk. */
  ask<T>(operation: Operation, bytes = 0): Promise<T> {
    const { row } = operation;
    if (row && !this.isReady) return this.#refuseRow();
    if (this.#closing || this.#hasEnded) return Promise.reject(recordUnavailable());
    if (!this.#queue.hasRoomForOperation) return Promise.reject(recordUnavailable());
    if (row && !isOneRow(row)) return Promise.reject(new TypeError(NOT_ONE_ROW));
    return new Promise<T>((resolve, reject) => {
      this.#queue.addOperation(operation, { resolve, reject }, bytes);
      this.#schedule();
    });
  }

  /**
   * Runs an operation with a body, apart from rows; those of one share keep their order. Fails with `busy` if the queue
   * is full.
   */
  askApart<T>(operation: Operation, body: BodySize): Promise<T> {
    if (this.#closing || this.#hasEnded) return Promise.reject(recordUnavailable());
    if (!this.#queue.hasRoomFor(body)) return Promise.reject(new ToolcribError('busy', TOO_MUCH));
    return new Promise<T>((resolve, reject) => {
      this.#queue.addBody(operation, { resolve, reject }, body);
      this.#schedule();
    });
  }

  /** Lets pending work finish, and ends the thread. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  #refuseRow(): Promise<never> {
    this.#refusedRows++;
    return Promise.reject(recordUnavailable());
  }

  async #close(): Promise<void> {
    const exit = this.#hasEnded
      ? Promise.resolve()
      : new Promise<void>((resolve) => this.#worker.once('exit', () => resolve()));
    const patience = performance.now() + CLOSE_MS;
    while (this.#isBusy() && performance.now() < patience) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    clearInterval(this.#watchdog);
    if (this.#hasEnded) return;
    this.#worker.ref();
    this.#worker.postMessage('close');
    // A disk that hangs must not keep the process from ending.
    const giveUp = setTimeout(() => void this.#worker.terminate(), CLOSE_MS);
    await exit;
    clearTimeout(giveUp);
  }

  #isBusy(): boolean {
    return this.#sent !== undefined || !this.#queue.isEmpty;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#sent) return;
    this.#isScheduled = true;
    setImmediate(() => this.#send());
  }

  #send(): void {
    this.#isScheduled = false;
    const refused = this.#refusedRows;
    this.#refusedRows = 0;
    this.#watchdog ??= setInterval(() => this.#watch(), LOOK_MS).unref();
    this.#worker.ref();
    const id = ++this.#lastId;
    this.#sent = { id, parcel: this.#post(id, refused, this.#queue.next()), looks: 0, isLate: false };
  }

  // An argument that cannot be cloned, such as a function, fails only its own operation.
  #post(id: number, refused: number, parcel: Parcel): Parcel {
    const { text: rows, work } = parcel;
    try {
      this.#worker.postMessage({ id, rows, operations: work, refused } satisfies WorkBatch);
      return parcel;
    } catch {
      const copied = work.map((operation, index) => copyOf(operation, parcel.operations[index]!));
      const operations = copied.filter((operation) => operation !== undefined);
      this.#worker.postMessage({ id, rows, operations, refused } satisfies WorkBatch);
      const waiting = parcel.operations.filter((_, index) => copied[index]);
      return { ...parcel, work: operations, operations: waiting };
    }
  }

  #hear(news: News): void {
    if ('id' in news) this.#settle(news);
    else if ('changed' in news) this.#events.onLook(news.changed);
    else if ('trouble' in news) this.#fail(news.trouble);
    else if ('ready' in news) this.#recover();
    else if ('upkeep' in news) this.#events.onWarning(news.upkeep);
  }

  #settle({ id, results, error }: BatchReply): void {
    const sent = this.#sent;
    if (sent?.id !== id) return;
    const { parcel } = sent;
    this.#sent = undefined;
    this.#worker.unref();
    if (error !== undefined) refuseParcel(parcel, recordUnavailable(error));
    else {
      for (const { resolve } of parcel.rows) resolve(undefined as never);
      for (const [index, { resolve }] of parcel.operations.entries()) resolve(results![index] as never);
      // The callers of this batch have given up, but the next one can be served.
      if (!this.#isReady) this.#recover();
      if (sent.isLate) this.#takeBack(parcel, results!);
    }
    if (!this.#queue.isEmpty) this.#schedule();
  }

  // Calls that were refused meanwhile did not run although their intents were written: their outcomes are recorded, and
  // their keys and approvals are released.
  #takeBack({ rows, work }: Parcel, results: readonly unknown[]): void {
    for (const { intent } of rows) if (intent) this.#closeUnrun(intent);
    for (const [index, { name, args, row }] of work.entries()) {
      if (name !== 'claim' || results[index] !== 'committed') continue;
      const [reservation, approval] = args as [Reservation | undefined, string | undefined];
      if (reservation) this.#undo({ name: 'release', args: [reservation.owner, reservation.key] });
      if (approval !== undefined) this.#undo({ name: 'giveBackApproval', args: [approval] });
      if (row) this.#closeUnrun(row);
    }
  }

  #undo(operation: Operation): void {
    this.ask(operation).catch(() => {});
  }

  #closeUnrun(row: Entry): void {
    if (intentIn(row.body)?.kind !== 'intent') return;
    const reason = 'Writing the intent took too long; the tool was not run.';
    this.append(endIntent(row, { outcome: 'record_unavailable', reason })).catch(() => {});
  }

  // If the disk hangs, waiting calls are refused, and no tool runs until it responds again.
  #watch(): void {
    const sent = this.#sent;
    if (!sent) {
      // No other work may come while calls are refused, so an empty batch tests the thread.
      if (!this.#isReady && !this.#isScheduled && !this.#hasEnded) this.#send();
      return;
    }
    if (++sent.looks < LOOKS) return;
    sent.isLate = true;
    refuseParcel(sent.parcel, recordUnavailable('The disk does not respond.'));
    this.#fail('The disk does not respond.');
  }

  #fail(reason: string): void {
    this.#refusedRows += this.#queue.refuse(recordUnavailable(reason));
    if (!this.#isReady) return;
    this.#isReady = false;
    this.#events.onTrouble(reason);
  }

  #end(): void {
    this.#hasEnded = true;
    clearInterval(this.#watchdog);
    const reason = 'The thread of the store has ended.';
    if (this.#sent) refuseParcel(this.#sent.parcel, recordUnavailable(reason));
    this.#sent = undefined;
    if (this.#closing) this.#queue.refuse(recordUnavailable());
    else this.#fail(reason);
  }

  #recover(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#events.onRecovery();
  }
}

const TOO_MUCH = 'Too much data of this tenant waits to be written; try again shortly.';
const NOT_ONE_ROW = 'A row is one line of text without tabs, on a chain whose name has neither.';

function copyOf(operation: Operation, { reject }: Waiting): Operation | undefined {
  try {
    return structuredClone(operation);
  } catch (cause) {
    reject(new TypeError(`${operation.name} got an argument that cannot be stored.`, { cause }));
    return undefined;
  }
}
