import type { Client, Pool, PoolClient } from 'pg';
import { endsWithin, within } from '../../base/within.ts';
import { nothing } from '../../base/awaitable.ts';
import { postgresTypes, type ReadArray } from './postgres-values.ts';

/** The connections to one database, and a way to stop a statement from another connection. */
export interface PostgresPool {
  readonly connections: Pool;
  readonly searchPath: string;
  readonly types: ReturnType<typeof postgresTypes>;
  /** Stops what a connection runs; `isOver` settles when its statement does. */
  endStatement(statement: RunningStatement): Promise<void>;
}

/** A statement running on the server. */
export interface RunningStatement {
  readonly client: PoolClient;
  /** The id of its server process, once known. */
  readonly processId?: number | undefined;
  readonly isOver: Promise<void>;
}

/** How a pool is made. */
export interface PoolOptions {
  readonly maxConnections: number;
  readonly searchPath: string;
  /** Called for a statement that could not be stopped. */
  readonly onFailure: (error: unknown) => void;
}

const CONNECT_MS = 5_000;
const STOP_MS = 1_000;
const CANCEL_TRIES = 5;
const BETWEEN_TRIES_MS = 100;

/** Loads the library and makes a pool; nothing is connected yet. */
export async function createPostgresPool(url: string, options: PoolOptions): Promise<PostgresPool> {
  const { default: pg } = await import('pg');
  const config = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'toolcrib',
    keepAlive: true,
  };
  const connections = new pg.Pool({ ...config, max: options.maxConnections, allowExitOnIdle: true });
  // The pool drops an idle connection that broke.
  connections.on('error', nothing);
  // Its declared type is that of another version.
  const arrays = pg.types.arrayParser as unknown as {
    create(...parts: Parameters<ReadArray>): { parse(): unknown[] };
  };
  const another = (): Client =>
    new pg.Client({ ...config, connectionTimeoutMillis: STOP_MS, query_timeout: STOP_MS });
  return {
    connections,
    searchPath: options.searchPath,
    types: postgresTypes((text, read) => arrays.create(text, read).parse()),
    endStatement: (statement) => endStatement(statement, another).catch(options.onFailure),
  };
}

// A cancel request needs no login, so it works even if the role has no connection left. A statement can ignore it; then
// its session is terminated.
async function endStatement(
  { client, processId, isOver }: RunningStatement,
  another: () => Client,
): Promise<void> {
  // A server that has not started the statement yet ignores the request, so it is repeated.
  for (let tries = 0; tries < CANCEL_TRIES; tries++) {
    const isAsked = await cancel(another(), client).then(yes, no);
    if (await endsWithin(BETWEEN_TRIES_MS, isOver)) return;
    if (!isAsked) break;
  }
  if (processId !== undefined)
    await within(STOP_MS, undefined, terminate(another(), processId)).catch(nothing);
  if (await endsWithin(BETWEEN_TRIES_MS, isOver)) return;
  throw new Error(`A statement could not be ended; its process is ${processId ?? 'not known'}.`);
}

// The library's types lack these members.
interface CancellingClient {
  readonly connection: {
    readonly stream: { destroy(): void };
    on(event: 'connect' | 'sslconnect' | 'end', listener: () => void): void;
    on(event: 'error', listener: (error: Error) => void): void;
    connect(port: number | string, host?: string): void;
    requestSsl(): void;
    cancel(processId: number, secretKey: number): void;
  };
  readonly host: string;
  readonly port: number;
  readonly ssl: unknown;
  readonly sslNegotiation: string;
  readonly processID: number;
  readonly secretKey: number;
}

// The library's own way has no TLS; this one connects as a login does, and sends a cancel request instead.
function cancel(through: Client, client: PoolClient): Promise<void> {
  const { connection, host, port, ssl, sslNegotiation } = through as unknown as CancellingClient;
  const { processID, secretKey } = client as unknown as CancellingClient;
  return new Promise((proceed, refuse) => {
    const fail = (cause: unknown): void => {
      clearTimeout(timer);
      connection.stream.destroy();
      refuse(new Error('The server could not be asked to end a statement.', { cause }));
    };
    const timer = setTimeout(fail, STOP_MS);
    let isAsked = false;
    const ask = (): void => {
      isAsked = true;
      connection.cancel(processID, secretKey);
    };
    connection.on('error', fail);
    connection.on('connect', () => {
      if (!ssl) ask();
      else if (sslNegotiation !== 'direct') connection.requestSsl();
    });
    connection.on('sslconnect', ask);
    // The server answers by closing.
    connection.on('end', () => {
      if (!isAsked) return fail('It closed the connection.');
      clearTimeout(timer);
      proceed();
    });
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}

async function terminate(through: Client, processId: number): Promise<void> {
  through.on('error', nothing);
  try {
    await through.connect();
    await through.query('select pg_catalog.pg_terminate_backend($1)', [processId]);
  } finally {
    (through as unknown as CancellingClient).connection.stream.destroy();
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;
