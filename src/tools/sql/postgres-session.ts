import type { Socket } from 'node:net';
import type { PoolClient, QueryArrayConfig } from 'pg';
import { within } from '../../base/within.ts';
import { nothing } from '../../base/awaitable.ts';
import {
  createRowTaker,
  sqlError,
  troubleOf,
  type RowTaker,
  type SqlRows,
  type SqlStatement,
} from './driver.ts';
import { postgresError } from './postgres-error.ts';
import type { PostgresPool } from './postgres-pool.ts';

const BATCH_ROWS = 500;
const LEAVE_MS = 2_000;
const SLACK_BYTES = 1024 * 1024;

/** A connection used by one statement. */
export class PostgresSession {
  readonly #client: PoolClient;
  readonly #pool: PostgresPool;
  readonly #stream: Socket;
  #processId: number | undefined;
  #reading: Promise<void> | undefined;
  #reason: Error | undefined;
  #ended: Promise<void> | undefined;

  constructor(client: PoolClient, pool: PostgresPool) {
    this.#client = client;
    this.#pool = pool;
    this.#stream = (client as unknown as { connection: { stream: Socket } }).connection.stream;
    // A broken connection fails the statement, which is enough.
    client.on('error', nothing);
  }

  async run(statement: SqlStatement): Promise<SqlRows> {
    try {
      await this.#begin(statement.timeoutMs);
      const prefix = 'declare toolcrib no scroll cursor for ';
      await this.#read(`${prefix}${statement.sql}`, statement.values).catch((error: unknown) => {
        throw postgresError(error, prefix.length);
      });
      return await this.#fetch(statement);
    } catch (error) {
      throw this.#reason ?? (troubleOf(error) ? error : postgresError(error));
    }
  }

  /** Stops the statement on the server, then closes its connection; the first reason is kept. */
  stop(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    // Nothing more is read; a server that cannot send ends by itself.
    if (troubleOf(reason) === 'too_large') this.#stream.destroy();
    this.#ended = this.#end();
  }

  /** Returns the connection in a clean state, or closes it; a server that does not respond blocks no other call. */
  async leave(): Promise<void> {
    const isClean = await within(LEAVE_MS, undefined, this.#clean()).then(
      () => true,
      () => false,
    );
    if (isClean) this.#client.removeListener('error', nothing);
    else this.#stream.destroy();
    this.#client.release(!isClean);
  }

  async #clean(): Promise<void> {
    await this.#ended;
    if (this.#reason) throw this.#reason;
    await this.#client.query('rollback');
    await this.#client.query('discard all');
  }

  async #begin(timeoutMs: number): Promise<void> {
    await this.#client.query('begin read only');
    const settings = { ...SETTINGS, statement_timeout: timeoutMs, lock_timeout: timeoutMs };
    const names = Object.entries({
      ...settings,
      search_path: this.#pool.searchPath,
      idle_in_transaction_session_timeout: timeoutMs,
    });
    const calls = names.map(
      (_, index) => `pg_catalog.set_config($${index * 2 + 1}, $${index * 2 + 2}, true)`,
    );
    const { rows } = await this.#read(
      `select pg_catalog.pg_backend_pid(), ${calls.join(', ')}`,
      names.flatMap(([name, value]) => [name, String(value)]),
    );
    this.#processId = Number(rows[0]?.[0]);
  }

  async #fetch({ maxRows, maxBytes }: SqlStatement): Promise<SqlRows> {
    const taker = createRowTaker({ maxRows, maxBytes });
    const unwatch = this.#watch(maxBytes);
    let columns: string[] = [];
    try {
      // The first row shows how large rows are; one more than the limit shows whether there are more.
      for (let count = 1; count > 0;) {
        const { rows, fields } = await this.#read(`fetch forward ${count} from toolcrib`, []);
        columns = fields.map(({ name }) => name);
        const isOpen = rows.every((row) => taker.take(row)) && rows.length === count;
        count = isOpen ? nextCount(taker, { maxRows, maxBytes }) : 0;
      }
    } catch (error) {
      if (troubleOf(this.#reason) !== 'too_large' || taker.rows.length === 0) throw error;
      taker.cut();
    } finally {
      unwatch();
    }
    return { columns, rows: taker.rows, isCut: taker.isCut };
  }

  // A single value can be a gigabyte, so bytes are counted before they are parsed.
  #watch(maxBytes: number): () => void {
    let received = 0;
    const count = (chunk: Buffer): void => {
      received += chunk.length;
      if (received > 4 * maxBytes + SLACK_BYTES) this.stop(sqlError('too_large'));
    };
    this.#stream.on('data', count);
    return () => this.#stream.removeListener('data', count);
  }

  // Always the extended protocol, which accepts only one statement.
  async #read(text: string, values: readonly unknown[]): Promise<Read> {
    if (this.#reason) throw this.#reason;
    const config = { text, values, rowMode: 'array', types: this.#pool.types, queryMode: 'extended' };
    const read = this.#client.query(config as unknown as QueryArrayConfig) as Promise<Read>;
    this.#reading = read.then(nothing, nothing);
    try {
      return await read;
    } finally {
      this.#reading = undefined;
    }
  }

  // Closing the connection alone would leave the statement running. A stopped connection is not reused, because the
  // cancel request may arrive late.
  async #end(): Promise<void> {
    const [client, processId, isOver] = [this.#client, this.#processId, this.#reading];
    if (isOver) await this.#pool.endStatement({ client, processId, isOver });
    this.#stream.destroy();
  }
}

interface Read {
  readonly rows: readonly (readonly unknown[])[];
  readonly fields: readonly { readonly name: string }[];
}

const SETTINGS = {
  // Otherwise a backslash could end a string, and our check would read the statement differently.
  standard_conforming_strings: 'on',
  timezone: 'UTC',
  datestyle: 'ISO',
  intervalstyle: 'iso_8601',
  bytea_output: 'hex',
  work_mem: '16MB',
  max_parallel_workers_per_gather: '0',
};

function nextCount(
  { rows, bytes }: RowTaker,
  { maxRows, maxBytes }: Pick<SqlStatement, 'maxRows' | 'maxBytes'>,
): number {
  const fitting = Math.floor((maxBytes - bytes) / (bytes / rows.length || 1)) + 1;
  return Math.min(Math.max(fitting, 1), maxRows + 1 - rows.length, BATCH_ROWS);
}
