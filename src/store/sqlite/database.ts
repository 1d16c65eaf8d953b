import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import type Database from 'libsql';
import { ToolcribError } from '../../base/errors.ts';
import { runAsOwner } from '../secrets-file.ts';

type Statement = Database.Statement;
type Value = string | number | bigint | null;

// Loaded early, because a server's start waits for it; if it is not installed, opening a database fails with a message.
const sqlite = loadSqlite();

/** A connection to an SQLite database, with cached prepared statements. */
export class SqliteDatabase {
  readonly raw: Database.Database;
  readonly #statements = new Map<string, Statement>();

  /** Opens or creates a database whose commits are on disk when they return. */
  constructor(file: string, which: 'any' | 'existing' = 'any') {
    if (which === 'existing' && !existsSync(file))
      throw new ToolcribError(
        'invalid_setup',
        `There is no database ${file}; it is made when a server starts.`,
      );
    if (sqlite instanceof Error) throw new ToolcribError('invalid_setup', NOT_INSTALLED, { cause: sqlite });
    try {
      // The file holds results and keys: only its owner may read it, and SQLite gives the files beside it the same
      // mode.
      if (which === 'any') closeSync(openSync(file, 'a', 0o600));
      this.raw = new sqlite(file);
      this.raw.exec(
        'pragma busy_timeout = 800; pragma page_size = 16384; pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on',
      );
    } catch (cause) {
      const text = `${file} cannot be opened as a database: ${(cause as Error).message}`;
      throw new ToolcribError('invalid_setup', `${text}${isOthers(file) ? runAsOwner : ''}`, { cause });
    }
  }

  /** The schema version of the database. */
  get version(): number {
    return this.get<{ user_version: number }>('pragma user_version')!.user_version;
  }

  /** Changes when another connection has written. */
  get foreignWrites(): number {
    return this.get<{ data_version: number }>('pragma data_version')!.data_version;
  }

  /** Runs a statement; returns how many rows it changed. */
  run(sql: string, ...values: readonly Value[]): number {
    return this.#prepared(sql).run(...values).changes;
  }

  /** The first row, typed by the caller. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only the query knows its columns
  get<T>(sql: string, ...values: readonly Value[]): T | undefined {
    return this.#prepared(sql).get(...values) as T | undefined;
  }

  all<T>(sql: string, ...values: readonly Value[]): T[] {
    return this.#prepared(sql).all(...values) as T[];
  }

  /** Reads row by row, for results that do not fit into memory. */
  iterate<T>(sql: string, ...values: readonly Value[]): IterableIterator<T> {
    return this.#prepared(sql).iterate(...values) as IterableIterator<T>;
  }

  /** Runs work in one transaction, and blocks other writers meanwhile. */
  atOnce<T>(work: () => T): T {
    this.run('begin immediate');
    try {
      const value = work();
      this.run('commit');
      return value;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.raw.close();
  }

  // SQLite rolls back by itself after some failures.
  #rollBack(): void {
    try {
      this.run('rollback');
    } catch {
      // The original failure is what matters.
    }
  }

  #prepared(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.raw.prepare(sql)));
    return statement;
  }
}

const NOT_INSTALLED =
  'SQLite for this platform is not installed: it is an optional dependency of libsql. Install it with: npm install --include=optional';

function loadSqlite(): typeof Database | Error {
  try {
    return createRequire(import.meta.url)('libsql') as typeof Database;
  } catch (error) {
    return error as Error;
  }
}

function isOthers(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}
