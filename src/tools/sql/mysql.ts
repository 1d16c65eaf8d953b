import type { Pool, PoolConnection, PoolOptions } from 'mysql2';
import { nothing } from '../../base/awaitable.ts';
import { ToolcribError } from '../../base/errors.ts';
import {
  connectedInTime,
  runInSession,
  sharedPatience,
  sqlError,
  troubleOf,
  type SqlDriver,
  type SqlPatience,
  type SqlRows,
  type SqlStatement,
} from './driver.ts';
import { mysqlError } from './mysql-error.ts';
import { MysqlSession, type MysqlSessionParts } from './mysql-session.ts';

/** How a MySQL or MariaDB database is reached. */
export interface MysqlOptions {
  /** Most connections at a time; 4 unless set. */
  readonly maxConnections?: number;
  /** Told of a statement that could not be ended at the server. */
  readonly onFailure?: (error: unknown) => void;
}

/** A MySQL or MariaDB database that can only be read. */
export interface MysqlDriver extends SqlDriver {
  readonly dialect: 'mysql';
  /** The database of its URL, where tables are looked for unless a rule says otherwise. */
  readonly schema: string;
}

const COLUMNS = `
  select column_name from information_schema.columns
  where table_schema = ? and table_name = ?
    and cast(table_schema as binary) = cast(? as binary) and cast(table_name as binary) = cast(? as binary)
  order by ordinal_position`;

const TABLES =
  'select table_name from information_schema.tables where table_schema = ? order by table_name limit';

const CONNECT_MS = 10_000;

/**
 * Connects to MySQL or MariaDB with the first statement; every statement runs alone in a read-only transaction that is
 * then undone.
 */
export function openMysql(url: string, options: MysqlOptions = {}): MysqlDriver {
  const { maxConnections = 4, onFailure = nothing } = options;
  const settings = settingsOf(url);
  let opened: Promise<MysqlPool> | undefined;
  let closed: Promise<void> | undefined;
  const query: SqlDriver['query'] = async (statement) => {
    if (closed) throw sqlError('unavailable');
    statement.signal.throwIfAborted();
    return runAlone(await (opened ??= openPool(settings, maxConnections, onFailure)), statement);
  };
  const names = async (statement: Pick<SqlStatement, 'sql' | 'values'>, patience: SqlPatience) => {
    const { rows } = await query({ ...statement, maxRows: 5_000, maxBytes: 1_048_576, ...patience });
    return rows.map(([name]) => String(name));
  };
  return {
    dialect: 'mysql',
    schema: settings.database,
    query,
    columns: ({ schema, table }, patience) =>
      names({ sql: COLUMNS, values: [schema, table, schema, table] }, patience),
    tables: (limit, patience) =>
      names({ sql: `${TABLES} ${Math.trunc(limit)}`, values: [settings.database] }, patience),
    close: () => (closed ??= Promise.resolve(opened).then((pool) => pool && end(pool.connections))),
  };
}

interface MysqlPool extends MysqlSessionParts {
  readonly connections: Pool;
}

type Settings = PoolOptions & { readonly database: string };

// Not read by the library, which would take any of its options from the address.
function settingsOf(text: string): Settings {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const database = decodeURIComponent(url?.pathname.slice(1) ?? '');
  if (!url || database === '')
    throw new ToolcribError('invalid_setup', 'url must be like mysql://user:password@host/database.');
  const unknown = [...url.searchParams.keys()].find((key) => key !== 'ssl' && key !== 'socketPath');
  if (unknown !== undefined)
    throw new ToolcribError('invalid_setup', `url takes ssl and socketPath behind the "?", not ${unknown}.`);
  const socketPath = url.searchParams.get('socketPath');
  return {
    ...(socketPath === null
      ? { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 3306) }
      : { socketPath }),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    ...(url.searchParams.get('ssl') === 'true' && { ssl: { rejectUnauthorized: true } }),
    ...READING,
  };
}

const READING = {
  charset: 'utf8mb4',
  timezone: 'Z',
  dateStrings: true,
  supportBigNumbers: true,
  jsonStrings: true,
  multipleStatements: false,
  disableEval: true,
  flags: ['-LOCAL_FILES'],
  connectTimeout: CONNECT_MS,
} satisfies PoolOptions;

async function openPool(
  settings: Settings,
  maxConnections: number,
  onFailure: MysqlSessionParts['onFailure'],
): Promise<MysqlPool> {
  const { createConnection, createPool } = await import('mysql2');
  const connections = createPool({ ...settings, connectionLimit: maxConnections, idleTimeout: 30_000 });
  return { connections, connect: () => createConnection(settings), onFailure };
}

async function runAlone(pool: MysqlPool, statement: SqlStatement): Promise<SqlRows> {
  const patience = sharedPatience(statement);
  const session = new MysqlSession(await checkOut(pool.connections, patience), pool);
  return runInSession(session, { ...statement, timeoutMs: patience.timeoutMs });
}

async function checkOut(pool: Pool, patience: SqlPatience): Promise<PoolConnection> {
  const { _freeConnections: free, _allConnections: all } = pool as unknown as PoolState;
  const isFull = free.length === 0 && all.length >= (pool as unknown as PoolState).config.connectionLimit;
  const connecting = new Promise<PoolConnection>((proceed, refuse) => {
    pool.getConnection((error, connection) => {
      if (!error) return proceed(connection);
      const known = mysqlError(error);
      refuse(troubleOf(known) === 'busy' ? known : sqlError('unavailable', { cause: error }));
    });
  });
  return connectedInTime(connecting, patience, isFull ? 'busy' : 'unavailable');
}

interface PoolState {
  readonly _freeConnections: { readonly length: number };
  readonly _allConnections: { readonly length: number };
  readonly config: { readonly connectionLimit: number };
}

function end(pool: Pool): Promise<void> {
  return new Promise((proceed) => pool.end(() => proceed()));
}
