import type { Socket } from 'node:net';
import type { Connection, PoolConnection } from 'mysql2';
import { nothing } from '../../base/awaitable.ts';
import { within } from '../../base/within.ts';
import { createRowTaker, sqlError, troubleOf, type SqlRows, type SqlStatement } from './driver.ts';
import { mysqlError } from './mysql-error.ts';
import { mysqlRow, type MysqlField } from './mysql-values.ts';

const LEAVE_MS = 2_000;
const STOP_MS = 5_000;
const SLACK_BYTES = 1024 * 1024;

/** What a session needs of the pool it belongs to. */
export interface MysqlSessionParts {
  /** Connects beside the pool, which may be full. */
  connect(): Connection;
  /** Told of a statement that could not be ended. */
  readonly onFailure: (error: unknown) => void;
}

/** A connection while one statement has it. */
export class MysqlSession {
  readonly #connection: PoolConnection;
  readonly #parts: MysqlSessionParts;
  #isRunning = false;
  #reason: Error | undefined;
  #ended: Promise<void> | undefined;
  // A connection that is destroyed answers nothing that was asked of it.
  #giveUp: (reason: Error) => void = nothing;
  // Rows that came before one that is too large are kept.
  #cut: (reason: Error) => void = nothing;
  readonly #isStopped = new Promise<never>((_, refuse) => (this.#giveUp = refuse));

  constructor(connection: PoolConnection, parts: MysqlSessionParts) {
    this.#connection = connection;
    this.#parts = parts;
    // A connection that breaks fails the statement, which is enough.
    connection.on('error', nothing);
    this.#isStopped.catch(nothing);
  }

  async run(statement: SqlStatement): Promise<SqlRows> {
    try {
      const work = this.#work(statement);
      work.catch(nothing);
      return await Promise.race([work, this.#isStopped]);
    } catch (error) {
      throw this.#reason ?? (troubleOf(error) ? error : mysqlError(error));
    }
  }

  async #work(statement: SqlStatement): Promise<SqlRows> {
    await this.#begin(statement.timeoutMs);
    await this.#check(statement.sql);
    return this.#fetch(statement);
  }

  /** Ends the statement where it runs, and its connection with it; the first reason stays. */
  stop(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#ended = this.#isRunning ? this.#kill() : Promise.resolve();
    void this.#ended.then(() =>
      troubleOf(reason) === 'too_large' ? this.#cut(reason) : this.#giveUp(reason),
    );
  }

  /** Gives the connection back as it was, or not at all; a server that falls silent blocks no other call. */
  async leave(): Promise<void> {
    const isClean = await within(LEAVE_MS, undefined, this.#clean()).then(
      () => true,
      () => false,
    );
    this.#connection.removeListener('error', nothing);
    if (isClean) this.#connection.release();
    else this.#connection.destroy();
  }

  async #clean(): Promise<void> {
    await this.#ended;
    if (this.#reason) throw this.#reason;
    await this.#say('rollback');
    await new Promise<void>((proceed, refuse) => {
      this.#connection.reset((error) => (error ? refuse(error) : proceed()));
    });
  }

  async #begin(timeoutMs: number): Promise<void> {
    const [row] = await this.#say('select version()');
    const isMariaDb = String((row as unknown[])[0]).includes('MariaDB');
    const limit = isMariaDb
      ? `max_statement_time = ${timeoutMs / 1000}`
      : `max_execution_time = ${timeoutMs}`;
    const wait = Math.max(1, Math.ceil(timeoutMs / 1000));
    await this.#say(
      `set session ${limit}, lock_wait_timeout = ${wait}, time_zone = '+00:00', sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES'`,
    );
    await this.#say('start transaction read only');
  }

  // Only a SELECT that writes nothing can stand in EXISTS; the statement itself must then be understood without it,
  // too.
  async #check(sql: string): Promise<void> {
    if (sql.includes('\0')) throw sqlError('invalid_statement');
    await new Promise<void>((proceed, refuse) => {
      this.#connection.prepare(`select exists (${sql}\n)`, (error, statement) => {
        if (error) return refuse(error);
        statement.close();
        proceed();
      });
    });
  }

  #fetch({ sql, values, maxRows, maxBytes }: SqlStatement): Promise<SqlRows> {
    const taker = createRowTaker({ maxRows, maxBytes });
    const unwatch = this.#watch(maxBytes);
    let fields: readonly MysqlField[] = [];
    const answer = (): SqlRows => ({
      columns: fields.map(({ name }) => name),
      rows: taker.rows,
      isCut: taker.isCut,
    });
    this.#isRunning = true;
    return new Promise<SqlRows>((proceed, refuse) => {
      if (this.#reason) return refuse(this.#reason);
      const query = this.#connection.execute({ sql, values: [...values], rowsAsArray: true });
      query.on('fields', (found: readonly MysqlField[]) => (fields = found));
      query.on('result', (row: unknown) => {
        if (Array.isArray(row) && !this.#reason) taker.take(mysqlRow(row, fields));
      });
      query.on('end', () => proceed(answer()));
      query.on('error', refuse);
      this.#cut = (reason) => {
        taker.cut();
        if (taker.rows.length > 0) proceed(answer());
        else refuse(reason);
      };
    }).finally(() => {
      this.#isRunning = false;
      unwatch();
    });
  }

  // A single value can be a gigabyte: bytes are counted as they arrive, before values are made of them.
  #watch(maxBytes: number): () => void {
    const { stream } = this.#connection as unknown as { stream: Socket };
    let received = 0;
    const count = (chunk: Buffer): void => {
      received += chunk.length;
      if (received <= 4 * maxBytes + SLACK_BYTES) return;
      this.stop(sqlError('too_large'));
      stream.destroy();
    };
    stream.on('data', count);
    return () => stream.removeListener('data', count);
  }

  #say(sql: string): Promise<readonly unknown[]> {
    return new Promise((proceed, refuse) => {
      this.#connection.query({ sql, rowsAsArray: true }, (error, rows) =>
        error ? refuse(error) : proceed(rows as unknown as readonly unknown[]),
      );
    });
  }

  // Closing the connection alone would leave the statement running.
  async #kill(): Promise<void> {
    const through = this.#parts.connect();
    through.on('error', nothing);
    const killed = new Promise<void>((proceed, refuse) => {
      through.query(`kill connection ${this.#connection.threadId}`, (error) => {
        // One that is over already is no concern.
        if (error && error.errno !== NO_SUCH_THREAD) refuse(error);
        else proceed();
      });
    });
    try {
      await within(STOP_MS, undefined, killed);
    } catch (cause) {
      this.#parts.onFailure(new Error('A statement could not be ended.', { cause }));
    } finally {
      through.destroy();
      this.#connection.destroy();
    }
  }
}

const NO_SUCH_THREAD = 1094;
