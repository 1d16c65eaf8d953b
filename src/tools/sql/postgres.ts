import type { Pool, PoolClient } from 'pg';
import { nothing } from '../../base/awaitable.ts';
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
import { postgresError } from './postgres-error.ts';
import { createPostgresPool, type PostgresPool } from './postgres-pool.ts';
import { PostgresSession } from './postgres-session.ts';

/** How a PostgreSQL database is reached. */
export interface PostgresOptions {
  /** The most connections; 4 unless set. */
  readonly maxConnections?: number;
  /** Where names without a schema are searched; `pg_catalog, public, pg_temp` unless set. */
  readonly searchPath?: string;
  /** Called for a statement that could not be stopped on the server. */
  readonly onFailure?: (error: unknown) => void;
}

/** A read-only PostgreSQL database. */
export interface PostgresDriver extends SqlDriver {
  readonly dialect: 'postgres';
}

const COLUMNS = `
  select a.attname from pg_catalog.pg_attribute a
  join pg_catalog.pg_class c on c.oid = a.attrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'v', 'm', 'p', 'f')
    and a.attnum > 0 and not a.attisdropped and pg_catalog.has_column_privilege(c.oid, a.attnum, 'select')
  order by a.attnum`;

const TABLES = `
  select c.relname from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'public' and c.relkind in ('r', 'v', 'm', 'p', 'f')
    and pg_catalog.has_any_column_privilege(c.oid, 'select')
  order by c.relname limit $1`;

/**
 * Connects to PostgreSQL with the first statement; every statement runs alone in a read-only transaction that is rolled
 * back.
 */
export function openPostgres(url: string, options: PostgresOptions = {}): PostgresDriver {
  const { maxConnections = 4, searchPath = 'pg_catalog, public, pg_temp', onFailure = nothing } = options;
  let pool: Promise<PostgresPool> | undefined;
  let closed: Promise<void> | undefined;
  const open = (): Promise<PostgresPool> =>
    (pool ??= createPostgresPool(url, { maxConnections, searchPath, onFailure }));
  const query: SqlDriver['query'] = async (statement) => {
    if (closed) throw sqlError('unavailable');
    statement.signal.throwIfAborted();
    return runAlone(await open(), statement);
  };
  return {
    dialect: 'postgres',
    query,
    async columns({ schema, table }, patience) {
      const limits = { maxRows: 2_000, maxBytes: 1_048_576 };
      const { rows } = await query({ sql: COLUMNS, values: [schema, table], ...limits, ...patience });
      return rows.map(([name]) => String(name));
    },
    async tables(limit, patience) {
      const limits = { maxRows: limit, maxBytes: 1_048_576 };
      const { rows } = await query({ sql: TABLES, values: [limit], ...limits, ...patience });
      return rows.map(([name]) => String(name));
    },
    close: () => (closed ??= Promise.resolve(pool).then((opened) => opened?.connections.end())),
  };
}

async function runAlone(pool: PostgresPool, statement: SqlStatement): Promise<SqlRows> {
  const patience = sharedPatience(statement);
  const session = new PostgresSession(await checkOut(pool.connections, patience), pool);
  return runInSession(session, { ...statement, timeoutMs: patience.timeoutMs });
}

async function checkOut(pool: Pool, patience: SqlPatience): Promise<PoolClient> {
  const connecting = pool.connect();
  const trouble = pool.waitingCount > 0 ? 'busy' : 'unavailable';
  const connected = connecting.catch((cause: unknown) => {
    const known = postgresError(cause);
    // A server without a free connection is available, but busy.
    throw troubleOf(known) === 'busy' ? known : sqlError(trouble, { cause });
  });
  return connectedInTime(connected, patience, trouble);
}
