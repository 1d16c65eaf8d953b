/** A table or view that may be read. */
export interface AllowedTable {
  /** `public` for PostgreSQL and `main` for SQLite unless the operator sets it. */
  readonly schema: string;
  readonly table: string;
  /** The only visible columns; all if left out. */
  readonly columns?: readonly string[];
}

/** What a query may read and call. */
export interface SqlRules {
  readonly tables: readonly AllowedTable[];
  /** Names in lower case as PostgreSQL stores them; `schema.name` for those outside pg_catalog. */
  readonly functions: ReadonlySet<string>;
}

/** The most characters of a parameter that is searched for in other text. */
export const MAX_SOUGHT = 100;

/** Why a query is not run, in words that tell the model what to change. */
export class SqlRefusal extends Error {
  override readonly name = 'SqlRefusal';
  /** A short fixed name of the reason. */
  readonly error: string;

  constructor(error: string, message: string) {
    super(message);
    this.error = error;
  }
}

/** A table as the model writes it, with its columns if only some are visible. */
export function describeTable({ schema, table, columns }: AllowedTable): string {
  const name = schema === 'public' || schema === 'main' ? table : `${schema}.${table}`;
  return columns ? `${name} (${columns.join(', ')})` : name;
}

/** Refuses what is not one reading statement. */
export function selectRefusal(): SqlRefusal {
  return new SqlRefusal(
    'Only one SELECT is allowed',
    'Send one SELECT (or WITH ... SELECT) and nothing else.',
  );
}

/** Refuses a table that is not listed, with the same text whether it exists or not. */
export function tableRefusal(rules: SqlRules, name?: string): SqlRefusal {
  const names = rules.tables.map((allowed) => describeTable(allowed)).join(', ');
  return new SqlRefusal(
    'Table not allowed',
    name === undefined
      ? `The query reads something else than it may. Only these tables can be read: ${names}.`
      : `"${name}" is not among the tables that can be read: ${names}.`,
  );
}

/** Refuses a function that is not listed. */
export function functionRefusal(name: string): SqlRefusal {
  return new SqlRefusal(
    'Function not allowed',
    `The function "${name}" cannot be used here. Use plain SQL and the usual functions for text, numbers, dates, JSON and totals.`,
  );
}

/** Refuses text that a parser and a database could read differently. */
export function checkText(sql: string): void {
  if (sql.includes('\0') || /\p{Surrogate}/u.test(sql))
    throw new SqlRefusal('Query not allowed', 'The query holds a character that is not text.');
}

/** A name that never needs quotes: no other text of a caller is put into a statement. */
export const plainName = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** A quoted name, exact in both databases, whatever it contains. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
