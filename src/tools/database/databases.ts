import type { z } from 'zod';
import { ToolcribError } from '../../base/errors.ts';
import type { querySqlOptions } from './query-sql-options.ts';
import {
  sharedPatience,
  troubleOf,
  type SqlPatience,
  type SqlRows,
  type SqlStatement,
  type SqlValue,
} from '../sql/driver.ts';
import {
  checkText,
  functionRefusal,
  MAX_SOUGHT,
  selectRefusal,
  SqlRefusal,
  tableRefusal,
  type SqlRules,
} from '../sql/query-rules.ts';
import { openSql } from '../sql/open.ts';
import type { PostgresDriver } from '../sql/postgres.ts';
import { kindOfStatement } from '../sql/sqlite-text.ts';
import type { SqliteDriver } from '../sql/sqlite.ts';
import { columnsOfTables, namedTables, withColumns, type TableColumns } from './table-columns.ts';

/** The database of one tenant, or of all; every query is checked before it runs. */
export interface TenantDatabase {
  readonly dialect: 'sqlite' | 'postgres';
  /** Runs a query within the rules, or throws an `SqlRefusal`. */
  query(statement: SqlStatement, rules: SqlRules): Promise<SqlRows>;
  /** What can be read of the tables of the rules. */
  tables(rules: SqlRules, patience: SqlPatience): Promise<readonly TableColumns[]>;
}

/** The databases of all tenants. */
export interface TenantDatabases {
  readonly dialect: 'sqlite' | 'postgres';
  /** The database of a tenant, if it has one. */
  of(tenantId: string): TenantDatabase | undefined;
  close(): Promise<void>;
}

/** What databases need beside their URLs. */
export interface DatabaseParts {
  /** What file paths are relative to; the working directory unless set. */
  readonly folder?: string;
  /** Called for a statement that could not be stopped. */
  readonly onFailure?: (error: unknown) => void;
}

/** Opens the configured databases; connections are made on first use. */
export function openDatabases(
  { url, urlByTenant }: Pick<z.output<typeof querySqlOptions>, 'url' | 'urlByTenant'>,
  parts: DatabaseParts = {},
): TenantDatabases {
  if ((url === undefined) === (urlByTenant === undefined))
    throw new ToolcribError('invalid_setup', 'Set either url or urlByTenant.');
  const urls = new Map(Object.entries(urlByTenant ?? {}));
  const drivers = new Map(
    [...new Set(url === undefined ? urls.values() : [url])].map((one) => [one, open(one, parts)]),
  );
  const [first, ...others] = drivers.values();
  if (!first) throw new ToolcribError('invalid_setup', 'urlByTenant must name at least one tenant.');
  if (others.some(({ dialect }) => dialect !== first.dialect))
    throw new ToolcribError('invalid_setup', 'urlByTenant must name databases of one kind.');
  return {
    dialect: first.dialect,
    of(tenantId) {
      const named = url ?? urls.get(tenantId);
      const driver = named === undefined ? undefined : drivers.get(named);
      return driver && withChecks(driver);
    },
    async close() {
      await Promise.all([...drivers.values()].map((driver) => driver.close()));
    },
  };
}

// User-created objects are only found with their schema, so none can replace what was checked.
function open(url: string, { folder, onFailure }: DatabaseParts): SqliteDriver | PostgresDriver {
  const driver = openSql(url, folder, { searchPath: 'pg_catalog, pg_temp', ...(onFailure && { onFailure }) });
  if (driver.dialect !== 'mysql') return driver;
  throw new ToolcribError(
    'invalid_setup',
    'url names MySQL, for which query_sql cannot check queries; use query_database.',
  );
}

function withChecks(driver: SqliteDriver | PostgresDriver): TenantDatabase {
  return {
    dialect: driver.dialect,
    async query(statement, rules) {
      const patience = sharedPatience(statement);
      try {
        const bounded = { ...statement, ...patience };
        return await (driver.dialect === 'sqlite'
          ? querySqlite(driver, bounded, rules)
          : queryPostgres(driver, bounded, rules));
      } catch (error) {
        if (troubleOf(error) !== 'unknown_column') throw error;
        const tables = namedTables(statement.sql, rules.tables);
        const known = await columnsOfTables(driver, tables, patience).catch(() => []);
        throw withColumns(error as ToolcribError, known);
      }
    },
    tables: (rules, patience) => columnsOfTables(driver, rules.tables, patience),
  };
}

async function queryPostgres(
  driver: PostgresDriver,
  statement: SqlStatement,
  rules: SqlRules,
): Promise<SqlRows> {
  const [{ checkSelect }, { wordAt }] = await Promise.all([
    import('../sql/check-select.ts'),
    import('../sql/query-parser.ts'),
  ]);
  const { sql, parameterCount, shortParameters } = await checkSelect(statement.sql, rules);
  const given = statement.values.length;
  if (parameterCount !== given) throw parameterRefusal(parameterCount, given);
  for (const place of shortParameters) checkLength(place, statement.values[place - 1]);
  return driver.query({ ...statement, sql }).catch((error: unknown) => {
    throw located(error, (data) => {
      const position = data?.['position'];
      return typeof position === 'number' ? wordAt(sql, position - 1) : undefined;
    });
  });
}

function parameterRefusal(needed: number, given: number): SqlRefusal {
  return new SqlRefusal(
    'Wrong number of parameters',
    `The query takes ${countOf(needed)}, and ${given} ${given === 1 ? 'was' : 'were'} given.`,
  );
}

function checkLength(place: number, value: SqlValue | undefined): void {
  if (typeof value !== 'string' || value.length <= MAX_SOUGHT) return;
  throw new SqlRefusal(
    'Parameter too long',
    `$${place} is searched for in other text, so it can have ${MAX_SOUGHT} characters at most.`,
  );
}

function countOf(parameters: number): string {
  return `${parameters} parameter${parameters === 1 ? '' : 's'}`;
}

// The word is from the caller's own query; without it a model could only guess its mistake.
function located(error: unknown, wordIn: (data: ToolcribError['data']) => string | undefined): unknown {
  const word = troubleOf(error) && wordIn((error as ToolcribError).data);
  if (word === undefined) return error;
  const { code, message, data, cause } = error as ToolcribError;
  return new ToolcribError(code, `${message.replace(/\.$/, '')}: look at ${word}.`, {
    ...(data && { data }),
    cause,
  });
}

// The plan is checked twice: first for a reason the model understands, then where it cannot change before it runs.
async function querySqlite(driver: SqliteDriver, statement: SqlStatement, rules: SqlRules): Promise<SqlRows> {
  checkText(statement.sql);
  const kind = kindOfStatement(statement.sql);
  if (kind === 'other') throw selectRefusal();
  if (kind !== 'select')
    throw new SqlRefusal(
      'Syntax error',
      `This is not SQL that SQLite understands, near ${kind.unknownWord.slice(0, 60)}. Begin with SELECT, WITH or VALUES.`,
    );
  const patience = sharedPatience(statement);
  const allowed = new Set(rules.tables.map(({ table }) => table));
  const { tables, functions, unclear, parameterCount } = await driver
    .survey(statement.sql, patience)
    .catch((error: unknown) => {
      throw troubleOf(error) === 'unknown_table' ? tableRefusal(rules) : locatedIn(statement.sql, error);
    });
  if (tables.some((table) => !allowed.has(table))) throw tableRefusal(rules);
  const called = functions.find((name) => !rules.functions.has(name));
  if (called !== undefined) throw functionRefusal(called);
  if (unclear.length > 0)
    throw new SqlRefusal(
      'Query not allowed',
      'Only tables can be read: no table-valued functions and no virtual tables.',
    );
  // The database would use null for a missing value, and ignore an extra one.
  const given = statement.values.length;
  if (parameterCount !== given) throw parameterRefusal(parameterCount, given);
  const scope = { tables: [...allowed], functions: [...rules.functions] };
  return driver.query({ ...statement, ...patience, scope });
}

// A view may contain names that callers must not learn.
function locatedIn(sql: string, error: unknown): unknown {
  return located(error, (data) => {
    const word = data?.['word'];
    return typeof word === 'string' && sql.includes(word) ? word : undefined;
  });
}
