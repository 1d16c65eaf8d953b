import type { Worker } from 'node:worker_threads';
import { ToolcribError } from '../core/errors.ts';
import type { Reservation } from '../core/reservation.ts';
import { isOneRow } from './chain.ts';
import { endIntent, intentIn } from './intent.ts';
import { recordUnavailable } from './record-unavailable.ts';
import { failureOf, startStoreWorker } from './start-worker.ts';
import type { Entry } from './store.ts';
import type { Batch, News, Operation, Reply, WorkerOptions } from './worker-messages.ts';

/** What the line tells of the thread behind it. */
export interface LineEvents {
  /** The thread has looked, as it does every second, whether others wrote into the database. */
  readonly onLook: (hasChanged: boolean) => void;
  readonly onTrouble: (reason: string) => void;
  readonly onRecovery: () => void;
  /** Something that can wait did not work, such as writing a copy of a checkpoint. */
  readonly onWarning: (reason: string) => void;
}

// Longer than any healthy disk takes, and within a second; a disk that hangs is worse than one that fails. Looks are counted instead of time,
// because a process that got no time of its own has not waited for the disk.
const LOOKS = 9;
const LOOK_MS = 100;
const CLOSE_MS = 5_000;
const MAX_QUEUED = 20_000;

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
  /** The intent of a call that runs only when it is written in time. */
  readonly intent?: Entry | undefined;
}

/** A batch, and who waits for what in it. */
interface Asked {
  readonly batch: Batch;
  readonly rows: readonly Waiting[];
  readonly operations: readonly Waiting[];
}

interface Sent extends Asked {
  /** How often it was still under way when somebody looked. */
  looks: number;
  /** Whether everybody was told that it takes too long. */
  isLate: boolean;
}

/** The way to the thread that owns the database: what is asked for in one turn, or while it is at work, goes as one group. */
export class WorkerLine {
  readonly #worker: Worker;
  readonly #events: LineEvents;
  #rows = '';
  #rowsWaiting: Waiting[] = [];
  #operations: Operation[] = [];
  #operationsWaiting: Waiting[] = [];
  #sent: Sent | undefined;
  #lastId = 0;
  #isScheduled = false;
  #isReady = true;
  #refusedRows = 0;
  #hasEnded = false;
  #closing: Promise<void> | undefined;
  #watchdog: NodeJS.Timeout | undefined;

  private constructor(worker: Worker, events: LineEvents) {
    this.#worker = worker;
    this.#events = events;
  }

  /** Starts the thread and waits until the database is open. */
  static async open(
    options: WorkerOptions,
    events: LineEvents,
    worker: Worker = startStoreWorker(),
  ): Promise<WorkerLine> {
    const line = new WorkerLine(worker, events);
    worker.ref();
    worker.postMessage(options);
    await new Promise<void>((resolve, reject) => {
      const fail = ({ message }: Error): void =>
        reject(
          new ToolcribError('invalid_setup', `The store cannot be opened: ${message.split('\n', 1)[0]}`),
        );
      const earlier = failureOf(worker);
      if (earlier) fail(earlier);
      worker.once('error', fail);
      worker.once('message', (news: News) => ('failed' in news ? fail(new Error(news.failed)) : resolve()));
    });
    worker.on('message', (news: News) => line.#hear(news));
    worker.on('error', (error) => line.#fail(String(error)));
    worker.on('exit', () => line.#end());
    // A thread that only waits must not keep the process alive.
    worker.unref();
    return line;
  }

  /** Whether rows can be written. */
  get isReady(): boolean {
    return this.#isReady && !this.#closing;
  }

  /** Writes a row; resolves when it is on the disk. */
  append(entry: Entry): Promise<void> {
    return this.#queueRow(entry, undefined);
  }

  /** The same for the intent of a call that does not run unless this resolves: written too late, it is ended on record. */
  intend(intent: Entry): Promise<void> {
    return this.#queueRow(intent, intent);
  }

  #queueRow(entry: Entry, intent: Entry | undefined): Promise<void> {
    if (!this.isReady || this.#rowsWaiting.length >= MAX_QUEUED) return this.#refuseRow();
    if (!isOneRow(entry)) return Promise.reject(new TypeError(NOT_ONE_ROW));
    const line = `${entry.chain}\t${entry.body}`;
    this.#rows = this.#rows === '' ? line : `${this.#rows}\n${line}`;
    return new Promise((resolve, reject) => {
      this.#rowsWaiting.push({ resolve, reject, intent });
      this.#schedule();
    });
  }

  /** Does something in the next transaction; resolves with its answer once that is on the disk. */
  ask<T>(operation: Operation): Promise<T> {
    const { row } = operation;
    if (row && !this.isReady) return this.#refuseRow();
    if (this.#closing || this.#hasEnded) return Promise.reject(recordUnavailable());
    if (this.#operations.length >= MAX_QUEUED) return Promise.reject(recordUnavailable());
    if (row && !isOneRow(row)) return Promise.reject(new TypeError(NOT_ONE_ROW));
    return new Promise<T>((resolve, reject) => {
      this.#operations.push(operation);
      this.#operationsWaiting.push({ resolve, reject });
      this.#schedule();
    });
  }

  /** Lets what was asked for finish, and ends the thread. */
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
    return this.#sent !== undefined || this.#rowsWaiting.length > 0 || this.#operations.length > 0;
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
    const batch: Batch = { id: ++this.#lastId, rows: this.#rows, operations: this.#operations, refused };
    const waiting = { rows: this.#rowsWaiting, operations: this.#operationsWaiting };
    this.#clearQueues();
    this.#watchdog ??= setInterval(() => this.#watch(), LOOK_MS).unref();
    this.#worker.ref();
    this.#sent = { looks: 0, isLate: false, ...this.#post({ batch, ...waiting }) };
  }

  // What cannot be copied to the thread, such as a function, fails the request it is part of and no other.
  #post(asked: Asked): Asked {
    try {
      this.#worker.postMessage(asked.batch);
      return asked;
    } catch {
      const copied = asked.batch.operations.map((operation, index) =>
        copyOf(operation, asked.operations[index]!),
      );
      const batch = { ...asked.batch, operations: copied.filter((operation) => operation !== undefined) };
      this.#worker.postMessage(batch);
      return { ...asked, batch, operations: asked.operations.filter((_, index) => copied[index]) };
    }
  }

  #clearQueues(): void {
    this.#rows = '';
    this.#rowsWaiting = [];
    this.#operations = [];
    this.#operationsWaiting = [];
  }

  #hear(news: News): void {
    if ('id' in news) this.#settle(news);
    else if ('changed' in news) this.#events.onLook(news.changed);
    else if ('trouble' in news) this.#fail(news.trouble);
    else if ('ready' in news) this.#recover();
    else if ('upkeep' in news) this.#events.onWarning(news.upkeep);
  }

  #settle({ id, results, error }: Reply): void {
    const sent = this.#sent;
    if (sent?.batch.id !== id) return;
    this.#sent = undefined;
    this.#worker.unref();
    if (error !== undefined) refuse(sent, recordUnavailable(error));
    else {
      for (const { resolve } of sent.rows) resolve(undefined as never);
      for (const [index, { resolve }] of sent.operations.entries()) resolve(results![index] as never);
      // Late is better than never: whoever waited has given up, but the next can be served.
      if (!this.#isReady) this.#recover();
      if (sent.isLate) this.#takeBack(sent, results!);
    }
    if (this.#rowsWaiting.length > 0 || this.#operations.length > 0) this.#schedule();
  }

  // Calls that were refused meanwhile have not run, although their intents got written: the record says so, and their keys and approvals are good again.
  #takeBack({ rows, batch }: Sent, results: readonly unknown[]): void {
    for (const { intent } of rows) if (intent) this.#closeUnrun(intent);
    for (const [index, { name, args, row }] of batch.operations.entries()) {
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

  // Nobody waits for a disk that hangs: the calls are refused, and no tool runs until it answers again.
  #watch(): void {
    const sent = this.#sent;
    if (!sent) {
      // Nothing else might be asked for while calls are refused, so the thread is asked whether it is well.
      if (!this.#isReady && !this.#isScheduled && !this.#hasEnded) this.#send();
      return;
    }
    if (++sent.looks < LOOKS) return;
    sent.isLate = true;
    refuse(sent, recordUnavailable('The disk does not answer.'));
    this.#fail('The disk does not answer.');
  }

  #fail(reason: string): void {
    this.#refusedRows += this.#rowsWaiting.length + this.#operations.filter(({ row }) => row).length;
    refuse({ rows: this.#rowsWaiting, operations: this.#operationsWaiting }, recordUnavailable(reason));
    this.#clearQueues();
    if (!this.#isReady) return;
    this.#isReady = false;
    this.#events.onTrouble(reason);
  }

  #end(): void {
    this.#hasEnded = true;
    clearInterval(this.#watchdog);
    const reason = 'The thread of the store has ended.';
    if (this.#sent) refuse(this.#sent, recordUnavailable(reason));
    this.#sent = undefined;
    if (this.#closing)
      refuse({ rows: this.#rowsWaiting, operations: this.#operationsWaiting }, recordUnavailable());
    else this.#fail(reason);
  }

  #recover(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#events.onRecovery();
  }
}

const NOT_ONE_ROW = 'A row is one line of text without tabs, on a chain whose name has neither.';

function copyOf(operation: Operation, { reject }: Waiting): Operation | undefined {
  try {
    return structuredClone(operation);
  } catch (cause) {
    reject(new TypeError(`${operation.name} was handed something that cannot be kept.`, { cause }));
    return undefined;
  }
}

// A promise that is settled stays as it is, so refusing twice does no harm.
function refuse({ rows, operations }: Pick<Sent, 'rows' | 'operations'>, refusal: ToolcribError): void {
  for (const { reject } of rows) reject(refusal);
  for (const { reject } of operations) reject(refusal);
}
