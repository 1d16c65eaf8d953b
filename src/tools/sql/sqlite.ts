import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Overdue, within } from '../../base/within.ts';
import { nothing } from '../../base/awaitable.ts';
import { systemClock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { coverInherited } from '../../net/processes/inherited-descriptors.ts';
import {
  sharedPatience,
  sqlError,
  type SqlDriver,
  type SqlPatience,
  type SqlRows,
  type SqlStatement,
} from './driver.ts';
import { OUT_OF_MEMORY, type ChildReply, type ChildRequest, type StatementSurvey } from './child-messages.ts';
import type { Scope } from './survey.ts';

/** A read-only SQLite file that reports what a statement would read. */
export interface SqliteDriver extends SqlDriver {
  readonly dialect: 'sqlite';
  /** Runs one SELECT; with a scope, only if its plan stays within it. */
  query(statement: SqlStatement & { readonly scope?: Scope }): ReturnType<SqlDriver['query']>;
  /** What a SELECT would read and call; it is not run. */
  survey(sql: string, patience: SqlPatience): Promise<StatementSurvey>;
}

/** How an SQLite file is opened. */
export interface SqliteOptions {
  /** How many statements may run at once, each in a process of its own; 2 unless set. */
  readonly maxProcesses?: number;
}

const READY_MS = 10_000;
const IDLE_MS = 30_000;

/** Opens an SQLite file for reading, in processes that are killed when a statement takes too long or is cancelled. */
export function openSqlite(file: string, { maxProcesses = 2 }: SqliteOptions = {}): SqliteDriver {
  const children = new Children(resolve(file), maxProcesses);
  return {
    dialect: 'sqlite',
    async query({ sql, values, maxRows, maxBytes, scope, ...patience }) {
      const asked = { kind: 'query', sql, values, maxRows, maxBytes, ...(scope && { scope }) } as const;
      return rowsOf(await children.ask(asked, patience));
    },
    async columns({ schema, table }, patience) {
      if (schema !== 'main') return [];
      return rowsOf(await children.ask({ kind: 'columns', table }, patience)).columns;
    },
    async tables(limit, patience) {
      return rowsOf(await children.ask({ kind: 'tables', limit }, patience)).columns;
    },
    async survey(sql, patience) {
      const reply = await children.ask({ kind: 'survey', sql }, patience);
      if ('survey' in reply) return reply.survey;
      throw sqlError('failed');
    },
    close: () => children.close(),
  };
}

function rowsOf(reply: ChildReply): SqlRows {
  if (!('rows' in reply)) throw sqlError('failed');
  const { columns, rows, isCut } = reply;
  return { columns, rows, isCut };
}

type Question = ChildRequest extends infer R ? (R extends unknown ? Omit<R, 'id'> : never) : never;

/** The processes of one file: each runs one statement at a time, and is started on demand. */
class Children {
  readonly #file: string;
  readonly #idle: Child[] = [];
  readonly #waiting: (() => void)[] = [];
  #free: number;
  #lastId = 0;
  #isClosed = false;
  readonly #running = new Set<Promise<unknown>>();

  constructor(file: string, maxProcesses: number) {
    this.#file = file;
    this.#free = maxProcesses;
  }

  ask(question: Question, patience: SqlPatience): Promise<ChildReply> {
    const asked = this.#ask(question, patience);
    const settled = asked.then(nothing, nothing).finally(() => this.#running.delete(settled));
    this.#running.add(settled);
    return asked;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running);
    await Promise.all(this.#idle.splice(0).map((child) => child.end()));
  }

  async #ask(question: Question, patience: SqlPatience): Promise<ChildReply> {
    if (this.#isClosed) throw sqlError('unavailable');
    const shared = sharedPatience(patience);
    await this.#enter(shared);
    let child: Child | undefined;
    try {
      child = this.#idle.pop() ?? new Child(this.#file, (gone) => this.#forget(gone));
      const reply = await child.ask({ id: ++this.#lastId, ...question }, shared);
      if ('trouble' in reply) {
        const { trouble, detail, word } = reply;
        throw sqlError(trouble, { cause: new Error(detail), ...(word !== undefined && { word }) });
      }
      return reply;
    } finally {
      if (child?.isAlive) {
        this.#idle.push(child);
        child.rest();
      }
      this.#leave();
    }
  }

  async #enter({ timeoutMs, signal }: SqlPatience): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    let go = nothing;
    const turn = new Promise<void>((proceed) => (go = proceed));
    this.#waiting.push(go);
    try {
      await within(timeoutMs, signal, turn);
    } catch (error) {
      const at = this.#waiting.indexOf(go);
      if (at >= 0) this.#waiting.splice(at, 1);
      // Its turn came at the same moment, so it goes to the next one.
      else this.#leave();
      throw error instanceof Overdue ? sqlError('busy') : error;
    }
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }

  #forget(child: Child): void {
    const place = this.#idle.indexOf(child);
    if (place >= 0) this.#idle.splice(place, 1);
  }
}

/** One process with one connection. */
class Child {
  readonly #process: ChildProcess;
  readonly #ready: Promise<void>;
  readonly #isGone: Promise<never>;
  #leave: NodeJS.Timeout | undefined;

  constructor(file: string, onExit: (child: Child) => void) {
    this.#process = startChild(file);
    // An idle process must not keep this one alive.
    this.#process.unref();
    this.#process.channel?.unref();
    this.#isGone = new Promise((_, refuse) => {
      this.#process.once('exit', (_code, signal) => {
        onExit(this);
        const cause = new Error('The process of the database ended.');
        refuse(sqlError(signal === OUT_OF_MEMORY ? 'too_large' : 'failed', { cause }));
      });
      // `on`, not `once`: a process that failed to start may emit another error when it is killed.
      this.#process.on('error', (cause) => refuse(sqlError('unavailable', { cause })));
    });
    this.#isGone.catch(nothing);
    this.#ready = this.#next().then(nothing, (cause: unknown) => {
      throw sqlError('unavailable', { cause });
    });
    this.#ready.catch(nothing);
  }

  get isAlive(): boolean {
    const { connected, exitCode, signalCode, killed } = this.#process;
    return connected && exitCode === null && signalCode === null && !killed;
  }

  async ask(request: ChildRequest, patience: SqlPatience): Promise<ChildReply> {
    clearTimeout(this.#leave);
    const startedAt = systemClock.ticks();
    await this.#within(this.#ready, { timeoutMs: READY_MS, signal: patience.signal });
    // Start-up time is excluded, or a short limit could never be met.
    patience.extend?.(systemClock.ticks() - startedAt);
    const reply = this.#next() as Promise<ChildReply>;
    this.#process.send(request, nothing);
    return this.#within(reply, patience);
  }

  /** Waits for the next statement for a while, then ends. */
  rest(): void {
    this.#leave = setTimeout(() => void this.end(), IDLE_MS).unref();
  }

  /** Kills the process; settles when it is gone. */
  async end(): Promise<void> {
    clearTimeout(this.#leave);
    // Keeps this process alive until the child is gone.
    this.#process.ref();
    this.#process.kill('SIGKILL');
    await this.#isGone.catch(nothing);
  }

  #next(): Promise<unknown> {
    const message = new Promise((proceed) => this.#process.once('message', proceed));
    return Promise.race([message, this.#isGone]);
  }

  // A statement cannot be interrupted from inside its process, so on timeout the process is killed.
  async #within<T>(work: Promise<T>, { timeoutMs, signal }: SqlPatience): Promise<T> {
    try {
      return await within(timeoutMs, signal, work);
    } catch (error) {
      void this.end();
      throw error instanceof Overdue ? sqlError('timed_out') : error;
    }
  }
}

// The child gets neither the environment, with its secrets, nor open files of this process.
function startChild(file: string): ChildProcess {
  const entry = fileURLToPath(childEntry());
  try {
    return fork(entry, [file], {
      cwd: dirname(entry),
      env: {},
      execArgv: entry.endsWith('.ts') ? ['--import', 'jiti/register'] : [],
      serialization: 'advanced',
      stdio: coverInherited(['ignore', 'ignore', 'ignore', 'ipc']),
    });
  } catch (cause) {
    throw sqlError('unavailable', { cause });
  }
}

// Beside this module in the source; beside or above it in a bundle.
function childEntry(): URL {
  const candidates = ['./child.ts', './sql-child.js', '../sql-child.js'];
  const entry = candidates.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  if (!entry) throw new ToolcribError('invalid_setup', 'The package is incomplete: sql-child.js is missing.');
  return entry;
}
