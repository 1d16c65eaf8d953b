import { nothing } from '../../base/awaitable.ts';
import { systemClock } from '../../base/clock.ts';
import { ToolcribError, type ErrorCode } from '../../base/errors.ts';
import { Overdue, within } from '../../base/within.ts';

/** One reading statement with its limits. */
export interface SqlStatement {
  /** One SELECT; placeholders are `$1`, `$2` for PostgreSQL, `?1`, `?2` for SQLite and `?` for MySQL. */
  readonly sql: string;
  readonly values: readonly SqlValue[];
  readonly maxRows: number;
  /** The most bytes of the rows as JSON. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A value that can be bound; integers are bound as integers. */
export type SqlValue = string | number | bigint | boolean | null;

/**
 * The rows of a statement as plain JSON values: dates as ISO text, large and exact numbers as text, bytes as base64.
 */
export interface SqlRows {
  readonly columns: readonly string[];
  /** In the order of the columns, whose names need not be unique. */
  readonly rows: readonly (readonly unknown[])[];
  /** Whether there was more than the limits allow. */
  readonly isCut: boolean;
}

/** The qualified name of a table. */
export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** The time limit and signal of a database operation. */
export interface SqlPatience extends Pick<SqlStatement, 'timeoutMs' | 'signal'> {
  /** Excludes time that does not count, such as starting a process. */
  extend?(ms: number): void;
}

/** One time limit for all steps of a call: each step reads what is left. */
export function sharedPatience(patience: SqlPatience): SqlPatience {
  let end = systemClock.ticks() + patience.timeoutMs;
  return {
    signal: patience.signal,
    get timeoutMs() {
      return Math.max(1, Math.ceil(end - systemClock.ticks()));
    },
    extend(ms) {
      end += ms;
      patience.extend?.(ms);
    },
  };
}

/** A read-only database. Its refusals and failures are `ToolcribError`s made by `sqlError`. */
export interface SqlDriver {
  readonly dialect: 'sqlite' | 'postgres' | 'mysql';
  /** The schema in which tables are looked for unless another is named; `main` or `public` unless set. */
  readonly schema?: string;
  /** Runs one statement that cannot change anything; it leaves nothing behind, not even a setting. */
  query(statement: SqlStatement): Promise<SqlRows>;
  /** The columns of a table or view, in order; none if there is no such table. */
  columns(table: TableName, patience: SqlPatience): Promise<readonly string[]>;
  /** The tables and views of the default schema, in order, up to the limit; not every database can list them. */
  tables?(limit: number, patience: SqlPatience): Promise<readonly string[]>;
  /** Lets statements under way finish, then closes connections and processes. */
  close(): Promise<void>;
}

/** Why a database operation failed. */
export type SqlTrouble = keyof typeof troubles;

const troubles = {
  busy: ['busy', 'The database is busy; try again in a moment.'],
  unavailable: ['upstream_unavailable', 'The database cannot be reached; try again later.'],
  timed_out: ['timed_out', 'The query took too long; ask for less, or filter by more.'],
  too_large: ['result_too_large', 'A row is too large to return; ask for fewer columns.'],
  unknown_table: ['tool_failed', 'There is no such table.'],
  unknown_column: ['tool_failed', 'There is no such column.'],
  unfit_value: ['tool_failed', 'A value has the wrong type for its place.'],
  invalid_statement: ['tool_failed', 'The database does not understand the statement.'],
  not_permitted: ['tool_failed', 'The database does not permit this.'],
  failed: ['tool_failed', 'The database could not run the query.'],
} as const satisfies Record<string, readonly [ErrorCode, string]>;

/** Extra facts about a failure; the cause is only logged. */
export interface TroubleDetails {
  readonly cause?: unknown;
  /** The position in the statement, in characters counted from one. */
  readonly position?: number;
  /** What the database complains about, in its words; it may come from behind a view. */
  readonly word?: string;
}

/** The error for a failed database operation, in words that reveal nothing about the database. */
export function sqlError(trouble: SqlTrouble, details: TroubleDetails = {}): ToolcribError {
  const [code, text] = troubles[trouble];
  const { cause, position, word } = details;
  return new ToolcribError(code, text, {
    data: { trouble, ...(position !== undefined && { position }), ...(word !== undefined && { word }) },
    ...(cause !== undefined && { cause }),
  });
}

/** The kind of failure, if a driver made the error. */
export function troubleOf(error: unknown): SqlTrouble | undefined {
  const trouble = error instanceof ToolcribError ? error.data?.['trouble'] : undefined;
  return typeof trouble === 'string' && trouble in troubles ? (trouble as SqlTrouble) : undefined;
}

/** Waits for a connection of a pool; one that arrives after its caller has left is released. */
export async function connectedInTime<C extends { release(): void }>(
  connecting: Promise<C>,
  { signal, timeoutMs }: SqlPatience,
  late: SqlTrouble,
): Promise<C> {
  try {
    return await within(timeoutMs, signal, connecting);
  } catch (error) {
    connecting.then((connection) => connection.release(), nothing);
    throw error instanceof Overdue ? sqlError(late) : error;
  }
}

/** One connection, for one statement. */
export interface SqlSession {
  run(statement: SqlStatement): Promise<SqlRows>;
  /** Makes the statement fail with this reason. */
  stop(reason: Error): void;
  leave(): Promise<void>;
}

/** Runs a statement, stops it when its time is over or its caller leaves, and leaves the session. */
export async function runInSession(session: SqlSession, statement: SqlStatement): Promise<SqlRows> {
  const { signal, timeoutMs } = statement;
  const cancel = (): void => session.stop(signal.reason as Error);
  const timer = setTimeout(() => session.stop(sqlError('timed_out')), timeoutMs);
  signal.addEventListener('abort', cancel);
  if (signal.aborted) cancel();
  try {
    return await session.run(statement);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    await session.leave();
  }
}

/** Collects rows up to the limits. */
export interface RowTaker {
  readonly rows: readonly (readonly unknown[])[];
  readonly isCut: boolean;
  /** The size of the collected rows as JSON. */
  readonly bytes: number;
  /** Adds a row, unless it exceeds the limits; returns whether more rows would be accepted. */
  take(row: readonly unknown[]): boolean;
  /** Notes that there were more rows. */
  cut(): void;
}

/** Makes a collector with the limits of a statement. */
export function createRowTaker({ maxRows, maxBytes }: Pick<SqlStatement, 'maxRows' | 'maxBytes'>): RowTaker {
  const rows: (readonly unknown[])[] = [];
  let bytes = 0;
  let isCut = false;
  return {
    rows,
    get isCut() {
      return isCut;
    },
    get bytes() {
      return bytes;
    },
    take(row) {
      const size = Buffer.byteLength(JSON.stringify(row));
      isCut ||= rows.length >= maxRows || bytes + size > maxBytes;
      if (isCut) return false;
      bytes += size;
      rows.push(row);
      return true;
    },
    cut() {
      isCut = true;
    },
  };
}

/** Rows as objects; a repeated column name gets a number. */
export function toRecords({ columns, rows }: Pick<SqlRows, 'columns' | 'rows'>): Record<string, unknown>[] {
  const names = uniqueNames(columns);
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
}

function uniqueNames(columns: readonly string[]): string[] {
  const taken = new Set<string>();
  return columns.map((column) => {
    let name = column;
    for (let count = 2; taken.has(name); count++) name = `${column}_${count}`;
    taken.add(name);
    return name;
  });
}
